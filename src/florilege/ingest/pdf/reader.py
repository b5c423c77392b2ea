"""The PDF reader: a page part a page with a block a line, ruled tables as table parts, the outline as headings."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

from florilege.ingest.pdf.glyphs import Line, PageText, page_text
from florilege.ingest.pdf.layout import compose, headline, reading_order
from florilege.ingest.pdf.tables import PageTable, TableFinder, TablersFinder, take_tables
from florilege.ingest.readers.assembly import Assembly, squeeze
from florilege.interfaces.sources import ReadResult
from florilege.model.errors import ReadError

MAX_PAGES = 5000
_pdfium = threading.Lock()
_SCAN_COVER = 0.5
_MIN_RULES = 4
_MAX_OBJECTS = 2000
_TOP = 0.25
_MAX_BOOKMARKS = 20_000
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")
_NO_TITLE = re.compile(
    r"^(?:untitled\b.*|\(.*\)|microsoft word - .*|\S*\.\w{2,4}|.*\.(?:docx?|pdf|tex|pptx?|xlsx?))$", re.I
)


class PdfReader:
    """PDF by PDFium, which is not thread-safe: calls in one process wait for one another.

    Pages are numbered from 1. A page without text has an empty part, with the warning ``needs_ocr`` when an image
    covers half of it (then ``scan_lines`` may see lines in it); text drawn invisibly over a scan, or seen in one, is
    ``confidence="derived"``.
    """

    id = "pdf"
    version = "1"
    media_types = ("application/pdf",)

    def __init__(
        self,
        table_finder: Callable[[bytes], TableFinder] = TablersFinder,
        scan_lines: Callable[[Any, PageText], list[Line] | None] | None = None,
    ) -> None:
        self._table_finder = table_finder
        self._scan_lines = scan_lines

    def pages(self, content: bytes) -> int:
        """How many pages will be read; 0 when it does not open."""
        with _pdfium:
            try:
                document = _open(content)
            except ReadError:
                return 0
            try:
                return min(len(document), MAX_PAGES)
            finally:
                document.close()

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``. Raises :class:`ReadError` ``encrypted`` or ``damaged``."""
        with _pdfium:
            document = _open(content)
            finder = self._table_finder(content)
            try:
                return self._read(document, finder)
            finally:
                finder.close()
                document.close()

    def _read(self, document: Any, finder: TableFinder) -> ReadResult:
        assembly = Assembly()
        count = len(document)
        if count > MAX_PAGES:
            assembly.warn("truncated", f"only the first {MAX_PAGES:,} of {count:,} pages were read")
        outline = _outline(document)
        title = None
        for index in range(min(count, MAX_PAGES)):
            page = _load(document, index)
            if page is None:
                assembly.add("page", "", page=index + 1)
                assembly.warn("damaged_page", f"page {index + 1} cannot be opened")
                continue
            text = page_text(page)
            headings = _enter(assembly, outline.get(index, ()))
            tables = take_tables(text, finder.find(index)) if text.lines and _has_rules(page) else []
            scan = not text.lines and _is_scan(page, text)
            if scan and self._scan_lines is not None and (seen := self._scan_lines(page, text)) is not None:
                text.lines, text.invisible, scan = seen, True, False
            lines = reading_order(text)
            self._page(assembly, text, lines, tables, index + 1, headings, needs_ocr=scan)
            if index == 0:
                title = headline(lines, text)
            page.close()
        metadata = _properties(document)
        named = metadata.pop("title", "")
        if not any(part.text for part in assembly.parts):
            assembly.warn("empty", "no page has text")
        return assembly.result(title=named or title, metadata=metadata)

    def _page(
        self,
        assembly: Assembly,
        text: PageText,
        lines: Any,
        tables: list[PageTable],
        number: int,
        headings: tuple[str, ...],
        *,
        needs_ocr: bool,
    ) -> None:
        body, blocks = compose(lines, text)
        facts: dict[str, Any] = {
            "page": number,
            "heading_path": headings,
            "confidence": "derived" if text.invisible else "exact",
        }
        part_id = assembly.add("page", body, blocks=blocks, **facts)
        if needs_ocr:
            assembly.warn(
                "needs_ocr", f"page {number} is an image without text (reader 'ocr' recognises such)", part_id
            )
        for table in tables:
            boxes = list(map(text.normal, table.row_boxes))
            assembly.table(table.columns, table.rows, row_boxes=boxes, caption=table.caption, **facts)


def _open(content: bytes) -> Any:
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if error.err_code == 4:
            raise ReadError("the PDF needs a password: save it without one", code="encrypted") from error
        raise ReadError("PDFium cannot open it as a PDF", code="damaged") from error


def _load(document: Any, index: int) -> Any:
    import pypdfium2

    try:
        return document[index]
    except pypdfium2.PdfiumError:
        return None


def _has_rules(page: Any) -> bool:
    """Whether a page draws enough lines or boxes for the smallest ruled table (or hides them in a form)."""
    import pypdfium2.raw as pdfium

    paths = 0
    for index in range(pdfium.FPDFPage_CountObjects(page.raw)):
        kind = pdfium.FPDFPageObj_GetType(pdfium.FPDFPage_GetObject(page.raw, index))
        paths += kind == pdfium.FPDF_PAGEOBJ_PATH
        if paths >= _MIN_RULES or kind == pdfium.FPDF_PAGEOBJ_FORM:
            return True
    return False


def _is_scan(page: Any, text: PageText) -> bool:
    """Whether an image covers at least half of the page."""
    import ctypes

    import pypdfium2.raw as pdfium

    corners = [ctypes.c_float() for _ in range(4)]
    for index in range(min(pdfium.FPDFPage_CountObjects(page.raw), _MAX_OBJECTS)):
        item = pdfium.FPDFPage_GetObject(page.raw, index)
        if pdfium.FPDFPageObj_GetType(item) not in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM):
            continue
        if pdfium.FPDFPageObj_GetBounds(item, *map(ctypes.byref, corners)):
            left, bottom, right, top = (corner.value for corner in corners)
            if (right - left) * (top - bottom) >= _SCAN_COVER * text.width * text.height:
                return True
    return False


def _enter(assembly: Assembly, bookmarks: Sequence[tuple[int, str, float]]) -> tuple[str, ...]:
    """Enter a page's bookmarks; the headings that all of the page stands under.

    What the page begins with counts too, unless its first bookmark is at its top. Where sections change within the
    page, only what they share is left: a missing heading is better than a wrong one.
    """
    paths = []
    for number, (level, title, depth) in enumerate(bookmarks):
        if number or depth > _TOP:
            paths.append(assembly.trail.path)
        assembly.trail.enter(level, title)
    paths.append(assembly.trail.path)
    return tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False)))


def _outline(document: Any) -> dict[int, list[tuple[int, str, float]]]:
    """(level, title, depth) of the bookmarks by the page they point to."""
    found: dict[int, list[tuple[int, str, float]]] = {}
    for number, (level, title, page, depth) in enumerate(_bookmarks(document)):
        if number >= _MAX_BOOKMARKS:
            break
        found.setdefault(page, []).append((level, title, depth))
    return found


def _bookmarks(document: Any) -> Iterator[tuple[int, str, int, float]]:
    """(level from 1, title, page index, how far down the page in [0, 1]) of each bookmark with a place."""
    import pypdfium2

    with suppress(pypdfium2.PdfiumError, RecursionError, ValueError):
        for bookmark in document.get_toc(max_depth=10):
            target = bookmark.get_dest()
            index = target.get_index() if target else None
            title = squeeze(bookmark.get_title() or "")
            if index is None or not title:
                continue
            mode, view = target.get_view()
            depth = 0.0
            if mode == pypdfium2.raw.PDFDEST_VIEW_XYZ and len(view) >= 2 and view[1]:
                height = document.get_page_size(index)[1]
                depth = 1 - view[1] / height if height else 0.0
            yield bookmark.level + 1, title, index, depth


def _properties(document: Any) -> dict[str, Any]:
    raw = document.get_metadata_dict(skip_empty=True)
    found: dict[str, Any] = {}
    for key in ("Title", "Author", "Subject", "Keywords"):
        value = squeeze(raw.get(key, ""))
        if value and not _NO_TITLE.match(value):
            found[key.lower()] = value
    if match := _DATE.match(raw.get("CreationDate", "")):
        found["created"] = "-".join(filter(None, match.groups()))
    return found
