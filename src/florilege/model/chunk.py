"""Chunks, their parents, and where they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from florilege.model.document import BBox, Confidence, Span


class PageBox(NamedTuple):
    """A box on a page: ``page`` is 1-based, ``bbox`` as in :data:`florilege.model.document.BBox`."""

    page: int
    bbox: BBox


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a chunk's content stands in its source.

    ``confidence`` is "exact" when the content is the verbatim slices ``source_spans`` of the document (joined in
    order), "derived" when it was built from them (a table window with its header repeated, say).
    """

    part_ids: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()
    sheets: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    json_paths: tuple[str, ...] = ()
    cell_ranges: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    source_spans: tuple[Span, ...] = ()
    bboxes: tuple[PageBox, ...] = ()
    confidence: Confidence = "exact"
    chunker: str | None = None
    piece_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentRef:
    """A child's pointer to its parent; ``key`` is what a store reads parents by."""

    parent_id: str
    key: str | None = None
    title: str | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """The unit that is embedded, searched and cited.

    ``content`` is what is shown and cited; ``context`` (heading trail, title, prefix) is put before it only in the
    text that is embedded and lexically indexed. ``chunk_id`` None means: to be minted from the content when the
    source is indexed. ``generation_id``, ``active`` and the times are the store's to fill.
    """

    source_id: str
    content: str
    namespace: str | None = None
    chunk_id: str | None = None
    ordinal: int = 0
    context: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    provenance: Provenance = Provenance()
    parent: ParentRef | None = None
    generation_id: int | None = None
    active: bool | None = None
    created_at: datetime | None = None
    embedding: Sequence[float] | None = None
    sparse_embedding: Mapping[int, float] | None = None
    embedding_space: str | None = None

    @property
    def full_text(self) -> str:
        """The text that is embedded and lexically indexed: context, a blank line, content."""
        return f"{self.context}\n\n{self.content}" if self.context else self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentChunk:
    """A larger passage that children point to: stored and read by ``key``, never searched.

    ``key`` is the indexer's to fill, from source id and parent id; children carry the same one in their ParentRef.
    """

    source_id: str
    parent_id: str
    content: str
    key: str | None = None
    namespace: str | None = None
    ordinal: int = 0
    title: str | None = None
    summary: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    provenance: Provenance = Provenance()
    generation_id: int | None = None
    active: bool | None = None
    created_at: datetime | None = None


class Chunking(NamedTuple):
    """What a chunker makes of one document: chunks in order, and the parents they name."""

    chunks: tuple[Chunk, ...]
    parents: tuple[ParentChunk, ...] = ()
