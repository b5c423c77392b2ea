"""Where a Markdown text may be cut: before sections, between blocks, and inside blocks by their kind."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping

from florilege.split.boundaries import Level
from florilege.split.delimiters import Delimiters, Marks, SentenceUnits, Spaces
from florilege.split.markdown.outline import HeadingMark, Outline, Region
from florilege.split.markdown.tables import CELL_GAP, Rewritten

_GAP = 99  # white space behind a heading beyond which what follows stands alone
_INK = re.compile(r"\S")
_SENTENCES = SentenceUnits()
_BLANK_LINES = Delimiters(("\n\n", "\n\r\n", "\n \n"))
_ITEMS = Delimiters(("\n- ", "\n* ", "\n+ "), "next")
_LINES = Delimiters(("\n",))
_CELLS = Delimiters((CELL_GAP, "| "))
_WORDS = Spaces()


class Layout:
    """The outline of a source, placed in the text made of it."""

    def __init__(self, made: Rewritten, outline: Outline) -> None:
        self.text = made.text
        self.rows_are_lines = bool(made.stretches)
        self.headings = outline.headings
        self.regions = outline.regions
        if made.stretches:
            place, place_end = made.place, made.place_end
            self.headings = [HeadingMark(place(h[0]), place(h[1]), h[2], h[3], h[4]) for h in outline.headings]
            self.regions = [Region(r[0], place(r[1]), place_end(r[2]), r[3], r[4]) for r in outline.regions]
        self.heading_starts = [heading.start for heading in self.headings]
        self.heading_ends = [heading.end for heading in self.headings]
        self.starts = [region.start for region in self.regions]
        self._trails: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def region(self, index: int) -> Region | None:
        """The region around ``index``, if any."""
        at = bisect_right(self.starts, index) - 1
        return self.regions[at] if at >= 0 and index < self.regions[at].end else None

    def behind_heading(self, index: int) -> bool:
        """Whether nothing but white space lies between a heading and ``index``."""
        at = bisect_right(self.heading_ends, index) - 1
        if at < 0 or index - self.heading_ends[at] > _GAP:
            return False
        return not self.text[self.heading_ends[at] : index].strip()

    def levels(self) -> list[Level]:
        """Sections by depth, blocks, and the insides of blocks. No unit ends right behind a heading."""
        loose = [heading for heading in self.headings if not self.behind_heading(heading.start)]
        depths = sorted({heading.level for heading in loose})
        rows: Level = _LINES
        if not self.rows_are_lines:
            rows = Marks([row.start for region in self.regions for row in region.rows])
        return [
            *(Marks([heading.start for heading in loose if heading.level <= depth]) for depth in depths),
            _Blocks(self),
            _Inside(self, {"table": rows, "fence": _BLANK_LINES, "diagram": _BLANK_LINES}, _ITEMS),
            _Inside(self, {"table": _CELLS, "fence": _LINES, "diagram": _LINES}, _SENTENCES),
            _LINES,
            _WORDS,
        ]

    def place(self, start: int) -> tuple[int, bool]:
        """The number of the last heading that begins up to the first character behind ``start`` (-1: none), and
        whether it begins right there."""
        place = start
        if self.text[start : start + 1].isspace():
            ink = _INK.search(self.text, start)
            place = ink.start() if ink else start
        number = bisect_right(self.heading_starts, place) - 1
        return number, number >= 0 and self.heading_starts[number] >= start

    def trail(self, number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Down to a heading and with it: the headings as Markdown lines, and their titles."""
        if number < 0:
            return (), ()
        found = self._trails.get(number)
        if found is None:
            heading = self.headings[number]
            lines, titles = self.trail(heading.parent)
            found = (*lines, f"{'#' * heading.level} {heading.title}"), (*titles, heading.title)
            self._trails[number] = found
        return found

    def path(self, start: int, end: int) -> tuple[str, ...]:
        """The titles above the first thing in the span that is no heading, or of the last heading in it."""
        number, inside = self.place(start)
        while inside and number + 1 < len(self.headings) and self.heading_starts[number + 1] < end:
            if not self.behind_heading(self.heading_starts[number + 1]):
                break
            number += 1
        return self.trail(number)[1]


class _Blocks:
    """Blocks: what blank lines part, and whole regions."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        layout = self._layout
        while high > low:
            at = bisect_right(layout.starts, high) - 1
            found = _BLANK_LINES.last(text, low, high)
            if at >= 0:
                _, start, end, _, _ = layout.regions[at]
                if found < end:
                    found = end + 1 if end + 1 <= high and found < end else start
            if found <= low:
                return -1
            if not layout.behind_heading(found):
                return found
            high = found - 1
        return -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        layout = self._layout
        while low < high:
            found = _BLANK_LINES.first(text, low, high)
            at = bisect_right(layout.starts, low) - 1
            inside = at >= 0 and low <= layout.regions[at].end
            if inside:
                found = layout.regions[at].end + 1
            elif at + 1 < len(layout.starts) and (found < 0 or layout.starts[at + 1] < found):
                found = layout.starts[at + 1]
            if found < 0 or found >= high:
                return -1
            if not layout.behind_heading(found):
                return found
            low = found + 1
        return -1


class _Inside:
    """A level of the insides of blocks, by the kind of region."""

    def __init__(self, layout: Layout, levels: Mapping[str, Level], prose: Level) -> None:
        self._layout = layout
        self._levels = levels
        self._prose = prose

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        return self._level(high - 1).last(text, low, high)

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        return self._level(low).first(text, low, high)

    def _level(self, index: int) -> Level:
        region = self._layout.region(index)
        return self._levels.get(region.kind, _LINES) if region else self._prose
