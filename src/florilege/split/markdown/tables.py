"""Markdown tables as sentences of their cells, with the way back to the source."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from florilege.split.markdown.outline import Region

CELL_GAP = "; "


class Stretch(NamedTuple):
    """A stretch of a made text and the stretch of the source it came from; ``same``: they are equal."""

    start: int
    end: int
    source_start: int
    source_end: int
    same: bool


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text made from a source; without stretches it is the source."""

    text: str
    stretches: Sequence[Stretch] = ()
    _starts: list[int] = field(init=False, repr=False)
    _sources: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", [item.start for item in self.stretches])
        object.__setattr__(self, "_sources", [item.source_start for item in self.stretches])

    def source(self, start: int, end: int) -> tuple[int, int, bool]:
        """The span of the source that ``text[start:end]`` was made of, and whether the two are equal."""
        if not self.stretches:
            return start, end, True
        first = max(bisect_right(self._starts, start) - 1, 0)
        last = max(bisect_right(self._starts, max(start, end - 1)) - 1, first)
        head, tail = self.stretches[first], self.stretches[last]
        begin = head.source_start + (start - head.start if head.same else 0)
        stop = tail.source_start + end - tail.start if tail.same else tail.source_end
        return begin, stop, all(item.same for item in self.stretches[first : last + 1])

    def place(self, index: int) -> int:
        """Where the source's ``index`` is in the text."""
        if not self.stretches:
            return index
        stretch = self.stretches[max(bisect_right(self._sources, index) - 1, 0)]
        return stretch.start + index - stretch.source_start if stretch.same else stretch.start

    def place_end(self, index: int) -> int:
        """Where what ends at the source's ``index`` ends in the text."""
        if not self.stretches:
            return index
        stretch = self.stretches[max(bisect_right(self._sources, index - 1) - 1, 0)]
        return stretch.start + index - stretch.source_start if stretch.same else stretch.end


def rewrite_tables(text: str, regions: Iterable[Region]) -> Rewritten:
    """``text`` with the rows of each table of ``regions`` as numbered lines "1. Header: value; Header: value".

    Empty cells keep their column; a cell beyond the header is "Column n". A table without rows stays as it is.
    """
    parts: list[str] = []
    stretches: list[Stretch] = []
    length = done = 0

    def add(part: str, source_start: int, source_end: int, same: bool) -> None:
        nonlocal length
        if part:
            parts.append(part)
            stretches.append(Stretch(length, length + len(part), source_start, source_end, same))
            length += len(part)

    for region in regions:
        if region.header is None or not region.rows:
            continue
        add(text[done : region.start], done, region.start, True)
        done = region.start
        names = [f"{name or f'Column {number}'}: " for number, name in enumerate(region.header.cells, 1)]
        last, width = len(region.rows), len(names)
        for number, row in enumerate(region.rows, 1):
            cells = row.cells
            told = CELL_GAP.join(map(str.__add__, names, cells)) if len(cells) == width else _cells(names, cells)
            part = f"{number}. {told}\n" if number < last else f"{number}. {told}"
            after = length + len(part)
            parts.append(part)
            stretches.append(Stretch(length, after, done, row.end, False))
            length, done = after, row.end
        done = region.end
    if not stretches:
        return Rewritten(text)
    add(text[done:], done, len(text), True)
    return Rewritten("".join(parts), tuple(stretches))


def _cells(names: list[str], cells: tuple[str, ...]) -> str:
    if len(cells) < len(names):
        cells = (*cells, *[""] * (len(names) - len(cells)))
    elif len(cells) > len(names):
        names = [*names, *(f"Column {number}: " for number in range(len(names) + 1, len(cells) + 1))]
    return CELL_GAP.join(map(str.__add__, names, cells))
