"""The OpenAI embeddings endpoint, and every server that speaks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from florilege.concurrency import resolve
from florilege.embed.adapters.client import Answer, ClientEmbedder
from florilege.interfaces.embedding import Task
from florilege.model.errors import ConfigError, EmbeddingError
from florilege.vendors import client as made_client


class _Model(NamedTuple):
    """What is known of a model: USD a million tokens, and whether its vectors can be asked for shorter."""

    dimensions: int
    price: float
    shortens: bool
    max_input_tokens: int = 8191


_MODELS = {
    "text-embedding-3-small": _Model(1536, 0.02, True),
    "text-embedding-3-large": _Model(3072, 0.13, True),
    "text-embedding-ada-002": _Model(1536, 0.10, False),
}
_MAX_BATCH = 2048
_MAX_BATCH_TOKENS = 250_000


def openai(
    model: str = "text-embedding-3-small",
    *,
    dimensions: int | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    client: Any = None,
    timeout: float = 60.0,
    name: str | None = None,
    version: str = "1",
    prompts: Mapping[Task, str] | None = None,
    max_input_tokens: int | None = None,
    max_batch: int = _MAX_BATCH,
    max_concurrency: int = 4,
    tokenizer: Any = None,
    price_per_million_tokens: float | None = None,
    currency: str = "USD",
    scripts: Iterable[str] | None = None,
    languages: Iterable[str] | None = None,
) -> ClientEmbedder:
    """An embedder over the embeddings endpoint of OpenAI or of any server that speaks it (``base_url``).

    Of OpenAI's models dimensions, limits, tokenizer and price are known; fewer ``dimensions`` are asked for where the
    model can shorten. Of any other name its ``dimensions``; give ``max_input_tokens`` and ``tokenizer`` (see
    :func:`florilege.text.tokens.tokenizer`) as well, so that longer input is windowed, and lower ``max_batch`` to the
    server's own limit. ``prompts`` maps "document" and "query" to what the model wants before texts. ``client`` is an
    ``openai.OpenAI`` or ``AsyncOpenAI`` of your own; otherwise one is made, and the library reads OPENAI_API_KEY when
    ``api_key`` is None. ``name`` (default: the model) and ``version`` are the identity of the vectors. Retries are the
    pipeline's, so the client's own are off. Needs ``florilege[openai]``.
    """
    known = _MODELS.get(model)
    if known is None and dimensions is None:
        raise ConfigError(f"embedder {model!r}: give dimensions=; only OpenAI's own are known", code="bad_embedder")
    if known is not None and tokenizer is None:
        tokenizer = model
    length = dimensions or (known.dimensions if known else 0)
    shorter = known is not None and length != known.dimensions
    if shorter and known is not None and (not known.shortens or length > known.dimensions):
        raise ConfigError(
            f"embedder {model!r}: has {known.dimensions} dimensions and cannot give {length}", code="bad_embedder"
        )
    if client is None:
        options = {"base_url": base_url, "api_key": api_key, "timeout": timeout, "max_retries": 0}
        connected = made_client("openai", "OpenAI", "OPENAI_API_KEY", options)
    else:
        connected = client.with_options(max_retries=0)
    shortened = {"dimensions": length} if shorter else {}

    def call(texts: list[str], task: Task) -> Answer:
        answer = resolve(connected.embeddings.create(model=model, input=texts, encoding_format="float", **shortened))
        rows = sorted(answer.data, key=lambda item: item.index)
        if [item.index for item in rows] != list(range(len(texts))):
            raise EmbeddingError(
                f"embedder {model!r} answered {len(texts)} texts with {len(rows)} vectors", code="bad_vectors"
            )
        return Answer([item.embedding for item in rows], getattr(answer.usage, "prompt_tokens", None))

    return ClientEmbedder(
        call,
        name=name or model,
        dimensions=length,
        version=version,
        max_batch=max_batch,
        max_batch_tokens=_MAX_BATCH_TOKENS if tokenizer is not None else None,
        max_input_tokens=max_input_tokens or (known.max_input_tokens if known else None),
        counter=tokenizer,
        prompts=prompts,
        max_concurrency=max_concurrency,
        price_per_million_tokens=known.price
        if known and price_per_million_tokens is None
        else price_per_million_tokens,
        currency=currency,
        scripts=scripts,
        languages=languages,
    )
