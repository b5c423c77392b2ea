"""The one algorithm behind the token splitters: pack whole units, and open only the one that does not fit.

At each place the furthest index that the size allows is looked up, and the last unit end before it is taken. A unit
that reaches beyond is cut into the units of the next finer level, and so on down to grapheme clusters; then packing
goes on with the coarser units behind it. Only the window between a piece's start and its reach is looked at, so time is
linear in the text whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from florilege.split.boundaries import Level
from florilege.text.graphemes import boundary_after, boundary_before, is_boundary
from florilege.text.ruler import Ruler

GAP = "\n\n"
"""What stands between a piece's context and its text, and counts."""

_TRIES = 8
_INK = re.compile(r"\S")


class Span(NamedTuple):
    """A piece to be: its place, the level it was cut at (0 the coarsest) and its tokens."""

    start: int
    end: int
    level: int
    tokens: int


class Context(NamedTuple):
    """What stands before a piece, and the tokens it takes with the blank line behind it."""

    text: str = ""
    tokens: int = 0


class Packer:
    """Cuts one text. ``size`` is in tokens, and hard but for one code point that alone exceeds it.

    A piece begins at most ``overlap`` tokens before the end of the one before it, at a unit's start. Units shorter than
    ``least`` characters go with their neighbours where the size allows. ``context(start)`` is what will stand before a
    piece that starts there; it counts, and must leave room. ``whole(start, end)`` says of a unit that does not fit that
    it is a piece all the same. ``trim`` leaves blank lines before a piece and white space behind it out.
    """

    def __init__(
        self,
        text: str,
        ruler: Ruler,
        levels: Sequence[Level],
        size: int,
        *,
        overlap: int = 0,
        least: int = 1,
        context: Callable[[int], Context] | None = None,
        whole: Callable[[int, int], bool] | None = None,
        trim: bool = False,
    ) -> None:
        self._text = text
        self._ruler = ruler
        self._levels = levels
        self._size = size
        self._overlap = overlap
        self._least = least
        self._context = context
        self._whole = whole
        self._trim = trim
        self._led = (-1, Context())
        self._high = (-1, 0, 0)
        self._plain = text.isascii() and "\r" not in text
        self._reach, self._count = ruler.reach, ruler.count

    def spans(self, start: int = 0, end: int | None = None) -> Iterator[Span]:
        """The pieces of ``text[start:end]`` in order, end to end but for overlap and for blank ones, left out."""
        text = self._text
        end = len(text) if end is None else end
        fresh = start
        segments = [end]
        while fresh < end:
            stop, depth = segments[-1], len(segments) - 1
            if fresh >= stop:
                segments.pop()
                continue
            if self._trim and start == fresh and text[fresh].isspace():
                start = fresh = self._opening(fresh, stop)
                if fresh == stop:
                    continue
            span = self._piece(start, fresh, stop, depth)
            if span is None:
                unit = self._unit_end(fresh, stop, depth)
                closer = self._closer(start, fresh, unit) if start < fresh else start
                if self._whole and self._whole(fresh, unit):
                    edge = fresh + len(text[fresh:unit].rstrip()) if self._trim else unit
                    yield Span(fresh, edge, depth, self._full_count(fresh, edge))
                    start = fresh = unit
                elif closer > start:
                    start = closer
                elif depth < len(self._levels):
                    segments.append(unit)
                else:
                    start = fresh
                continue
            if not text[fresh].isspace() or not text[fresh : span.end].isspace():
                yield span
            fresh = span.end
            start = self._resume(span.start, fresh, self._overlap) if self._overlap and fresh < end else fresh

    def _piece(self, start: int, fresh: int, stop: int, depth: int) -> Span | None:
        """The piece from ``start`` that ends beyond ``fresh``; None where not one unit of this level fits."""
        text = self._text
        bare = depth == len(self._levels)
        size = self._size
        room = size - self.lead(start).tokens if self._context else size
        while room > 0:
            if self._high[0] != start or self._high[1] != room:
                self._high = (start, room, self._reach(start, room))
            high = self._high[2]
            if high <= fresh:
                break
            if high >= stop:
                cut = stop
            elif bare:
                cut = boundary_before(text, high, fresh)
                if start < fresh and not is_boundary(text, cut, fresh):
                    return None
            elif (cut := self._last_end(fresh, high, stop, depth)) < 0:
                return None
            if self._trim and text[cut - 1].isspace() and (ink := len(text[fresh:cut].rstrip())):
                cut = fresh + ink
            tokens = self._full_count(start, cut) if self._context else self._count(start, cut)
            if tokens <= size:
                return Span(start, cut, depth, tokens)
            room -= tokens - size
        if not bare or start < fresh:
            return None
        return Span(start, start + 1, depth, self._full_count(start, start + 1))

    def _last_end(self, fresh: int, high: int, stop: int, depth: int) -> int:
        """The last unit end in (fresh, high] that leaves ``least`` characters on both sides, or -1."""
        last, text, least = self._levels[depth].last, self._text, self._least
        low = fresh + least - 1 if fresh + least <= high else fresh
        found = last(text, low, stop - least) if low < stop - least < high else -1
        if found < 0:
            found = last(text, low, high)
        if self._plain:
            return found
        for _ in range(_TRIES):
            if found < 0 or is_boundary(text, found, fresh):
                return found
            found = last(text, low, found - 1)
        return -1

    def _unit_end(self, fresh: int, stop: int, depth: int) -> int:
        """Where the unit at ``fresh`` ends, ``stop`` at the latest."""
        if depth == len(self._levels):
            return boundary_after(self._text, fresh + 1, fresh, stop)
        low = fresh + self._least
        for _ in range(_TRIES):
            found = self._levels[depth].first(self._text, low, stop)
            if found < 0:
                break
            if self._plain or is_boundary(self._text, found, fresh):
                return found
            low = found + 1
        return stop

    def _closer(self, start: int, fresh: int, unit: int) -> int:
        """A later start, with less overlap, for a unit that fits a piece but not beside this overlap."""
        room = self._size - self.lead(fresh).tokens
        if self._ruler.reach(fresh, room) < unit or (rest := room - self._ruler.count(fresh, unit)) < 0:
            return start
        closer = self._resume(start, fresh, rest) if rest else fresh
        return closer if closer > start else fresh

    def _resume(self, floor: int, end: int, overlap: int) -> int:
        """Where the piece behind ``end`` starts: at the coarsest unit's start in the ``overlap`` tokens before it."""
        text = self._text
        low = self._ruler.back(end, overlap, floor + 1)
        for level in self._levels:
            found = level.first(text, low, end)
            for _ in range(_TRIES):
                if found < 0:
                    break
                if is_boundary(text, found, floor) and self._ruler.count(found, end) <= overlap:
                    return found
                found = level.first(text, found + 1, end)
        for _ in range(_TRIES):
            low = boundary_after(text, low, floor, end)
            if low >= end or self._ruler.count(low, end) <= overlap:
                break
            low += 1
        return low if self._ruler.count(low, end) <= overlap else end

    def _opening(self, fresh: int, stop: int) -> int:
        """Where the first line with ink begins, ``stop`` when there is none."""
        ink = _INK.search(self._text, fresh, stop)
        if ink is None:
            return stop
        line = self._text.rfind("\n", fresh, ink.start()) + 1
        return line or (fresh if fresh == 0 or self._text[fresh - 1] == "\n" else ink.start())

    def lead(self, start: int) -> Context:
        """The context of a piece that starts here."""
        if self._context is None:
            return Context()
        if self._led[0] != start:
            self._led = (start, self._context(start))
        return self._led[1]

    def _full_count(self, start: int, end: int) -> int:
        context = self.lead(start)
        tokenizer = self._ruler.tokenizer
        if context.text and not tokenizer.parts("\n" + self._text[start], 1):
            return tokenizer.count(context.text + GAP + self._text[start:end])
        return context.tokens + self._ruler.count(start, end)
