"""The ``text`` chunker: a document's content cut by size, restarting at its headings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from florilege.chunkers.base import Fingerprinted
from florilege.model.chunk import Chunk, Chunking, Provenance
from florilege.model.document import Document, Span
from florilege.split.characters import USUAL_OVERLAP, Piece, TextSplitter, check_sizes, overlap_within, spans


@dataclass(frozen=True, slots=True)
class TextChunker(Fingerprinted):
    """See :func:`text`."""

    max_chars: int = 1200
    overlap_chars: int = USUAL_OVERLAP

    name = "text"
    version = "1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "overlap_chars", overlap_within(self.overlap_chars, self.max_chars))
        check_sizes(max_chars=self.max_chars, overlap_chars=self.overlap_chars)

    def chunk_document(self, document: Document) -> Chunking:
        """Cut ``document.content``; every chunk is one slice of it, named in ``provenance.source_spans``."""
        content = document.content
        found = [
            piece
            for start, end in _stretches(document)
            for piece in spans(content, start, end, self.max_chars, self.overlap_chars)
        ]
        return Chunking(
            tuple(
                [
                    Chunk(
                        source_id=document.source_id,
                        namespace=document.namespace,
                        content=content[start:end],
                        ordinal=ordinal,
                        metadata=dict(document.metadata),
                        provenance=Provenance(source_spans=(Span(start, end),)),
                    )
                    for ordinal, (start, end) in enumerate(found)
                ]
            )
        )

    def split(self, text: str) -> list[Piece]:
        """The same cuts on a bare text."""
        return TextSplitter(self.max_chars, self.overlap_chars).split(text)


def text(max_chars: int = 1200, overlap_chars: int = USUAL_OVERLAP) -> TextChunker:
    """A chunker for plain text: paragraphs, else sentences, else words, else grapheme boundaries.

    ``max_chars`` is hard; ``overlap_chars`` of it may repeat the end of the chunk before: by default 150, half
    of ``max_chars`` at most. Where the document has heading parts, packing restarts at each group of
    them. Raises :class:`ConfigError` unless
    ``0 <= overlap_chars < max_chars``.
    """
    return TextChunker(max_chars, overlap_chars)


def _stretches(document: Document) -> Iterator[tuple[int, int]]:
    """The content from one group of headings to the next."""
    start = 0
    after_heading = True
    for part in document.parts:
        heading = part.role == "heading"
        if heading and not after_heading and part.span.start > start:
            yield start, part.span.start
            start = part.span.start
        after_heading = heading
    yield start, len(document.content)
