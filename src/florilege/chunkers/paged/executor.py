"""The ``pages`` chunker: page chunkers asked in order, their answers merged page by page.

The floor, one piece for each page, is built in and never fails, so a page with text always gets a chunk.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from florilege.chunkers.base import Fingerprinted
from florilege.chunkers.paged.asking import Claim, PageCut, PageFloor, ask, identity
from florilege.chunkers.paged.installed import installed
from florilege.chunkers.paged.lines import PdfLineChunker
from florilege.chunkers.parts.passages import ContextLine, Passages, Slice
from florilege.chunkers.parts.sections import Run, joined, runs
from florilege.interfaces.chunking import Chunker, DocumentChunker, PageOutput
from florilege.model import hashing
from florilege.model.chunk import Chunk, Chunking, PageBox
from florilege.model.document import Document
from florilege.model.errors import ConfigError, LoadError

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PagesChunker(Fingerprinted):
    """See :func:`pages`."""

    chunkers: tuple[Chunker, ...] = ()
    max_chars: int = 1200
    time_limit: float | None = 60.0
    rest: DocumentChunker | None = None

    name = "pages"
    version = "1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunkers", tuple(self.chunkers))
        for chunker in self.chunkers:
            if not callable(getattr(chunker, "chunk", None)):
                raise ConfigError(f"chunkers: a {type(chunker).__name__} has no chunk(content, media_type, outputs)")
        if self.time_limit is not None and not (isinstance(self.time_limit, (int, float)) and self.time_limit > 0):
            raise ConfigError(f"time_limit must be a number of seconds above 0 or None, not {self.time_limit!r}")
        if self.rest is not None and not isinstance(self.rest, DocumentChunker):
            raise ConfigError(f"rest: a {type(self.rest).__name__} has no chunk_document(document)")
        PdfLineChunker(self.max_chars)

    def fingerprint(self) -> str:
        """A hash over who is asked, in order, the sizes of the shipped chunkers, and who cuts the rest."""
        asked = [[identity(chunker), str(getattr(chunker, "version", "1"))] for chunker in self._order()]
        rest = None if self.rest is None else self.rest.fingerprint()
        options = {"asked": asked, "max_chars": self.max_chars, "rest": rest}
        return hashing.fingerprint(self.name, self.version, options)

    def cut(self, content: bytes, media_type: str, outputs: Sequence[PageOutput]) -> PageCut:
        """Ask for the pages ``outputs``; what nobody claims is in no claim when there is a ``rest``."""
        return ask(self._order(), content, media_type, outputs, self.time_limit)

    def chunk_document(self, document: Document) -> Chunking:
        """Cut ``document`` page by page; without pages its content is page 1.

        ``provenance.piece_id`` is ``page:N/chunk:M``, ``provenance.chunker`` who cut that page. A piece found in the
        page's text is exact; any other is ``derived`` from the page.
        """
        by_page = _by_page(document, loose=self.rest is None)
        outputs = [_output(document, page, own) for page, own in by_page.items()]
        result = self.cut(_bytes(document), document.media_type or "text/plain", outputs)
        chunks: list[Chunk] = []
        for claim in result.claims:
            chunks += _page_chunks(document, by_page[claim.page], claim, len(chunks))
        if result.empty:
            _log.debug("%s: pages without text: %s", document.source_id, result.empty)
        if self.rest is None:
            return Chunking(tuple(chunks))
        remaining = _without(document, [run for claim in result.claims for run in by_page[claim.page]])
        others, parents = self.rest.chunk_document(remaining)
        merged = sorted([*chunks, *others], key=_place_in(document))
        return Chunking(tuple([replace(chunk, ordinal=number) for number, chunk in enumerate(merged)]), parents)

    def _order(self) -> tuple[Chunker, ...]:
        """Own chunkers first, then the shipped ones, then fallbacks, the floor last."""
        fallbacks = [chunker for chunker in self.chunkers if getattr(chunker, "fallback", False)]
        first = [chunker for chunker in self.chunkers if not getattr(chunker, "fallback", False)]
        if self.rest is not None:
            return (*first, *fallbacks)
        return (*first, PdfLineChunker(self.max_chars), *fallbacks, PageFloor())


def pages(
    chunkers: Iterable[Chunker] | None = None,
    *,
    max_chars: int = 1200,
    time_limit: float | None = 60.0,
    rest: DocumentChunker | None = None,
) -> PagesChunker:
    """The executor of page chunkers.

    ``chunkers`` (default: those that other distributions have installed, each in a process of its own) are asked first,
    in the order given (those with ``fallback = True`` after the shipped ones), then the PDF line chunker, whose pieces
    hold at most ``max_chars``, then the floor. With ``rest`` the shipped ones are left out: pages that none of
    ``chunkers`` claims are cut by that document chunker. A chunker that takes longer than ``time_limit`` seconds counts
    as broken; one that was given runs in this process and cannot be killed, only left behind.
    """
    return PagesChunker(installed() if chunkers is None else tuple(chunkers), max_chars, time_limit, rest)


def _without(document: Document, claimed: Sequence[Run]) -> Document:
    """``document`` with spaces in place of the claimed runs, so that every span elsewhere stays true."""
    pieces: list[str] = []
    at = 0
    for run in sorted(claimed, key=lambda run: run.start):
        start = max(at, run.start)
        pieces += [document.content[at:start], " " * (run.end - start)]
        at = max(at, run.end)
    gone = {part.part_id for run in claimed for part in run.parts}
    parts = tuple(part for part in document.parts if part.part_id not in gone)
    return replace(document, content="".join([*pieces, document.content[at:]]), parts=parts)


def _by_page(document: Document, *, loose: bool) -> dict[int, list[Run]]:
    """The document's runs by page; a document without pages is page 1, a blank page has none.

    ``loose`` text, which lies on no page though others do, goes with the page before it, or is left out.
    """
    found: dict[int, list[Run]] = {part.page: [] for part in document.parts if part.page is not None}
    loose = loose or not found
    page = min(found, default=1)
    for run in runs(document):
        own = next((part.page for part in run.parts if part.page is not None), None)
        page = page if own is None else own
        if loose or own is not None:
            found.setdefault(page, []).append(run)
    return dict(sorted(found.items()))


def _place_in(document: Document) -> Callable[[Chunk], int]:
    """A sorting key: where a chunk's last slice starts; one that does not say comes last."""

    def place(chunk: Chunk) -> int:
        spans = chunk.provenance.source_spans
        return spans[-1].start if spans else len(document.content)

    return place


def _output(document: Document, page: int, own: list[Run]) -> PageOutput:
    text = "\n\n".join(document.content[run.start : run.end] for run in own)
    blocks = tuple(block for run in own for part in run.parts for block in part.blocks)
    return PageOutput(page=page, text=text or None, blocks=blocks)


def _bytes(document: Document) -> bytes:
    """The source's bytes; of a document without any, its content."""
    try:
        return document.read_bytes()
    except LoadError:
        return document.content.encode("utf-8", "replace")


def _page_chunks(document: Document, own: list[Run], claim: Claim, first: int) -> list[Chunk]:
    """The pieces of one page as chunks, each placed in the page's text when it stands there, in order."""
    context = ContextLine("", False, 0)
    chunks: list[Chunk] = []
    cursor = own[0].start
    for number, piece in enumerate(claim.pieces):
        run, span = _place(document.content, own, piece.text, cursor)
        cursor = span[1] if span else cursor
        chunks.append(
            Passages(document, run, context, first + number).made(
                piece.text,
                (span or (run.start, run.end),),
                derived=span is None,
                bboxes=None if piece.bbox is None else (PageBox(claim.page, piece.bbox),),
                chunker=claim.chunker,
                piece_id=f"page:{claim.page}/chunk:{number}",
            )
        )
    return chunks


def _place(content: str, own: list[Run], text: str, cursor: int) -> tuple[Run, Slice | None]:
    """The run ``text`` stands in from ``cursor`` on, and where; the whole page when it stands in none."""
    for run in own:
        at = content.find(text, max(cursor, run.start), run.end)
        if at >= 0:
            return run, (at, at + len(text))
    return (own[0] if len(own) == 1 else joined(own)), None
