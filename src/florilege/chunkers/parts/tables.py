"""Tables cut between rows, each window under the table's header.

The first window is a slice of the document, later ones repeat the header and say so (``derived``). Windows shrink until
they fit; a row too long for a window is told cell by cell under its column names, empty cells included.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from florilege.chunkers.parts.passages import Passages
from florilege.model.chunk import Chunk
from florilege.model.document import Part
from florilege.split.boundaries import first_ink, trimmed
from florilege.split.characters import spans
from florilege.text.graphemes import boundary_before

_RANGE = re.compile(r"([A-Za-z]+)(\d+):([A-Za-z]+)(\d+)$")

Slice = tuple[int, int]


class _Window(NamedTuple):
    """Rows [first, past) of a table as text; ``cells`` are the columns [first, past) when not all are there."""

    content: str
    sources: tuple[Slice, ...]
    rows: Slice
    cells: Slice | None = None
    derived: bool = False


def table_chunks(passages: Passages, rows_per_chunk: int | None, stops: Sequence[int] = ()) -> list[Chunk]:
    """The chunks of a run that is one table, with the headings above it.

    No window crosses the row numbers ``stops``. A table whose rows cannot be found in its text is cut as lines.
    """
    run, content, room = passages.run, passages.document.content, passages.context.room
    part = run.parts[-1]
    rows = row_slices(part)
    if not rows:
        return passages.exact(spans(content, run.start, run.end, room))
    cutter = _Cutter(content, part, (run.start, run.end), rows, room, rows_per_chunk, stops)
    return [_chunk(passages, part, window) for window in cutter.windows()]


def row_slices(part: Part) -> list[Slice]:
    """Where each row of ``part`` stands in the document: as the reader says, else one line a row from the end."""
    if len(part.row_spans) == len(part.rows):
        return [(span.start, span.end) for span in part.row_spans]
    found: list[Slice] = []
    end = len(part.text)
    for _ in part.rows:
        end = trimmed(part.text, 0, end)
        if not end:
            return []
        start = part.text.rfind("\n", 0, end) + 1
        found.append((part.span.start + start, part.span.start + end))
        end = start
    return found[::-1]


class _Cutter:
    """One table being cut: ``head`` is its header as a slice, ``edges`` what its windows must cover."""

    def __init__(
        self,
        text: str,
        part: Part,
        edges: Slice,
        rows: list[Slice],
        room: int,
        rows_per_chunk: int | None,
        stops: Sequence[int],
    ) -> None:
        self.text = text
        self.part = part
        self.rows = rows
        self.room = room
        self.limit = rows_per_chunk or len(rows)
        self.stops = [*stops, len(rows)]
        self.shown_bottom = False
        self.top = first_ink(text, edges[0], rows[0][0])
        self.bottom = trimmed(text, rows[-1][1], edges[1])
        self.head = (first_ink(text, part.span.start, rows[0][0]), trimmed(text, part.span.start, rows[0][0]))
        self.header = text[slice(*self.head)]

    def windows(self) -> Iterator[_Window]:
        """The windows in order."""
        past = self._fill(0, self.top, 0)
        if past:
            end = self._end(past, self.top, 0)
            if self.text[self.top : end].strip():
                yield self._verbatim(self.top, end, (0, past))
        else:
            yield from self._plain(self.top, self.rows[0][0], 0)
        cost = len(self.header) + 1 if self.header else 0
        while past < len(self.rows):
            first, begin = past, self.rows[past][0]
            past = self._fill(first, begin, cost)
            if past == first:
                yield from self._by_cells(first)
                past += 1
                continue
            body = (begin, self._end(past, begin, cost))
            if not self.text[slice(*body)].strip():
                continue  # rows of empty cells, written as empty lines
            if cost:
                content = f"{self.header}\n{self.text[slice(*body)]}"
                yield _Window(content, (self.head, body), (first, past), derived=True)
            else:
                yield self._verbatim(*body, (first, past))
        if self.bottom > self.rows[-1][1] and not self.shown_bottom:
            yield from self._plain(self.rows[-1][1], self.bottom, len(self.rows))

    def _fill(self, first: int, begin: int, cost: int) -> int:
        """Past how many rows a window can reach that starts at ``begin`` and has spent ``cost``."""
        past = first
        most = min(first + self.limit, self.stops[bisect_right(self.stops, first)])
        while past < most and cost + self.rows[past][1] - begin <= self.room:
            past += 1
        return past

    def _end(self, past: int, begin: int, cost: int) -> int:
        """Where a window's slice ends: with its last row, or with the text under the table when that still fits."""
        if past == len(self.rows) and cost + self.bottom - begin <= self.room:
            self.shown_bottom = True
            return self.bottom
        return self.rows[past - 1][1]

    def _verbatim(self, begin: int, end: int, rows: Slice) -> _Window:
        return _Window(self.text[begin:end], ((begin, end),), rows)

    def _plain(self, begin: int, end: int, row: int) -> Iterator[_Window]:
        """Text above or below the rows that no window has room for."""
        for piece in spans(self.text, begin, end, self.room):
            yield self._verbatim(*piece, (row, row))

    def _by_cells(self, row: int) -> Iterator[_Window]:
        """One row as lines of ``column: value``, packed; a long value in several lines under the same name.

        The windows' slices meet, so that together they are the whole row.
        """
        start, end = self.rows[row]
        lines: list[str] = []
        length = first = 0
        at = start
        for column, line, past in self._cell_lines(row):
            if lines and length + len(line) > self.room:
                yield self._lines(lines, (start, at), row, (first, max(column, first + 1)))
                lines, length, first, start = [], 0, column, at
            lines.append(line)
            length += len(line) + 1
            at = max(at, past)
        if lines:
            yield self._lines(lines, (start, end), row, (first, len(self.part.rows[row])))
        else:  # empty cells, and no room for the names of their columns
            yield from self._plain(start, end, row)

    def _lines(self, lines: list[str], source: Slice, row: int, cells: Slice) -> _Window:
        sources = (self.head, source) if self.header else (source,)
        return _Window("\n".join(lines), sources, (row, row + 1), cells, True)

    def _cell_lines(self, row: int) -> Iterator[tuple[int, str, int]]:
        """Each line of a row told by cells: its column, its text, and how far into the document it has come."""
        start, end = self.rows[row]
        for column, value in enumerate(self.part.rows[row]):
            name = self._name(column)
            at = self.text.find(value, start, end)
            start = max(start, at + len(value)) if at >= 0 else start
            if not value.strip() and name:
                yield column, name.rstrip(), start
            for low, high in spans(value, 0, len(value), self.room - len(name)):
                yield column, name + value[low:high], at + high if at >= 0 else end

    def _name(self, column: int) -> str:
        """A column's name with a colon, in at most a quarter of the room."""
        names: Sequence[str] = self.part.columns
        name = " ".join(names[column].split()) if column < len(names) else ""
        most = self.room // 4 - 2
        if len(name) > most:
            name = name[: boundary_before(name, most - 1, 0)] + "…" if most > 1 else ""
        return f"{name}: " if name else ""


def _chunk(passages: Passages, part: Part, window: _Window) -> Chunk:
    ranges = (_cell_range(part, window),) if window.rows[1] > window.rows[0] else ()
    return passages.made(window.content, window.sources, derived=window.derived, cell_ranges=ranges)


def _cell_range(part: Part, window: _Window) -> str:
    """The rows of a window: as cells of the sheet when the table says where it stands, else by number from 1."""
    first, past = window.rows
    found = _RANGE.match(part.cell_range or "")
    above = int(found[4]) - int(found[2]) + 1 - len(part.rows) if found else -1
    if found is None or above < 0:
        return part.cell_range or f"rows={first + 1}-{past}"
    left, right, top = found[1], found[3], int(found[2]) + above
    if window.cells is not None:
        base = _number(left)
        left, right = _letters(base + window.cells[0]), _letters(base + window.cells[1] - 1)
    return f"{left}{top + first}:{right}{top + past - 1}"


def _number(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
