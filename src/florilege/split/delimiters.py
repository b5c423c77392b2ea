"""Units that end behind (or before) given delimiters or white space: the levels of the token splitters.

Unlike the units of :mod:`florilege.split.boundaries`, these lie end to end: a delimiter belongs to the unit before it,
or with ``include="next"`` to the one after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from florilege.split.boundaries import Level
from florilege.text.sentences import last_sentence_end, sentence_ends

Include = Literal["prev", "next"]

_STRETCH = 512
_CHAIN = 48
_SPACE = re.compile(r"\s")
_INK = re.compile(r"\S")
_RARE_SPACES = "\t\r\x0b\x0c\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class Delimiters:
    """Units that end at every occurrence of one of ``delimiters``."""

    def __init__(self, delimiters: Sequence[str], include: Include = "prev") -> None:
        self._delimiters = [(delimiter, len(delimiter)) for delimiter in delimiters]
        self._before = include == "next"

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        best = low
        for delimiter, length in self._delimiters:
            if self._before:
                best = max(best, text.rfind(delimiter, best + 1, high + length))
            else:
                found = text.rfind(delimiter, max(0, best + 1 - length), high)
                if found >= 0:
                    best = found + length
        return best if best > low else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`: looks in stretches, so a delimiter far off costs little."""
        stretch = _STRETCH
        while low < high:
            stop = min(low + stretch, high)
            best = stop
            for delimiter, length in self._delimiters:
                if self._before:
                    found = text.find(delimiter, low, best - 1 + length)
                else:
                    found = text.find(delimiter, max(0, low - length), best - 1)
                    found += length if found >= 0 else 0
                if found >= low:
                    best = min(best, found)
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
        shift = 0 if self._before else 1
        found = max(
            text.rfind(" ", low + 1 - shift, high + 1 - shift), text.rfind("\n", low + 1 - shift, high + 1 - shift)
        )
        if found < 0:
            found = max(text.rfind(space, low + 1 - shift, high + 1 - shift) for space in _RARE_SPACES)
        if found < 0:
            return -1
        if self._before:
            found = low + len(text[low:found].rstrip())
        return found + shift if found + shift > low else -1

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


class Merged:
    """Units of another level, short ones joined to what follows until they have ``least`` characters."""

    def __init__(self, level: Level, least: int) -> None:
        self._level = level
        self._least = least

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`; ``low`` is taken to be the start of a unit.

        An end at least ``least`` characters behind the one before it is an end however the units before it were
        joined; from the last such end on they are joined again.
        """
        end = self._level.last(text, low, high)
        ends = []
        while end > low:
            ends.append(end)
            before = self._level.last(text, max(low, end - self._least), end - 1)
            if before < 0 or len(ends) > _CHAIN:
                break
            end = before
        if not ends:
            return -1
        unit = low if ends[-1] - low < self._least else ends.pop()
        for end in reversed(ends):
            if end - unit >= self._least:
                unit = end
        return unit if unit > low else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        return self._level.first(text, low, high)


def units(level: Level, text: str, least: int = 1) -> Iterator[tuple[int, int]]:
    """The units of the whole text, end to end, none (but the last) shorter than ``least``."""
    start = 0
    while start < len(text):
        end = level.first(text, start + least, len(text))
        if end < 0:
            end = len(text)
        yield start, end
        start = end
