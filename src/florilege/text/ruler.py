"""Token counts of slices of one text, mostly without counting.

A text is encoded once, in windows, and each window kept as one array: where its tokens end. How far so many tokens
reach is then one look into the array, and the count of a slice two binary searches, wherever its borders fall between
tokens that may be counted apart. Any other slice is counted for itself, so a count is always the tokenizer's own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from florilege.text.tokens import Bytes, Characters, Tokenizer

_WINDOW = 1 << 19
_GUESSES = 24
_NEAR = 48


class Ruler:
    """Measures slices of ``text`` in tokens of ``tokenizer``. Ask from left to right: only one window is kept."""

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self._text = text
        self.tokenizer = tokenizer
        self._whole = len(text)
        self._rate = 4.0
        self._space = tokenizer.count(" ")
        self._base = self._top = 0
        self._ends: Sequence[int] | None = ()
        self._move(0, _WINDOW)

    def _move(self, base: int, span: int) -> None:
        self._base = base
        self._top = min(base + span, self._whole)
        part = self._text if span >= self._whole and not base else self._text[base : self._top]
        self._part = part
        self._seam = -1, -1
        self._ends = self.tokenizer.ends(part)

    def reach(self, start: int, limit: int) -> int:
        """The index up to which about ``limit`` tokens from ``start`` on reach: an estimate, never before ``start``.

        Where borders fall between tokens it is exact.
        """
        if self._ends is None:
            return self._guess(start, limit)
        span = _WINDOW
        while True:
            if start >= self._base:
                last = bisect_right(self._ends, 2 * (start - self._base)) + limit - 1
                if last < len(self._ends):
                    return max(start, self._base + (self._ends[last] >> 1))
                if self._top == self._whole:
                    return self._whole
            span *= 2
            self._move(start, max(span, 8 * limit))
            if self._ends is None:
                return self._guess(start, limit)

    def back(self, end: int, limit: int, floor: int) -> int:
        """The index from which about ``limit`` tokens reach to ``end``, at least ``floor``."""
        if self._ends is None:
            return max(floor, end - int(limit * self._rate))
        first = bisect_left(self._ends, 2 * (end - self._base)) + 1 - limit
        if first <= 0:
            return max(floor, self._base)
        return max(floor, self._base + (self._ends[first - 1] + 1 >> 1))

    def count(self, start: int, end: int) -> int:
        """The tokens of ``text[start:end]``, exactly."""
        low, high = start - self._base, end - self._base
        if self._ends is None or low < 0 or end > self._top or low >= high:
            return self.tokenizer.count(self._text[start:end])
        first, head = self._seam[1] if self._seam[0] == low else self._joint(low), 0
        stop, tail = self._joint(high), 0
        self._seam = high, stop  # where the next slice begins, mostly
        if stop < 0:
            stop, tail = self._tail(low, high)
        if first < 0 <= stop:
            first, head = self._head(low, high)
        if first < 0 or stop < first:
            return self.tokenizer.count(self._text[start:end])
        return head + stop - first + tail

    def _joint(self, at: int) -> int:
        """How many tokens of the window end up to ``at``, when they may be counted apart from what follows; else -1."""
        ends = self._ends
        assert ends is not None
        if at in (0, len(self._part)):
            return len(ends) if at else 0
        number = bisect_right(ends, 2 * at)
        return number if number and ends[number - 1] == 2 * at and self.tokenizer.joins(self._part, at) else -1

    def _tail(self, low: int, high: int) -> tuple[int, int]:
        """Up to the last space before ``high`` the tokens of the window, and those of the rest; else -1."""
        ends, part = self._ends, self._part
        assert ends is not None
        space = part.rfind(" ", max(low + 1, high - _NEAR), high)
        if space < 0 or not self.tokenizer.parts(part, space):
            return -1, 0
        rest = self._space if space == high - 1 else self.tokenizer.count(part[space:high])
        return bisect_right(ends, 2 * space), rest

    def _head(self, low: int, high: int) -> tuple[int, int]:
        """Up to the first space behind ``low`` the tokens of the window, and those from ``low`` to it; else -1."""
        ends, part = self._ends, self._part
        assert ends is not None
        space = part.find(" ", low + 1, min(high, low + _NEAR))
        if space < 0 or not self.tokenizer.parts(part, space):
            return -1, 0
        return bisect_right(ends, 2 * space), self.tokenizer.count(part[low:space])

    def _guess(self, start: int, limit: int) -> int:
        """:meth:`reach` for a tokenizer that only counts: by the rate of characters a token so far, then corrected."""
        low, high = start, self._whole + 1
        guess = min(self._whole, start + max(1, int(limit * self._rate)))
        for _ in range(_GUESSES):
            count = self.tokenizer.count(self._text[start:guess])
            if count > limit:
                high = guess
            else:
                low = guess
                if guess == self._whole or count * 16 >= limit * 15:
                    break
            if high - low <= 1:
                break
            aim = start + (guess - start) * limit // max(count, 1)
            guess = min(max(aim if low < aim < high else (low + min(high, 4 * guess)) // 2, low + 1), high - 1)
        if low > start:
            self._rate = (low - start) / limit
        return low


class _Plain(Ruler):
    """A ruler for one token a character: plain arithmetic."""

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self._whole = len(text)
        self.tokenizer = tokenizer

    def reach(self, start: int, limit: int) -> int:
        """See :class:`Ruler`."""
        return min(start + limit, self._whole)

    def back(self, end: int, limit: int, floor: int) -> int:
        """See :class:`Ruler`."""
        return max(end - limit, floor)

    def count(self, start: int, end: int) -> int:
        """See :class:`Ruler`."""
        return end - start


def ruler(text: str, tokenizer: Tokenizer) -> Ruler:
    """The ruler for ``text`` in tokens of ``tokenizer``."""
    plain = type(tokenizer) is Characters or (type(tokenizer) is Bytes and text.isascii())
    return _Plain(text, tokenizer) if plain else Ruler(text, tokenizer)
