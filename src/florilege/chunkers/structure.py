"""The ``structured`` chunker: each kind of part cut as its kind wants, under its headings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from florilege.chunkers.base import Fingerprinted, check_flag, check_whole
from florilege.chunkers.parts.passages import ContextLine, Passages, pack, path_steps
from florilege.chunkers.parts.sections import Run, runs
from florilege.chunkers.parts.tables import table_chunks
from florilege.model.chunk import Chunk, Chunking
from florilege.model.document import Document
from florilege.split.characters import USUAL_OVERLAP, check_sizes, overlap_within


@dataclass(frozen=True, slots=True)
class StructuredChunker(Fingerprinted):
    """See :func:`structured`."""

    max_chars: int = 1200
    overlap_chars: int = USUAL_OVERLAP
    table_rows_per_chunk: int = 25
    merge_pages: bool = False

    name = "structured"
    version = "1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "overlap_chars", overlap_within(self.overlap_chars, self.max_chars))
        check_sizes(max_chars=self.max_chars, overlap_chars=self.overlap_chars)
        check_whole("table_rows_per_chunk", self.table_rows_per_chunk, 1)
        check_flag("merge_pages", self.merge_pages)

    def chunk_document(self, document: Document) -> Chunking:
        """Cut ``document`` by its parts; without parts its content is one narrative part."""
        chunks: list[Chunk] = []
        for run in runs(document, merge_pages=self.merge_pages):
            chunks += self.cut(document, run, len(chunks))
        return Chunking(tuple(chunks))

    def cut(self, document: Document, run: Run, first: int = 0) -> list[Chunk]:
        """The chunks of one run, ordinals from ``first``."""
        context = ContextLine.of(document.title, run.trail, self.max_chars)
        passages = Passages(document, run, context, first)
        if run.kind == "table":
            return table_chunks(passages, self.table_rows_per_chunk)
        chunks = passages.exact(pack(document.content, run, context.room, self.overlap_chars))
        if run.kind == "json":
            return [under_path(chunk, run.trail, document.title, self.max_chars) for chunk in chunks]
        return chunks


def structured(
    max_chars: int = 1200,
    overlap_chars: int = USUAL_OVERLAP,
    table_rows_per_chunk: int = 25,
    merge_pages: bool = False,
) -> StructuredChunker:
    """The default chunker: cuts by a document's parts and keeps their provenance.

    Neighbouring narrative parts under one heading trail are packed together, headings with the text they head; the
    trail is each chunk's context. Tables are cut between rows under their repeated header, at most
    ``table_rows_per_chunk`` a chunk; JSON values are packed with their siblings under their path; a page's text stays
    on its page unless ``merge_pages``. ``max_chars`` is hard and counts the context; ``overlap_chars`` (by default
    150, half of ``max_chars`` at most) repeat only inside a run of parts, never across a heading or a
    page. Raises :class:`ConfigError` for sizes no chunk can have.
    """
    return StructuredChunker(max_chars, overlap_chars, table_rows_per_chunk, merge_pages)


def numbered(chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """``chunks`` with dense ordinals from 0."""
    return tuple(
        [chunk if chunk.ordinal == number else replace(chunk, ordinal=number) for number, chunk in enumerate(chunks)]
    )


def under_path(chunk: Chunk, trail: Sequence[str], title: str | None, max_chars: int) -> Chunk:
    """``chunk`` with the JSON path its values share in its context, when that fits beside its content."""
    paths = [path_steps(path) for path in chunk.provenance.json_paths]
    if not paths:
        return chunk
    shared = paths[0]
    for path in paths[1:]:
        shared = tuple(
            [step for step, _ in takewhile(lambda pair: pair[0] == pair[1], zip(shared, path, strict=False))]
        )
    line = ".".join(shared).replace(".[", "[")
    context = ContextLine.of(title, (*trail, line), max_chars)
    if not shared or len(chunk.content) > context.room:
        return chunk
    return replace(chunk, context=context.line)
