"""The glyphs of a page as PDFium sees them, gathered into lines.

Coordinates are points of the page as shown: origin top left, after crop box and rotation (PDFium's page-to-device
mapping, which is affine, taken from three points). Glyphs outside the crop box are dropped.

PDFium facts this rests on: it ends lines with CR LF; a hyphen at a line's end that it takes for a syllable break
comes as U+0002 and swallows the line end; characters outside the basic plane come as two surrogates.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

BBox = tuple[float, float, float, float]


class Glyph(NamedTuple):
    """A character and its box; a space has the box of the glyph before it, with no width."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True)
class Line:
    """Glyphs on one line in reading order. ``hyphen``: a word was broken at its end, the hyphen is not in it."""

    glyphs: list[Glyph]
    hyphen: bool = False

    @cached_property
    def text(self) -> str:
        """The line's text without blanks at its ends."""
        return "".join([glyph[0] for glyph in self.glyphs]).strip()

    @cached_property
    def box(self) -> BBox:
        """The box around all its glyphs."""
        _, x0, y0, x1, y1 = zip(*self.glyphs, strict=True)
        return min(x0), min(y0), max(x1), max(y1)

    @cached_property
    def height(self) -> float:
        """The height of its tallest glyph."""
        return max([y1 - y0 for _, _, y0, _, y1 in self.glyphs])

    @property
    def size(self) -> float:
        """The height of its tallest letter or digit; 0 where there is none or the line runs downwards."""
        heights = [glyph.y1 - glyph.y0 for glyph in self.glyphs if glyph.text.isalnum()]
        x0, y0, x1, y1 = self.box
        return max(heights, default=0.0) if x1 - x0 >= y1 - y0 or len(heights) == 1 else 0.0

    def segments(self) -> list[Line]:
        """The line cut where a gap is wider than twice its height."""
        limit = 2 * self.height
        starts = [0]
        left, right = self.glyphs[0].x0, self.glyphs[0].x1
        for index, (text, x0, _, x1, _) in enumerate(self.glyphs):
            if text == " ":
                continue
            if x0 - right > limit or left - x1 > limit:
                starts.append(index)
            left, right = x0, x1
        if len(starts) == 1:
            return [self]
        ends = [*starts[1:], len(self.glyphs)]
        last = starts[-1]
        return [
            Line(self.glyphs[start:end], self.hyphen and start == last) for start, end in zip(starts, ends, strict=True)
        ]


@dataclass(slots=True)
class PageText:
    """A page's size in points, its lines in content order, and whether its text is drawn invisibly (an OCR layer)."""

    width: float
    height: float
    lines: list[Line] = field(default_factory=list)
    invisible: bool = False

    def normal(self, box: BBox) -> BBox:
        """``box`` in [0, 1]."""
        x0, y0, x1, y1 = box
        return _unit(x0 / self.width), _unit(y0 / self.height), _unit(x1 / self.width), _unit(y1 / self.height)


def around(boxes: Sequence[tuple[float, ...]]) -> BBox:
    """The smallest box around ``boxes``."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def page_text(page: Any) -> PageText:
    """The lines of a pypdfium2 page."""
    import pypdfium2.raw as pdfium

    width, height = page.get_size()
    result = PageText(max(width, 1e-6), max(height, 1e-6))
    handle = pdfium.FPDFText_LoadPage(page.raw)
    if not handle:
        return result
    try:
        _fill(result, page, handle)
    finally:
        pdfium.FPDFText_ClosePage(handle)
    return result


def _fill(result: PageText, page: Any, handle: Any) -> None:
    import pypdfium2.raw as pdfium

    a, b, c, d, e, f = _affine(page, result.width, result.height)
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    boxes = [ctypes.byref(value) for value in (left, right, bottom, top)]
    get_box, get_unicode = pdfium.FPDFText_GetCharBox, pdfium.FPDFText_GetUnicode
    width, height = result.width, result.height
    line: list[Glyph] = []
    high = first = 0
    for index in range(pdfium.FPDFText_CountChars(handle)):
        code = get_unicode(handle, index)
        if code <= 32 or code == 0xFFFE:
            if code in (10, 2, 0xFFFE):
                _end(result.lines, line, hyphen=code != 10)
                line = []
            elif code != 13 and line:
                last = line[-1]
                line.append(Glyph(" ", last.x1, last.y0, last.x1, last.y1))
            continue
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        if 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00) if high else 0xFFFD
        high = 0
        get_box(handle, index, *boxes)
        l, r, t, m = left.value, right.value, top.value, bottom.value  # noqa: E741
        x0, x1, y0, y1 = a * l + c * t + e, a * r + c * m + e, b * l + d * t + f, b * r + d * m + f
        if x0 > x1:
            x0, x1 = x1, x0
        if y0 > y1:
            y0, y1 = y1, y0
        if not (0 <= x0 + x1 <= 2 * width and 0 <= y0 + y1 <= 2 * height):
            continue
        if line and x0 < line[-1].x0 and _is_new_line(line[-1], y0, y1, x0):
            _end(result.lines, line, hyphen=False)
            line = []
        if not first:
            first = index + 1
            result.invisible = _is_invisible(handle, index)
        line.append(Glyph(chr(code), x0, y0, x1, y1))
    _end(result.lines, line, hyphen=False)
    result.lines = _rejoined(result.lines)


def _rejoined(lines: list[Line]) -> list[Line]:
    """Lines that PDFium cut at a raised or lowered mark, whole again."""
    joined: list[Line] = []
    for line in lines:
        last = joined[-1] if joined else None
        if last is not None and not last.hyphen:
            a, b, high = last.box, line.box, max(last.height, line.height)
            overlap = min(a[3], b[3]) - max(a[1], b[1])
            gap = b[0] - a[2]
            if overlap > 0.5 * min(a[3] - a[1], b[3] - b[1]) and -0.3 * high <= gap <= high:
                space = [Glyph(" ", a[2], a[1], a[2], a[3])] if gap > 0.2 * high and last.glyphs[-1].text != " " else []
                joined[-1] = Line(last.glyphs + space + line.glyphs, line.hyphen)
                continue
        joined.append(line)
    return joined


def _is_new_line(last: Glyph, y0: float, y1: float, x0: float) -> bool:
    """Whether a glyph far below or above and to the left starts a line that PDFium did not announce."""
    high = max(last.y1 - last.y0, y1 - y0)
    return abs(y0 + y1 - last.y0 - last.y1) > 3 * high and x0 < last.x0 - 2 * high


def _end(lines: list[Line], glyphs: list[Glyph], *, hyphen: bool) -> None:
    if any(not glyph.text.isspace() for glyph in glyphs):
        lines.append(Line(glyphs, hyphen))


def _affine(page: Any, width: float, height: float) -> tuple[float, float, float, float, float, float]:
    """x' = a x + c y + e, y' = b x + d y + f, from page space to points as shown."""
    import pypdfium2.raw as pdfium

    scale = 100_000
    x, y = ctypes.c_int(), ctypes.c_int()

    def device(px: float, py: float) -> tuple[float, float]:
        pdfium.FPDF_PageToDevice(page.raw, 0, 0, scale, scale, 0, px, py, ctypes.byref(x), ctypes.byref(y))
        return x.value / scale * width, y.value / scale * height

    (e, f), (ex, fx), (ey, fy) = device(0, 0), device(1000, 0), device(0, 1000)
    return (ex - e) / 1000, (fx - f) / 1000, (ey - e) / 1000, (fy - f) / 1000, e, f


def _is_invisible(handle: Any, index: int) -> bool:
    import pypdfium2.raw as pdfium

    piece = pdfium.FPDFText_GetTextObject(handle, index)
    return bool(piece) and pdfium.FPDFTextObj_GetTextRenderMode(piece) == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE


def _unit(value: float) -> float:
    return round(min(1.0, max(0.0, value)), 5)
