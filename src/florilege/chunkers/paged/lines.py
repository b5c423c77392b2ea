"""The PDF line chunker: pieces of whole lines, each with the box around them.

Lines come from the reader's blocks; where there are none, from PDFium's text runs, put into lines and into reading
order (a page of two columns is read left column first, lines across both parting it into bands).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from florilege.chunkers.base import check_whole
from florilege.chunkers.parts.boxes import stacked
from florilege.interfaces.chunking import ChunkPiece, PageChunks, PageOutput
from florilege.model.document import BBox
from florilege.split.characters import spans

_PDFIUM = threading.Lock()  # PDFium serves one call at a time
_SCALE = 1 << 20


class Line(NamedTuple):
    """A line of a page and the box around it."""

    text: str
    bbox: BBox


class PdfLineChunker:
    """Claims the pages of PDF files whose lines it can see."""

    name = "pdf_lines"
    version = "1"

    def __init__(self, max_chars: int = 1200) -> None:
        check_whole("max_chars", max_chars, 1)
        self.max_chars = max_chars

    def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> tuple[PageChunks, ...]:
        """Nothing for bytes that are no PDF; a page without boxes is left to the next."""
        if not content.startswith(b"%PDF-"):
            return ()
        missing = [output.page for output in outputs if output.text and not _lines_of(output)]
        opened = _opened(content, missing) if missing else {}
        claims = []
        for output in outputs:
            lines = _lines_of(output) or opened.get(output.page, [])
            pieces = tuple(packed(lines, self.max_chars))
            if pieces:
                claims.append(PageChunks(page=output.page, pieces=pieces))
        return tuple(claims)


def packed(lines: Sequence[Line], size: int) -> Iterator[ChunkPiece]:
    """Lines in pieces of at most ``size`` characters; a piece never leaves its column."""
    held: list[Line] = []
    length = 0
    for line in lines:
        for start, end in spans(line.text, 0, len(line.text), size):
            part = Line(line.text[start:end], line.bbox)
            follows = held and stacked(held[-1].bbox, part.bbox, part.bbox[3] - part.bbox[1])
            if held and (length + 1 + len(part.text) > size or not follows):
                yield _piece(held)
                held, length = [], -1
            length = length + 1 + len(part.text) if held else len(part.text)
            held.append(part)
    if held:
        yield _piece(held)


def _piece(lines: Sequence[Line]) -> ChunkPiece:
    sides = list(zip(*(line.bbox for line in lines), strict=True))
    box = (min(sides[0]), min(sides[1]), max(sides[2]), max(sides[3]))
    return ChunkPiece(text="\n".join(line.text for line in lines), bbox=box)


def _lines_of(output: PageOutput) -> list[Line]:
    """The reader's lines, when every block with text has its box."""
    blocks = [block for block in output.blocks if block.text.strip()]
    lines = [Line(block.text, block.bbox) for block in blocks if block.bbox is not None]
    return lines if len(lines) == len(blocks) else []


def _opened(content: bytes, wanted: Sequence[int]) -> dict[int, list[Line]]:
    """The lines of these pages as PDFium sees them; none for a file it cannot open."""
    import pypdfium2

    with _PDFIUM:
        try:
            pdf = pypdfium2.PdfDocument(content)
        except pypdfium2.PdfiumError:
            return {}
        try:
            return {page: in_reading_order(in_lines(_runs(pdf[page - 1]))) for page in wanted if page <= len(pdf)}
        finally:
            pdf.close()


def _runs(page: Any) -> list[Line]:
    from ctypes import byref, c_int

    import pypdfium2.raw as raw

    def placed(x: float, y: float) -> tuple[float, float]:
        across, down = c_int(), c_int()
        raw.FPDF_PageToDevice(page, 0, 0, _SCALE, _SCALE, 0, x, y, byref(across), byref(down))
        return min(1.0, max(0.0, across.value / _SCALE)), min(1.0, max(0.0, down.value / _SCALE))

    textpage = page.get_textpage()
    found = []
    for index in range(textpage.count_rects()):
        left, bottom, right, top = textpage.get_rect(index)
        text = " ".join(textpage.get_text_bounded(left, bottom, right, top).split())
        (x0, y0), (x1, y1) = placed(left, top), placed(right, bottom)
        if text:
            found.append(Line(text, (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))))
    return found


def in_lines(runs: Sequence[Line]) -> list[Line]:
    """Runs that follow each other at one height, less than two heights apart, as one line."""
    lines: list[Line] = []
    for run in runs:
        if lines:
            last, box = lines[-1].bbox, run.bbox
            height = max(last[3] - last[1], box[3] - box[1])
            level = min(last[3], box[3]) - max(last[1], box[1]) > height / 2
            if level and -height / 2 <= box[0] - last[2] <= 2 * height:
                lines[-1] = _joined(lines[-1], run)
                continue
        lines.append(run)
    return lines


def _joined(left: Line, right: Line) -> Line:
    one, two = left.bbox, right.bbox
    box = (min(one[0], two[0]), min(one[1], two[1]), max(one[2], two[2]), max(one[3], two[3]))
    return Line(f"{left.text} {right.text}", box)


def in_reading_order(lines: Sequence[Line]) -> list[Line]:
    """Top to bottom; where the page has two columns, the left one first between lines that cross both."""
    ordered = sorted(lines, key=lambda line: (line.bbox[1], line.bbox[0]))
    gutter = _gutter(ordered)
    if gutter is None:
        return ordered
    found: list[Line] = []
    left: list[Line] = []
    right: list[Line] = []
    for line in ordered:
        if line.bbox[0] < gutter < line.bbox[2]:
            found += [*left, *right, line]
            left, right = [], []
        else:
            (left if line.bbox[2] <= gutter else right).append(line)
    return [*found, *left, *right]


def _gutter(lines: Sequence[Line]) -> float | None:
    """Where few lines cross the middle of the page and both sides are columns; None for one column."""
    best, crossing = None, math.inf
    for step in range(30, 71):
        x = step / 100
        crossed = sum(line.bbox[0] < x < line.bbox[2] for line in lines)
        if crossed < crossing:
            best, crossing = x, crossed
    if best is None or crossing > len(lines) * 0.2:
        return None
    left = [line for line in lines if line.bbox[2] <= best]
    right = [line for line in lines if line.bbox[0] >= best]
    if len(left) < 3 or len(right) < 3:
        return None
    common = min(left[-1].bbox[3], right[-1].bbox[3]) - max(left[0].bbox[1], right[0].bbox[1])
    return best if common > 0 else None
