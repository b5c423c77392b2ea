"""Units that end behind (or before) given delimiters or white space: the levels of the token splitters.

Unlike the units of :mod:`florilege.split.boundaries`, these lie end to end: a delimiter belongs to the unit before it,
or with ``include="next"`` to the one after it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal

from florilege.split.boundaries import Level
from florilege.text.sentences import last_sentence_end, sentence_ends

Include = Literal["prev", "next"]

_STRETCH = 512
_CHAIN = 16
_SPACE = re.compile(r"\s")
_INK = re.compile(r"\S")


class Delimiters:
    """Units that end at every occurrence of one of ``delimiters``."""

    def __init__(self, delimiters: Sequence[str], include: Include = "prev") -> None:
        # Each with its length and how far behind its first character the unit ends. A single character is found fastest
        # and leaves the others less to look through.
        self._delimiters = [
            (item, len(item), 0 if include == "next" else len(item)) for item in sorted(delimiters, key=len)
        ]
        self._ascii = [item for item in self._delimiters if item[0].isascii()]

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        best = low
        for delimiter, length, behind in self._ascii if text.isascii() else self._delimiters:
            least = best + 1 - behind
            found = text.rfind(delimiter, least if least > 0 else 0, high + length - behind)
            if found >= 0:
                best = found + behind
        return best if best > low else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`: looks in stretches, so a delimiter far off costs little."""
        stretch = _STRETCH
        while low < high:
            stop = min(low + stretch, high)
            best = stop
            for delimiter, length, behind in self._delimiters:
                found = text.find(delimiter, max(0, low - behind), best - 1 + length - behind)
                if found >= 0:
                    best = found + behind
            if best < stop:
                return best
            low = stop
            stretch *= 2
        return -1


class Spaces:
    """Words: units that end behind each white-space character, or before each run of them."""

    def __init__(self, include: Include = "prev") -> None:
        self._before = include == "next"

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        if low >= high:
            return -1
        if self._before:
            window = text[low : high + 1]
            rest = window.rstrip() if window[-1:].isspace() else window.rsplit(None, 1)[0]
            return low + len(rest) if 0 < len(rest) < len(window) else -1
        window = text[low:high]
        word = "" if window[-1:].isspace() else window.rsplit(None, 1)[-1]
        return high - len(word) if len(word) < len(window) else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        shift = 0 if self._before else 1
        found = _SPACE.search(text, max(0, low - shift), max(0, high - shift))
        return found.start() + shift if found else -1


class SentenceUnits:
    """Sentences as :mod:`florilege.text.sentences` knows them, each with the white space that follows it."""

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        end = last_sentence_end(text, low, high)
        return self._after(text, end, high) if end > low else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        stretch = _STRETCH
        while low < high:
            stop = min(low + stretch, high)
            for end in sentence_ends(text, max(0, low - 1), stop - 1):
                after = self._after(text, end, high)
                if low <= after < high:
                    return after
            low = stop
            stretch *= 2
        return -1

    @staticmethod
    def _after(text: str, end: int, high: int) -> int:
        ink = _INK.search(text, end, high)
        return ink.start() if ink else high


class Marks:
    """A level whose units begin at given places."""

    def __init__(self, places: Sequence[int]) -> None:
        self._places = places

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        at = bisect_right(self._places, high)
        return self._places[at - 1] if at and self._places[at - 1] > low else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        at = bisect_left(self._places, low)
        return self._places[at] if at < len(self._places) and self._places[at] < high else -1


class Merged:
    """Units of another level, short ones joined to what follows until they have ``least`` characters.

    A blank unit (an empty line) belongs to the one before it.
    """

    def __init__(self, level: Level, least: int) -> None:
        self._level = level
        self._least = least

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`; ``low`` is taken to be the start of a unit.

        An end at least ``least`` characters behind the one before it is an end however the units before it were
        joined; from the last such end on they are joined again.
        """
        ends = []
        end = self._level.last(text, low, high)
        while end > low:
            ends.append(end)
            near = max(low, end - self._least)
            ink = near + len(text[near:end].rstrip())
            end = self._level.last(text, near, ink) if len(ends) < _CHAIN else -1
        if not ends:
            return -1
        unit = low if ends[-1] - low < self._least else ends.pop()
        for end in reversed(ends):
            if end - unit >= self._least:
                unit = end
        return unit if unit > low else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        end = self._level.first(text, low, high)
        if end < 0 or not text[end].isspace():
            return end
        ink = _INK.search(text, end, high)
        return max(end, self._level.last(text, end, ink.start() if ink else high - 1))

    def units(self, text: str) -> Iterator[tuple[int, int]]:
        """The units of the whole text, end to end."""
        start = 0
        while start < len(text):
            end = self.first(text, start + self._least, len(text))
            if end < 0:
                end = len(text)
            yield start, end
            start = end
