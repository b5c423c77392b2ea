"""The ``parent_child`` chunker: small chunks to search, the passage around each to read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from florilege.chunkers.base import Fingerprinted, check_flag, check_whole
from florilege.chunkers.parts.passages import ContextLine, Passages, pack
from florilege.chunkers.parts.sections import Run, joined, runs, within
from florilege.chunkers.parts.tables import row_slices, table_chunks
from florilege.chunkers.structure import StructuredChunker
from florilege.model.chunk import Chunk, Chunking, ParentChunk, ParentRef
from florilege.model.document import Document
from florilege.model.errors import ConfigError
from florilege.model.hashing import mint_ids
from florilege.split.characters import Usual, check_sizes, overlap_within, spans

USUAL_CHILD_OVERLAP = Usual(120)


@dataclass(frozen=True, slots=True)
class ParentChildChunker(Fingerprinted):
    """See :func:`parent_child`."""

    parent_max_chars: int = 6000
    child_max_chars: int = 900
    child_overlap_chars: int = USUAL_CHILD_OVERLAP
    table_rows_per_chunk: int = 25
    merge_pages: bool = False

    name = "parent_child"
    version = "1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "child_overlap_chars", overlap_within(self.child_overlap_chars, self.child_max_chars))
        sizes = ("child_max_chars", "child_overlap_chars")
        check_sizes(max_chars=self.child_max_chars, overlap_chars=self.child_overlap_chars, names=sizes)
        check_whole("parent_max_chars", self.parent_max_chars, 1)
        check_whole("table_rows_per_chunk", self.table_rows_per_chunk, 1)
        check_flag("merge_pages", self.merge_pages)
        if self.child_max_chars > self.parent_max_chars:
            raise ConfigError(
                f"child_max_chars={self.child_max_chars} must not exceed parent_max_chars={self.parent_max_chars}"
            )

    def chunk_document(self, document: Document) -> Chunking:
        """Cut ``document`` into parents and, inside each, children; every child names its parent."""
        return chunking(
            document,
            [
                family
                for group in self._groups(runs(document, merge_pages=self.merge_pages))
                for family in self._families(document, group)
            ],
        )

    def _groups(self, found: Iterable[Run]) -> Iterator[list[Run]]:
        """Runs that fit one parent together: never across a top heading, a page, a sheet or a table."""
        group: list[Run] = []
        for run in found:
            fits = group and run.end - group[0].start <= self.parent_max_chars
            if group and not (fits and run.kind in ("narrative", "json") and _related(group[-1], run)):
                yield group
                group = []
            group.append(run)
        if group:
            yield group

    def _families(self, document: Document, group: list[Run]) -> Iterator[tuple[Chunk, list[Chunk]]]:
        """Each parent of a group as a passage, with its children."""
        whole = group[0] if len(group) == 1 else joined(group)
        passages = Passages(document, whole, ContextLine("", False, self.parent_max_chars))
        if whole.kind == "table":
            yield from self._table_families(document, whole, passages)
            return
        for parent in passages.exact(pack(document.content, whole, self.parent_max_chars, 0)):
            span = parent.provenance.source_spans[0]
            inside = within(group, span.start, span.end)
            yield parent, [child for run in inside for child in self._child_chunker().cut(document, run)]

    def _table_families(self, document: Document, run: Run, passages: Passages) -> Iterator[tuple[Chunk, list[Chunk]]]:
        parents = table_chunks(passages, None)
        starts = [parent.provenance.source_spans[-1].start for parent in parents]
        rows = [start for start, _ in row_slices(run.parts[-1])]
        stops = sorted({rows.index(start) for start in starts if start in rows} - {0})
        context = ContextLine.of(document.title, run.trail, self.child_max_chars)
        small = Passages(document, run, context)
        children: list[list[Chunk]] = [[] for _ in parents]
        for child in table_chunks(small, self.table_rows_per_chunk, stops):
            children[max(0, bisect_right(starts, child.provenance.source_spans[-1].start) - 1)].append(child)
        for parent, own in zip(parents, children, strict=True):
            span = parent.provenance.source_spans[0]
            if not parent.provenance.cell_ranges:  # no rows, so its children need not end with rows
                own = small.exact(spans(document.content, span.start, span.end, context.room))
            if own:
                yield parent, own

    def _child_chunker(self) -> StructuredChunker:
        return StructuredChunker(
            self.child_max_chars, self.child_overlap_chars, self.table_rows_per_chunk, self.merge_pages
        )


def parent_child(
    parent_max_chars: int = 6000,
    child_max_chars: int = 900,
    child_overlap_chars: int = USUAL_CHILD_OVERLAP,
    table_rows_per_chunk: int = 25,
    merge_pages: bool = False,
) -> ParentChildChunker:
    """A chunker whose chunks are small and whose parents are what to read around them.

    Parents follow the structure and never cross a top heading, a table, or (unless ``merge_pages``) a page; they hold
    at most ``parent_max_chars``. Children are cut inside one parent each as :func:`structured` cuts, and their spans
    lie in the document; they overlap by 120 characters unless told otherwise,
    half of ``child_max_chars`` at most. Raises :class:`ConfigError` for sizes that contradict each other.
    """
    return ParentChildChunker(parent_max_chars, child_max_chars, child_overlap_chars, table_rows_per_chunk, merge_pages)


def chunking(document: Document, families: Sequence[tuple[Chunk, Sequence[Chunk]]]) -> Chunking:
    """Each passage of ``families`` as a parent with an id, and its chunks naming it, numbered through."""
    ids = mint_ids(document.source_id, [(parent.content, parent.context) for parent, _ in families])
    parents: list[ParentChunk] = []
    children: list[Chunk] = []
    for parent_id, (parent, own) in zip(ids, families, strict=True):
        made = _parent(document, parent, parent_id.replace("chunk_", "parent_", 1), len(parents))
        reference = ParentRef(parent_id=made.parent_id, title=made.title)
        parents.append(made)
        children += [replace(child, parent=reference, ordinal=len(children) + n) for n, child in enumerate(own)]
    return Chunking(tuple(children), tuple(parents))


def _related(before: Run, after: Run) -> bool:
    """Whether two neighbouring runs may share a parent."""
    if before.kind != after.kind or not before.parts or not after.parts or before.trail[:1] != after.trail[:1]:
        return False
    first = after.parts[0]
    top = first.role == "heading" and len(first.heading_path) == 1
    return not top and before.parts[-1].page == first.page


def _parent(document: Document, passage: Chunk, parent_id: str, ordinal: int) -> ParentChunk:
    headings = passage.provenance.headings
    return ParentChunk(
        source_id=document.source_id,
        namespace=document.namespace,
        parent_id=parent_id,
        content=passage.content,
        ordinal=ordinal,
        title=headings[-1] if headings else document.title,
        metadata=dict(document.metadata),
        provenance=passage.provenance,
    )
