"""Sentence embedders from an ONNX file and a ``tokenizer.json``, on the CPU, without a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from florilege.embed.check import check_vectors
from florilege.embed.processes import PerProcess
from florilege.embed.windows import batches, usage_of
from florilege.interfaces.embedding import Embeddings, EmbeddingSpace, Task
from florilege.model.errors import ConfigError, EmbeddingError
from florilege.model.hashing import hexdigest

if TYPE_CHECKING:
    from florilege.embed.engine import Engine, File, Pooling

_PREPARATION = "1"
_BATCH_TOKENS = 256
_BATCH_ROWS = 16


class OnnxEmbedder:
    """A transformer encoder over ``input_ids`` and ``attention_mask`` (and ``token_type_ids`` where declared).

    ``model`` and ``tokenizer`` are paths or the files' bytes; nothing is read before the first call that needs it, and
    a forked child reads everything again. The model's first output is either token states (batch, tokens, dimensions),
    pooled by ``pooling`` (their mean, or the first token's state), or one vector a text. Vectors have length 1.

    Input of more than ``max_input_tokens`` (special tokens included; None: no bound) is cut at token borders into
    windows of nearly equal length whose vectors are averaged, weighted by tokens; ``Usage.windowed`` counts such texts.
    ``prefixes`` are put before texts by task. Special tokens spelled out in a text are plain text. ``model_sha256`` and
    ``tokenizer_sha256``, where given, must be the files' own.

    ``threads`` batches (default: one for each processor this process may use) run side by side, one thread each. A
    batch is padded to its longest text and holds at most 256 tokens, so that what else is in it neither costs time nor
    shows in a vector (unless the model itself scales activations by batch).
    """

    def __init__(
        self,
        model: File,
        tokenizer: File,
        *,
        name: str,
        dimensions: int,
        version: str = "1",
        pooling: Pooling = "mean",
        max_input_tokens: int | None = None,
        prefixes: Mapping[Task, str] | None = None,
        scripts: Iterable[str] | None = None,
        languages: Iterable[str] | None = None,
        threads: int | None = None,
        model_sha256: str | None = None,
        tokenizer_sha256: str | None = None,
    ) -> None:
        if pooling not in ("mean", "cls"):
            raise ConfigError(f"embedder {name!r}: pooling is 'mean' or 'cls', not {pooling!r}", code="bad_embedder")
        self._prefixes: dict[Task, str] = {"document": "", "query": "", **(prefixes or {})}
        prepared = hexdigest(pooling, str(max_input_tokens), self._prefixes["document"], self._prefixes["query"])
        preparation = f"{version}.{_PREPARATION}.{prepared[:8]}"
        self.space = EmbeddingSpace(name=name, dimensions=dimensions, preparation=preparation)
        self.max_input_tokens = max_input_tokens
        self.max_batch = _BATCH_ROWS
        self.scripts = None if scripts is None else frozenset(scripts)
        self.languages = None if languages is None else frozenset(languages)
        self._pooling: Pooling = pooling
        self._model, self._model_sha256 = model, model_sha256
        self._tokenizer, self._tokenizer_sha256 = tokenizer, tokenizer_sha256
        self._threads = threads
        self._engine = PerProcess(self._load)

    def embed_many(self, texts: Sequence[str], task: Task = "document") -> Embeddings:
        """Embed ``texts``, any number of them (``max_batch`` at a time keep a call short).

        Raises :class:`EmbeddingError` when the model fails or gives unusable vectors, :class:`ConfigError` when its
        files cannot be loaded.
        """
        import numpy as np

        from florilege.embed import engine as pooling

        engine = self._engine()
        pool = pooling.first if self._pooling == "cls" else pooling.mean
        try:
            windows = engine.windows(texts, self._prefixes[task], self.max_input_tokens)
            sums = np.zeros((len(texts), self.space.dimensions))
            for batch, vectors in engine.run(batches(windows, _BATCH_TOKENS, _BATCH_ROWS), pool):
                for window, vector in zip(batch, vectors, strict=True):
                    sums[window.text] += len(window.ids) * vector
        except Exception as error:
            raise EmbeddingError(
                f"embedder {self.space.name!r} failed with {type(error).__name__} on {len(texts)} texts",
                stage="embedding",
            ) from error
        return Embeddings(
            check_vectors(sums, len(texts), self.space.dimensions, f"embedder {self.space.name!r}"),
            usage_of(windows, len(texts)),
        )

    def count_tokens(self, text: str) -> int:
        """The tokens of ``text``, special tokens included, before any window is cut."""
        return len(self._engine().encode(text))

    def _load(self) -> Engine:
        from florilege.embed.engine import Engine

        return Engine(
            model=(self._model, self._model_sha256),
            tokenizer=(self._tokenizer, self._tokenizer_sha256),
            threads=self._threads,
            name=self.space.name,
            dimensions=self.space.dimensions,
        )
