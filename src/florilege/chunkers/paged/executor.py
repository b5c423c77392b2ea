"""The ``pages`` chunker: page chunkers asked in order, their answers checked and merged page by page.

A claim is all or nothing a chunker: one wrong piece voids its whole answer, an exception or running out of time
likewise, and the next chunker is asked. The floor, one piece for each page, is built in and never fails, so a page with
text always gets a chunk.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from florilege.chunkers.base import Fingerprinted
from florilege.chunkers.paged.lines import PdfLineChunker
from florilege.chunkers.parts.passages import ContextLine, Passages, Slice
from florilege.chunkers.parts.sections import Run, joined, runs
from florilege.interfaces.chunking import Chunker, ChunkPiece, PageChunks, PageOutput
from florilege.model import hashing
from florilege.model.chunk import Chunk, Chunking, PageBox
from florilege.model.document import Document
from florilege.model.errors import ConfigError, LoadError

_log = logging.getLogger(__name__)


class PageFloor:
    """One piece a page: the last answer asked for."""

    fallback = True

    def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> tuple[PageChunks, ...]:
        """Claim every page that has text."""
        return tuple(
            PageChunks(page=output.page, pieces=(ChunkPiece(text=output.text),))
            for output in outputs
            if output.text and output.text.strip()
        )


class Claim(NamedTuple):
    """A page, who cut it, and into what."""

    page: int
    chunker: str
    pieces: tuple[ChunkPiece, ...]


class Refused(NamedTuple):
    """A chunker whose answer counted for nothing, and why."""

    chunker: str
    reason: str


@dataclass(frozen=True, slots=True)
class PageCut:
    """What became of a source's pages: ``claims`` in page order, ``empty`` pages without text, ``refused`` answers."""

    claims: tuple[Claim, ...]
    empty: tuple[int, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True)
class PagesChunker(Fingerprinted):
    """See :func:`pages`."""

    chunkers: tuple[Chunker, ...] = ()
    max_chars: int = 1200
    time_limit: float | None = 60.0

    name = "pages"
    version = "1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunkers", tuple(self.chunkers))
        for chunker in self.chunkers:
            if not callable(getattr(chunker, "chunk", None)):
                raise ConfigError(f"chunkers: a {type(chunker).__name__} has no chunk(content, media_type, outputs)")
        if self.time_limit is not None and not (isinstance(self.time_limit, (int, float)) and self.time_limit > 0):
            raise ConfigError(f"time_limit must be a number of seconds above 0 or None, not {self.time_limit!r}")
        PdfLineChunker(self.max_chars)

    def fingerprint(self) -> str:
        """A hash over who is asked, in order, and the sizes of the shipped chunkers."""
        asked = [[identity(chunker), str(getattr(chunker, "version", "1"))] for chunker in self._order()]
        return hashing.fingerprint(self.name, self.version, {"asked": asked, "max_chars": self.max_chars})

    def cut(self, content: bytes, media_type: str, outputs: Sequence[PageOutput]) -> PageCut:
        """Ask the chunkers for the pages ``outputs``, in order; the first that claims a page has it."""
        given = tuple(outputs)
        claims: dict[int, Claim] = {}
        refused: list[Refused] = []
        filled = {output.page for output in given if output.text and output.text.strip()}
        for chunker in self._order():
            if filled <= claims.keys():
                break
            name = identity(chunker)
            try:
                answer = _checked(self._ask(chunker, content, media_type, given), given)
            except Exception as error:  # noqa: BLE001 - a third party's failure is a verdict about it, not the source
                reason = f"{type(error).__name__}: {error}"
                _log.warning("page chunker %s counts as broken: %s", name, reason)
                refused.append(Refused(name, reason))
                continue
            for page in answer:
                if page.pieces:
                    claims.setdefault(page.page, Claim(page.page, name, page.pieces))
        order = [output.page for output in given]
        return PageCut(
            tuple(claims[page] for page in order if page in claims),
            tuple(page for page in order if page not in claims),
            tuple(refused),
        )

    def chunk_document(self, document: Document) -> Chunking:
        """Cut ``document`` page by page; without pages its content is page 1.

        ``provenance.piece_id`` is ``page:N/chunk:M``, ``provenance.chunker`` who cut that page. A piece found in the
        page's text is exact; any other is ``derived`` from the page.
        """
        by_page = _by_page(document)
        outputs = [_output(document, page, own) for page, own in by_page.items()]
        result = self.cut(_bytes(document), document.media_type or "text/plain", outputs)
        chunks: list[Chunk] = []
        for claim in result.claims:
            chunks += _page_chunks(document, by_page[claim.page], claim, len(chunks))
        if result.empty:
            _log.debug("%s: pages without text: %s", document.source_id, result.empty)
        return Chunking(tuple(chunks))

    def _order(self) -> tuple[Chunker, ...]:
        """Own chunkers first, then the shipped ones, then fallbacks, the floor last."""
        fallbacks = [chunker for chunker in self.chunkers if getattr(chunker, "fallback", False)]
        first = [chunker for chunker in self.chunkers if not getattr(chunker, "fallback", False)]
        return (*first, PdfLineChunker(self.max_chars), *fallbacks, PageFloor())

    def _ask(self, chunker: Chunker, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> Any:
        return within(self.time_limit, lambda: chunker.chunk(content, media_type, outputs))


def pages(chunkers: Iterable[Chunker] = (), *, max_chars: int = 1200, time_limit: float | None = 60.0) -> PagesChunker:
    """The executor of page chunkers.

    ``chunkers`` are asked first, in the order given (those with ``fallback = True`` after the shipped ones), then the
    PDF line chunker, whose pieces hold at most ``max_chars``, then the floor. One that takes longer than
    ``time_limit`` seconds counts as broken; it runs in this process and cannot be killed, only left behind.
    """
    return PagesChunker(tuple(chunkers), max_chars, time_limit)


def identity(chunker: Chunker) -> str:
    """The name a chunker goes by: its own ``name``, else where its class is defined."""
    kind = type(chunker)
    return str(getattr(chunker, "name", "") or f"{kind.__module__}.{kind.__qualname__}")


def within(seconds: float | None, call: Callable[[], Any]) -> Any:
    """``call()``, or TimeoutError after ``seconds``; the call is left running then, its result thrown away."""
    if seconds is None:
        return call()
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not outcome:
        raise TimeoutError(f"took longer than {seconds:g} s")
    return outcome[0]


def _checked(answer: Any, outputs: tuple[PageOutput, ...]) -> tuple[PageChunks, ...]:
    """``answer`` when every piece of it can be used; ValueError or TypeError otherwise."""
    known = {output.page for output in outputs}
    seen: set[int] = set()
    for claim in answer:
        if not isinstance(claim, PageChunks):
            raise TypeError(f"answered with a {type(claim).__name__}, not PageChunks")
        if claim.page not in known or claim.page in seen:
            why = "twice" if claim.page in seen else "which is not there"
            raise ValueError(f"claimed page {claim.page!r} {why}")
        seen.add(claim.page)
        for piece in claim.pieces:
            if not isinstance(piece, ChunkPiece) or not isinstance(piece.text, str):
                raise TypeError(f"page {claim.page}: a piece is a {type(piece).__name__}, not a ChunkPiece with text")
            if not piece.text.strip():
                raise ValueError(f"page {claim.page}: a piece is blank")
            if piece.bbox is not None and not _is_box(piece.bbox):
                raise ValueError(f"page {claim.page}: a bbox is not four rising numbers in [0, 1]")
    return tuple(answer)


def _is_box(box: Any) -> bool:
    if not isinstance(box, (tuple, list)) or len(box) != 4:
        return False
    if not all(isinstance(side, (int, float)) and not isinstance(side, bool) and 0 <= side <= 1 for side in box):
        return False
    return bool(box[0] <= box[2] and box[1] <= box[3])


def _by_page(document: Document) -> dict[int, list[Run]]:
    """The document's runs by page; text that lies on no page goes with the page before it. Blank pages have none."""
    found: dict[int, list[Run]] = {part.page: [] for part in document.parts if part.page is not None}
    page = min(found, default=1)
    for run in runs(document):
        page = next((part.page for part in run.parts if part.page is not None), page)
        found.setdefault(page, []).append(run)
    return dict(sorted(found.items()))


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
