"""What a query means for each leg: words, a vector, sparse weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from florilege.interfaces.embedding import Embedder, SparseEmbedder
from florilege.interfaces.stores import DataStore, SearchRequest, VectorLeg
from florilege.model.errors import ConfigError, EmbeddingError
from florilege.model.filters import Filter
from florilege.model.hit import Mode, Query
from florilege.model.ledger import Usage
from florilege.retrieval.legs.vectors import decode_vector, given_vector
from florilege.retrieval.trace import Search
from florilege.text import scripts

MAX_QUERY_CHARS = 4000
"""What of a question is embedded at most; beyond it a question is a document, and costs as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """One query, ready for a store; a leg without input does not run."""

    text: str | None = None
    vector: Any = None
    sparse: Mapping[int, float] | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Legs:
    """The embedders of a retriever over one namespace, and the name it gives in errors."""

    id: str
    namespace: str
    data: DataStore
    dense: Embedder | None
    sparse: SparseEmbedder | None

    def inputs(self, query: Query, text: str, mode: Mode, recorded: Search | None) -> Inputs:
        """Embed ``text`` for the legs of ``mode``; those of ``recorded`` take its vectors of then.

        Raises ConfigError for a mode without its embedder, or for one that makes another space than is stored.
        """
        dense, sparse = self._wanted("dense", self.dense, mode), self._wanted("sparse", self.sparse, mode)
        if mode == "hybrid" and not dense and not sparse:
            raise ConfigError(f"retriever {self.id!r}: mode 'hybrid' needs an embedder (dense=... or sparse=...)")
        words = text if mode in ("auto", "hybrid", "lexical") else None
        if recorded is not None:
            vector = None if recorded.vector is None else decode_vector(recorded.vector)
            weights: Mapping[int, float] | None = None if recorded.sparse is None else dict(recorded.sparse)
            return Inputs(text=words, vector=vector, sparse=weights)
        vector, spent = self._vector(query, text, mode) if dense else (None, Usage())
        weights, more = self._weights(text, mode) if sparse else (None, Usage())
        return Inputs(text=words, vector=vector, sparse=weights, usage=spent + more)

    def request(
        self, inputs: Inputs, filter: Filter | None, depth: int, deadline: float | None = None
    ) -> SearchRequest:
        """The search these inputs ask for, to be over in ``deadline`` seconds."""
        return SearchRequest(
            text=inputs.text,
            vector=inputs.vector,
            space=None if self.dense is None else self.dense.space,
            sparse=inputs.sparse,
            sparse_space=None if self.sparse is None else self.sparse.space,
            filter=filter,
            depth=depth,
            deadline=deadline,
        )

    def _wanted(self, leg: VectorLeg, embedder: Embedder | SparseEmbedder | None, mode: Mode) -> bool:
        if mode == leg and embedder is None:
            raise ConfigError(f"retriever {self.id!r}: mode {leg!r} needs an embedder ({leg}=...); none is set")
        if embedder is None or mode not in ("auto", "hybrid", leg):
            return False
        bound = self.data.bound_space(self.namespace, leg=leg)
        if bound is not None and bound != embedder.space.identity:
            raise ConfigError(
                f"namespace {self.namespace!r} was embedded with {bound}; this retriever has "
                f"{embedder.space.identity}: use the same embedder, or index the namespace anew",
                code="space_mismatch",
            )
        return bound is not None or mode != "auto"

    def _vector(self, query: Query, text: str, mode: Mode) -> tuple[Any, Usage]:
        assert self.dense is not None
        if query.vector is not None:
            return given_vector(query.vector, self.dense.space.dimensions), Usage()
        if mode != "dense" and not _speaks(self.dense, text):
            return None, Usage()
        return _embedded(self.dense, text)

    def _weights(self, text: str, mode: Mode) -> tuple[Mapping[int, float] | None, Usage]:
        assert self.sparse is not None
        if mode != "sparse" and not _speaks(self.sparse, text):
            return None, Usage()
        vectors, usage = _embedded(self.sparse, text)
        return vectors[0], usage


def _speaks(model: Embedder | SparseEmbedder, text: str) -> bool:
    """Whether ``model`` has a say on a question: whether it knows its script.

    A question in another language of that script may well be near what it asks for: what is embedded is only what the
    model knows, and cannot push aside what it does not.
    """
    return scripts.covers(getattr(model, "scripts", None), text)


def _embedded(embedder: Embedder | SparseEmbedder, text: str) -> tuple[Any, Usage]:
    try:
        found = embedder.embed_many([text[:MAX_QUERY_CHARS]], "query")
    except EmbeddingError:
        raise
    except Exception as error:
        name = embedder.space.name
        raise EmbeddingError(f"embedder {name!r} failed on a query: {type(error).__name__}") from error
    return found.vectors, found.usage
