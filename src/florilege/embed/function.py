"""Any function as an embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from florilege.embed.check import check_vectors
from florilege.interfaces.embedding import Embedder, Embeddings, EmbeddingSpace, Task
from florilege.model.errors import ConfigError, EmbeddingError, FlorilegeError
from florilege.model.ledger import Usage

EmbedFunction = Callable[[list[str]], Any]
"""Takes texts, returns one vector a text, in order: an array or nested sequences of numbers."""


class FunctionEmbedder:
    """An embedder over a function; see :func:`from_function`."""

    def __init__(
        self,
        *,
        space: EmbeddingSpace,
        documents: EmbedFunction,
        queries: EmbedFunction,
        max_batch: int,
        max_input_tokens: int | None,
        scripts: frozenset[str] | None,
        languages: frozenset[str] | None,
    ) -> None:
        self.space = space
        self.max_batch = max_batch
        self.max_input_tokens = max_input_tokens
        self.scripts = scripts
        self.languages = languages
        self._functions: dict[str, EmbedFunction] = {"document": documents, "query": queries}

    def embed_many(self, texts: Sequence[str], task: Task = "document") -> Embeddings:
        """Embed ``texts`` in calls of at most ``max_batch``.

        Raises :class:`EmbeddingError` when the function fails (``retryable`` for time-outs and lost connections) or
        its vectors do not pass :func:`florilege.embed.check.check_vectors`.
        """
        import numpy as np

        batches = [list(texts[at : at + self.max_batch]) for at in range(0, len(texts), self.max_batch)]
        blocks = [np.empty((0, self.space.dimensions), dtype=np.float32)]
        for batch in batches:
            vectors = self._call(batch, task)
            blocks.append(check_vectors(vectors, len(batch), self.space.dimensions, f"embedder {self.space.name!r}"))
        return Embeddings(np.concatenate(blocks), Usage(texts=len(texts), calls=len(batches)))

    def _call(self, batch: list[str], task: Task) -> Any:
        try:
            return self._functions[task](batch)
        except FlorilegeError:
            raise
        except Exception as error:
            raise EmbeddingError(
                f"embedder {self.space.name!r} failed with {type(error).__name__} on {len(batch)} texts",
                stage="embedding",
                retryable=isinstance(error, (TimeoutError, ConnectionError)),
            ) from error


def from_function(
    *,
    name: str,
    dimensions: int,
    fn: EmbedFunction,
    version: str = "1",
    query_fn: EmbedFunction | None = None,
    max_batch: int = 64,
    max_input_tokens: int | None = None,
    scripts: Iterable[str] | None = None,
    languages: Iterable[str] | None = None,
) -> Embedder:
    """An embedder that calls ``fn(texts)``, and ``query_fn(texts)`` for queries where they need another treatment.

    ``name`` and ``version`` are the identity of the vector space: change ``version`` whenever the same text would get
    another vector. Vectors are checked and scaled to length 1. ``max_input_tokens`` is information for the pipeline;
    longer input is still the function's to handle.
    """
    if not name:
        raise ConfigError("an embedder needs a name: it is the identity of its vectors", code="bad_embedder")
    for option, value in (("dimensions", dimensions), ("max_batch", max_batch)):
        if value < 1:
            raise ConfigError(f"embedder {name!r}: {option} must be at least 1, not {value}", code="bad_embedder")
    return FunctionEmbedder(
        space=EmbeddingSpace(name=name, dimensions=dimensions, preparation=version),
        documents=fn,
        queries=query_fn or fn,
        max_batch=max_batch,
        max_input_tokens=max_input_tokens,
        scripts=None if scripts is None else frozenset(scripts),
        languages=None if languages is None else frozenset(languages),
    )
