"""Ruled tables of a PDF page: a finder gives the cells' boxes, the glyphs inside them give the text."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from florilege.ingest.pdf.glyphs import BBox, Glyph, Line, PageText, around
from florilege.ingest.readers.assembly import squeeze

_log = logging.getLogger("florilege.ingest")
_MAX_HEADER = 3
_REFUSALS = (ImportError, OSError, RuntimeError, ValueError, LookupError)


@dataclass(frozen=True, slots=True)
class TableGrid:
    """A table's box and its rows of cell boxes, in points as shown; None where a cell of another place reaches in."""

    box: BBox
    rows: tuple[tuple[BBox | None, ...], ...]


class TableFinder(Protocol):
    """Finds tables on the pages of one document; made for its bytes, asked page by page, closed at the end."""

    def find(self, page_index: int) -> Sequence[TableGrid]:
        """The tables of a page (counted from 0); none when it cannot tell. Never raises."""
        ...

    def close(self) -> None:
        """Let go of the document."""
        ...


class TablersFinder:
    """Tables with ruling lines, found by the ``tablers`` library."""

    def __init__(self, content: bytes) -> None:
        self._document: Any = None
        try:
            library = importlib.import_module("tablers")
            self._find = library.find_tables
            self._document = library.Document(bytes=content)
        except _REFUSALS as error:  # a second parser may refuse what the first one reads
            _log.debug("no tables will be found: %s", type(error).__name__)

    def find(self, page_index: int) -> Sequence[TableGrid]:
        """The ruled tables of an upright page."""
        if self._document is None:
            return ()
        try:
            page = self._document.get_page(page_index)
            if page.rotation_degrees:
                return ()
            tables = self._find(page, extract_text=False)
        except _REFUSALS as error:
            _log.debug("no tables on page %d: %s", page_index + 1, type(error).__name__)
            return ()
        return [
            TableGrid(
                tuple(table.bbox), tuple(tuple(cell and tuple(cell.bbox) for cell in row.cells) for row in table.rows)
            )
            for table in tables
        ]

    def close(self) -> None:
        """Close the document."""
        if self._document is not None:
            self._document.close()


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table with text: column names (empty when there is no header), rows, and a box a row."""

    box: BBox
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    row_boxes: tuple[BBox, ...]
    caption: str | None = None


def take_tables(page: PageText, grids: Iterable[TableGrid]) -> list[PageTable]:
    """The tables of a page that hold at least two by two cells with text; their glyphs leave the page's lines."""
    found = []
    for grid in grids:
        inside, outside = _divide(page.lines, grid.box)
        table = _table(grid, inside)
        if table is not None:
            page.lines = outside
            found.append(table)
    return found


def _divide(lines: list[Line], box: BBox) -> tuple[list[Line], list[Line]]:
    inside: list[Line] = []
    outside: list[Line] = []
    for line in lines:
        kept = [glyph for glyph in line.glyphs if not _holds(box, glyph)]
        if len(kept) == len(line.glyphs):
            outside.append(line)
            continue
        taken = [glyph for glyph in line.glyphs if _holds(box, glyph)]
        inside.append(Line(taken, line.hyphen and taken[-1] is line.glyphs[-1]))
        if any(not glyph.text.isspace() for glyph in kept):
            outside.append(Line(kept, line.hyphen))
    return inside, outside


def _holds(box: BBox, glyph: Glyph) -> bool:
    x, y = (glyph.x0 + glyph.x1) / 2, (glyph.y0 + glyph.y1) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _table(grid: TableGrid, lines: list[Line]) -> PageTable | None:
    texts = _cell_texts(grid, lines)
    caption = None
    grid_rows = grid.rows
    if len(grid_rows) > 2 and len(grid_rows[0]) > 2 and sum(1 for cell in grid_rows[0] if cell) == 1:
        caption = next(squeeze(" ".join(texts[cell])) for cell in grid_rows[0] if cell) or None
        grid_rows = grid_rows[1:]
    depth = _header_depth(grid_rows)
    rows: list[tuple[str, ...]] = []
    boxes: list[BBox] = []
    for number, cells in enumerate(grid_rows):
        row = [texts[cell] if cell else [] for cell in cells]
        box = around([cell for cell in cells if cell] or [grid.box])
        count = _stacked(row) if number >= depth else 1
        step = (box[3] - box[1]) / count
        for index in range(count):
            chosen = [" ".join(text) if count == 1 else text[index] if text else "" for text in row]
            rows.append(tuple(map(squeeze, chosen)))
            boxes.append((box[0], box[1] + index * step, box[2], box[1] + (index + 1) * step))
    width = max(map(len, rows))
    if len(rows) < 2 or width < 2 or sum(1 for row in rows for cell in row if cell) < 4:
        return None
    header = [[row[index] for row in rows[:depth] if index < len(row)] for index in range(width)]
    columns = tuple(" ".join(dict.fromkeys(filter(None, names))) for names in header)
    return PageTable(grid.box, columns, tuple(rows[depth:]), tuple(boxes[depth:]), caption)


def _header_depth(rows: Sequence[Sequence[BBox | None]]) -> int:
    """How many rows the tallest cell of the first row covers: they are the header together."""
    foot = max((cell[3] for cell in rows[0] if cell), default=0.0)
    depth = sum(1 for row in rows if any(cell and cell[1] < foot - 1 for cell in row))
    return depth if 1 <= depth <= _MAX_HEADER and depth < len(rows) else 1


def _cell_texts(grid: TableGrid, lines: list[Line]) -> dict[BBox, list[str]]:
    """The text of each cell, a string a line. A glyph belongs to the smallest cell that holds its middle."""
    rows = [[cell for cell in row if cell] for row in grid.rows]
    bands = [(min(cell[1] for cell in row), max(cell[3] for cell in row), row) for row in rows if row]
    found: dict[BBox, list[_CellLine]] = {cell: [] for row in rows for cell in row}
    for number, line in enumerate(lines):
        cell: BBox | None = None
        for glyph in line.glyphs:
            if not glyph.text.isspace():
                y = (glyph.y0 + glyph.y1) / 2
                holding = [c for top, foot, row in bands if top <= y <= foot for c in row if _holds(c, glyph)]
                cell = min(holding, key=_area, default=None)
            if cell is not None:
                content = found[cell]
                if not content or content[-1].number != number:
                    content.append(_CellLine(number, [], hyphen=False))
                content[-1].glyphs.append(glyph)
                content[-1].hyphen = line.hyphen and glyph is line.glyphs[-1]
    return {cell: _joined(content) for cell, content in found.items()}


@dataclass(slots=True)
class _CellLine:
    """What lies in a cell of the page's line of this number."""

    number: int
    glyphs: list[Glyph]
    hyphen: bool


def _joined(content: list[_CellLine]) -> list[str]:
    """The lines of a cell: pieces on one level are one line, a word broken by a hyphen is whole again."""
    texts: list[str] = []
    foot = 0.0
    broken = False
    for piece in content:
        text = "".join(glyph.text for glyph in piece.glyphs).strip()
        lowest = max(glyph.y1 for glyph in piece.glyphs)
        high = max(glyph.y1 - glyph.y0 for glyph in piece.glyphs)
        if texts and (broken or abs(lowest - foot) < 0.5 * high):
            texts[-1] += ("" if broken else " ") + text
        elif text:
            texts.append(text)
        foot, broken = lowest, piece.hyphen
    return texts


def _area(box: BBox) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _stacked(cells: list[list[str]]) -> int:
    """How many rows of a table lie in one ruled row: the number of lines, when all its cells have the same number."""
    counts = {len(cell) for cell in cells if cell}
    return counts.pop() if len(counts) == 1 and sum(1 for cell in cells if cell) >= 3 else 1
