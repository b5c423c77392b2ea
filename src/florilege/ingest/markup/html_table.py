"""HTML tables: which ones hold data, and their cells on a grid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from florilege.ingest.markup.html_tree import BLOCKS, events
from florilege.ingest.readers.assembly import squeeze

_MAX_SPAN = 1000
_MAX_CELLS = 2_000_000
_LONG_CELL = 2000


def is_data_table(node: Any) -> bool:
    """Whether a table holds data: two columns or more and no page inside its cells."""
    rows = list(_rows(node))
    if max((len(row) for row in rows), default=0) < 2 and not _header_count(rows):
        return False
    if (node.attributes.get("role") or "").lower() in ("presentation", "none"):
        return False
    if node.css_first("table table") is not None and not any(cell.tag == "th" for row in rows for cell in row):
        return False
    if node.css_first("h1, h2, h3, pre, form") is not None:
        return False
    return all(len(cell.text()) <= _LONG_CELL for row in rows for cell in row)


def nested_tables(node: Any) -> list[Any]:
    """The tables directly inside the cells of ``node``."""
    found = []
    tree = events(node)
    for entering, inner in tree:
        if entering and inner.tag == "table":
            found.append(inner)
            tree.send(True)
    return found


def table_rows(node: Any) -> tuple[str | None, tuple[str, ...], list[tuple[str, ...]]]:
    """Caption, column names (empty when no row is a header) and rows of a table.

    A cell that spans several is written once, in its first place; the others are empty.
    """
    rows = list(_rows(node))
    headers = _header_count(rows)
    grid = _grid(rows)
    columns: tuple[str, ...] = ()
    if headers:
        width = max(len(row) for row in grid[:headers])
        stacked = [[row[index] for row in grid[:headers] if index < len(row)] for index in range(width)]
        columns = tuple(" ".join(dict.fromkeys(filter(None, names))) for names in stacked)
    caption = next((squeeze(cell_text(child)) for child in _children(node) if child.tag == "caption"), None)
    return caption or None, columns, grid[headers:]


def cell_text(node: Any) -> str:
    """The text of a cell, blocks set apart by spaces, nested tables left out."""
    pieces: list[str] = []
    tree = events(node)
    for entering, inner in tree:
        if inner.tag == "-text":
            pieces.append(inner.text_content or "")
        elif entering and inner.tag == "table":
            tree.send(True)
        elif entering and inner.tag == "img":
            pieces.append(f" {inner.attributes.get('alt') or ''} ")
        elif inner.tag in BLOCKS or inner.tag == "br":
            pieces.append(" ")
    return squeeze("".join(pieces))


def _children(node: Any) -> Iterator[Any]:
    child = node.child
    while child is not None:
        if child.is_element_node:
            yield child
        child = child.next


def _rows(node: Any) -> Iterator[list[Any]]:
    for child in _children(node):
        if child.tag in ("thead", "tbody", "tfoot"):
            yield from _rows(child)
        elif child.tag == "tr":
            yield [cell for cell in _children(child) if cell.tag in ("td", "th")]


def _header_count(rows: list[list[Any]]) -> int:
    """How many rows at the top are header: those in ``thead``, else a first row of nothing but ``th``."""
    count = 0
    for cells in rows:
        if not cells or cells[0].parent.parent.tag != "thead":
            break
        count += 1
    if not count and len(rows) > 1 and rows[0] and all(cell.tag == "th" for cell in rows[0]):
        count = 1
    return count if count < len(rows) or count == 1 else 0


def _span(cell: Any, name: str) -> int:
    value = cell.attributes.get(name) or "1"
    return min(_MAX_SPAN, max(1, int(value))) if value.isdecimal() and len(value) < 10 else 1


def _grid(rows: list[list[Any]]) -> list[tuple[str, ...]]:
    grid: list[tuple[str, ...]] = []
    below: dict[int, int] = {}  # column -> rows still covered by a cell above
    total = 0
    for cells in rows:
        line: list[str] = []
        for cell in cells:
            while below.get(len(line), 0) > 0:
                below[len(line)] -= 1
                line.append("")
            wide, high = (_span(cell, "colspan"), _span(cell, "rowspan")) if total < _MAX_CELLS else (1, 1)
            for offset in range(wide):
                if high > 1:
                    below[len(line)] = high - 1
                line.append(cell_text(cell) if offset == 0 else "")
        while below.get(len(line), 0) > 0:
            below[len(line)] -= 1
            line.append("")
        total += len(line)
        grid.append(tuple(line))
    return grid
