"""Queries and hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from florilege.model.chunk import ParentRef, Provenance
from florilege.model.filters import Filter

Mode = Literal["auto", "hybrid", "dense", "sparse", "lexical"]
Purpose = Literal["content", "context", "citation"]
HitKey = tuple[str, str, str]
"""What makes a hit itself: namespace, source id, chunk id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question with its options; None leaves an option to the retriever."""

    text: str = ""
    vector: Sequence[float] | None = None
    filter: Filter | Mapping[str, Any] | None = None
    limit: int | None = None
    mode: Mode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRank:
    """Where one leg put a hit: ``rank`` is 1-based, ``score`` on that leg's own scale."""

    leg: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRank:
    """Where one retriever put a hit in a federated retrieval."""

    retriever_id: str
    rank: int
    weight: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HitProvenance(Provenance):
    """A chunk's provenance, plus how this hit came to be where it is."""

    raw_score: float | None = None
    legs: tuple[LegRank, ...] = ()
    matched_queries: tuple[str, ...] = ()
    per_source: tuple[SourceRank, ...] = ()
    fused_score: float | None = None
    rerank_score: float | None = None
    reranker: str | None = None
    compression: Mapping[str, Any] | None = None
    parent: ParentRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """The larger text a hit stands in: its parent, or a window of neighbours; ``provenance`` is that text's own."""

    kind: Literal["parent", "window"]
    text: str
    provenance: Provenance = field(default_factory=Provenance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A retrieved chunk. ``score`` is in the current ranking currency: store, fused or rerank score.

    ``content`` is the chunk's, until a step cuts it down to excerpts; ``chunk_content`` then holds the whole. A step
    that looks around the chunk sets ``passage`` and leaves content and identity alone.
    """

    namespace: str
    source_id: str
    chunk_id: str
    content: str
    score: float
    context: str = ""
    title: str | None = None
    ordinal: int = 0
    generation_id: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    provenance: HitProvenance = HitProvenance()
    parent: ParentRef | None = None
    passage: Passage | None = None
    chunk_content: str | None = None

    @property
    def key(self) -> HitKey:
        """Its identity: namespace, source id, chunk id."""
        return (self.namespace, self.source_id, self.chunk_id)

    def text_for(self, purpose: Purpose) -> str:
        """The text to use: for "context" (a prompt, a reranker) the excerpts once cut down, else the expanded text,
        else the content; for "citation" the whole chunk; "content" as it is.
        """
        if purpose == "citation":
            return self.content if self.chunk_content is None else self.chunk_content
        if purpose == "context" and self.passage is not None and self.provenance.compression is None:
            return self.passage.text
        return self.content

    @property
    def order(self) -> tuple[float, str, str, str]:
        """The total order of hits: score descending, then namespace, source id, chunk id."""
        return (-self.score, self.namespace, self.source_id, self.chunk_id)
