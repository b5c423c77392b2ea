"""What turns text into vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from florilege.model.ledger import Usage

Task = Literal["document", "query"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSpace:
    """The identity of a vector space: vectors compare only inside one.

    ``preparation`` versions everything that happens to a text before the model sees it (prefixes, windows, pooling).
    ``metric`` "cosine" is a dense space. "dot" is a sparse one: vectors map ids below ``dimensions`` to weights above
    0, and compare by their product.
    """

    name: str
    dimensions: int
    metric: Literal["cosine", "dot"] = "cosine"
    preparation: str = "1"

    @property
    def sparse(self) -> bool:
        """Whether its vectors are mappings of id to weight."""
        return self.metric == "dot"

    @property
    def leg(self) -> Literal["dense", "sparse"]:
        """The leg that searches its vectors."""
        return "sparse" if self.sparse else "dense"

    @property
    def identity(self) -> str:
        """The space as one line of text, stored and compared."""
        return f"{self.name}/{self.dimensions}/{self.metric}/{self.preparation}"


class Embeddings(NamedTuple):
    """``vectors``: a C-contiguous float32 buffer of shape (n, dimensions), one row a text, in order."""

    vectors: Any
    usage: Usage


@runtime_checkable
class Embedder(Protocol):
    """Dense vectors for texts.

    ``max_batch`` texts at most go into one call. Input beyond ``max_input_tokens`` is the embedder's to window and
    pool, never to cut silently. ``scripts`` names the Unicode scripts the model covers and ``languages`` (optional)
    the languages, by two-letter code (None: all); see :func:`florilege.text.languages.covers`. Chunks outside both are
    not embedded, queries outside get no say in the dense leg.

    May also have ``count_tokens(text) -> int``, ``price_per_million_tokens`` with ``currency``, and
    ``max_concurrency``: how many calls may run at once (1). Its :class:`florilege.EmbeddingError` says ``retryable``,
    and ``retry_after`` in seconds where the other side named a time.
    """

    space: EmbeddingSpace
    max_input_tokens: int | None
    max_batch: int
    scripts: frozenset[str] | None

    def embed_many(self, texts: Sequence[str], task: Task = "document") -> Embeddings:
        """Embed ``texts``; raises :class:`florilege.EmbeddingError`."""
        ...


class SparseEmbeddings(NamedTuple):
    """``vectors``: one mapping of id to weight a text, in order; a text may have none at all."""

    vectors: Sequence[Mapping[int, float]]
    usage: Usage


@runtime_checkable
class SparseEmbedder(Protocol):
    """Sparse weights for texts, learned or counted. ``space`` has the metric "dot"; the rest as :class:`Embedder`."""

    space: EmbeddingSpace
    max_input_tokens: int | None
    max_batch: int

    def embed_many(self, texts: Sequence[str], task: Task = "document") -> SparseEmbeddings:
        """Embed ``texts``; raises :class:`florilege.EmbeddingError`."""
        ...
