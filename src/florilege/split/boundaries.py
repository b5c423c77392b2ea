"""Where text may be cut, asked only inside a window.

A level is one kind of unit (paragraph, sentence, line, word). It answers two questions about a range of a text: where
the last unit ends, and where the first one ends. An end stands right behind the unit's last character, before the
white space that follows. Answers come from ``str.rfind`` and from patterns over short stretches, never from a pass
over the whole text.
"""

from __future__ import annotations

import re
from typing import Protocol

from florilege.text.sentences import full_stop_ends, last_sentence_end, sentence_ends

_INK = re.compile(r"\S")
_SPACE = re.compile(r"\s")
_BLANKS = ("\n\n", "\n\r\n", "\n \n", "\n\t\n")
MARKS = (". ", "? ", "! ", ".\n", "?\n", "!\n")
_WIDE_MARKS = ("。", "！", "？", "।")
_WIDE_CLOSERS = "”’」』）】》"
CLOSED_MARKS = ('."', ".)", '?"', '!"', ".'")


def first_ink(text: str, start: int, end: int) -> int:
    """The index of the first character in the range that is not white space, or ``end``."""
    if start < end and not text[start].isspace():
        return start
    found = _INK.search(text, start, end)
    return found.start() if found else end


def trimmed(text: str, start: int, end: int) -> int:
    """``end`` moved back over white space, not beyond ``start``."""
    if end > start and text[end - 1].isspace():
        return start + len(text[start:end].rstrip())
    return end


class Level(Protocol):
    """One kind of unit."""

    def last(self, text: str, low: int, high: int) -> int:
        """The greatest unit end in (low, high] with ink between it and ``low``, or -1."""
        ...

    def first(self, text: str, low: int, high: int) -> int:
        """The least unit end in [low, high), or -1."""
        ...


class Paragraphs:
    """Units parted by blank lines."""

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`Level`."""
        for blank in _BLANKS if text.isascii() else (*_BLANKS, "\u2029"):
            found = text.rfind(blank, low, high + len(blank))
            if found > low:
                found = trimmed(text, low, found)
                if found > low:
                    return found
        return -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`Level`."""
        for blank in _BLANKS[:2]:
            found = text.find(blank, low, high + len(blank) - 1)
            if found >= 0:
                return found
        return -1


class CodeBlocks(Paragraphs):
    """Blank lines before a line that is not indented: between definitions, not inside one."""

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`Level`."""
        found = super().last(text, low, high)
        while found > low:
            ink = first_ink(text, found, len(text))
            if ink == len(text) or text[ink - 1] == "\n":
                return found
            found = super().last(text, low, found - 1)
        return -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`Level`."""
        found = super().first(text, low, high)
        while found >= 0:
            ink = first_ink(text, found, len(text))
            if ink == len(text) or text[ink - 1] == "\n":
                return found
            found = super().first(text, ink, high)
        return -1


class Sentences:
    """Sentences, as :mod:`florilege.text.sentences` knows them.

    The marks that end most sentences are looked for first; only a window of another script without any is read whole.
    """

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`Level`."""
        plain = text.isascii() or text[low : high + 1].isascii()
        best = low
        for mark in MARKS if plain else _WIDE_MARKS + MARKS:
            found = text.rfind(mark, best, high + len(mark) - 1)
            while found > best and mark[0] == "." and not full_stop_ends(text, found):
                found = text.rfind(mark, best, found)
            best = max(best, found)
        if best > low:
            return min(high, _past_closers(text, best + 1))
        found = self._last_closed(text, low, high) if plain else last_sentence_end(text, low, high)
        return found if found > low else -1

    def _last_closed(self, text: str, low: int, high: int) -> int:
        best = low
        for mark in CLOSED_MARKS:
            found = text.rfind(mark, best, high)
            if found > best and text[found + 2 : found + 3].isspace():
                best = found
        return best + 2 if best > low else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`Level`."""
        plain = text.isascii() or text[low:high].isascii()
        best = high
        for mark in MARKS if plain else _WIDE_MARKS + MARKS:
            found = text.find(mark, low - 1 if low else 0, best)
            while found >= 0 and mark[0] == "." and not full_stop_ends(text, found):
                found = text.find(mark, found + 1, best)
            best = found if found >= 0 else best
        if best < high:
            return _past_closers(text, best + 1)
        if plain:
            return -1
        ends = sentence_ends(text, low, high - 1)
        return ends[0] if ends else -1


def _past_closers(text: str, at: int) -> int:
    while at < len(text) and text[at] in _WIDE_CLOSERS:
        at += 1
    return at


class Lines:
    """Units parted by line ends."""

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`Level`."""
        found = trimmed(text, low, text.rfind("\n", low, high + 1))
        return found if found > low else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`Level`."""
        return text.find("\n", low, high)


class Words:
    """Units parted by white space."""

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`Level`."""
        found = max(text.rfind(" ", low, high + 1), text.rfind("\n", low, high + 1))
        if found <= low and not text.isascii():
            found = max(text.rfind("\u3000", low, high + 1), text.rfind("\u00a0", low, high + 1))
        found = trimmed(text, low, found)
        return found if found > low else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`Level`."""
        found = _SPACE.search(text, low, high)
        return found.start() if found else -1


PARAGRAPHS = Paragraphs()
SENTENCES = Sentences()
LINES = Lines()
WORDS = Words()
PROSE: tuple[Level, ...] = (PARAGRAPHS, SENTENCES, LINES, WORDS)
CODE: tuple[Level, ...] = (CodeBlocks(), PARAGRAPHS, LINES, WORDS)
