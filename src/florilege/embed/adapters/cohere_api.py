"""Cohere's embedding endpoint."""

from __future__ import annotations

from typing import Any, NamedTuple

from florilege.concurrency import resolve
from florilege.embed.adapters.client import Answer, ClientEmbedder
from florilege.interfaces.embedding import Task
from florilege.model.errors import ConfigError
from florilege.vendors import client as made_client


class _Model(NamedTuple):
    """What is known of a model: USD a million tokens, the languages it knows (None: all), whether it can shorten."""

    dimensions: int
    max_input_tokens: int
    price: float
    languages: frozenset[str] | None = None
    shortens: bool = False


_ENGLISH = frozenset({"en"})
_MODELS = {
    "embed-v4.0": _Model(1536, 128_000, 0.12, shortens=True),
    "embed-english-v3.0": _Model(1024, 512, 0.10, _ENGLISH),
    "embed-multilingual-v3.0": _Model(1024, 512, 0.10),
    "embed-english-light-v3.0": _Model(384, 512, 0.10, _ENGLISH),
    "embed-multilingual-light-v3.0": _Model(384, 512, 0.10),
}
_MAX_BATCH = 96
_MAX_BATCH_TOKENS = 100_000
_OTHERS_TOKENS = 4
"""Tokens are counted with another vocabulary here, so a quarter of the room is left free."""

_TASKS: dict[Task, str] = {"document": "search_document", "query": "search_query"}


def cohere(
    model: str = "embed-v4.0",
    *,
    dimensions: int | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    client: Any = None,
    timeout: float = 60.0,
    max_concurrency: int = 4,
    price_per_million_tokens: float | None = None,
) -> ClientEmbedder:
    """An embedder over Cohere's embed endpoint; documents and queries are told apart by its ``input_type``.

    Input the model is too short for is windowed here, by an estimate of its tokens, and never cut over there.
    ``client`` is a ``cohere.ClientV2`` or ``AsyncClientV2``; otherwise one is made, and the library reads CO_API_KEY
    when ``api_key`` is None. Retries are the pipeline's. Needs ``florilege[cohere]``.
    """
    known = _MODELS.get(model)
    if known is None:
        raise ConfigError(f"embedder {model!r}: known are {', '.join(_MODELS)}", code="bad_embedder")
    length = dimensions or known.dimensions
    if length != known.dimensions and not known.shortens:
        raise ConfigError(f"embedder {model!r}: has {known.dimensions} dimensions", code="bad_embedder")
    if client is None:
        client = made_client(
            "cohere", "ClientV2", "CO_API_KEY", {"api_key": api_key, "base_url": base_url, "timeout": timeout}
        )
    options: dict[str, Any] = {"output_dimension": length} if known.shortens else {}

    def call(texts: list[str], task: Task) -> Answer:
        answer = resolve(
            client.embed(
                model=model,
                texts=texts,
                input_type=_TASKS[task],
                embedding_types=["float"],
                truncate="NONE",
                request_options={"max_retries": 0},
                **options,
            )
        )
        billed = getattr(answer.meta, "billed_units", None)
        tokens = getattr(billed, "input_tokens", None)
        return Answer(answer.embeddings.float_, None if tokens is None else int(tokens))

    return ClientEmbedder(
        call,
        name=model,
        dimensions=length,
        max_batch=_MAX_BATCH,
        max_batch_tokens=_MAX_BATCH_TOKENS,
        max_input_tokens=known.max_input_tokens,
        reserved_tokens=known.max_input_tokens // _OTHERS_TOKENS,
        counter="cl100k_base",
        max_concurrency=max_concurrency,
        price_per_million_tokens=known.price if price_per_million_tokens is None else price_per_million_tokens,
        languages=known.languages,
    )
