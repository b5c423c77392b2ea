"""The levels of prose, asked all at once: what most windows of most texts need, at a fraction of the calls.

Answers are those of :data:`florilege.split.boundaries.PROSE`; -1 says that the levels themselves have to be asked. Good
only for text in which blank lines are two line ends in a row (see :func:`is_usual`).
"""

from __future__ import annotations

from florilege.split.boundaries import CLOSED_MARKS, MARKS, ends_sentence

_ODD_BLANKS = ("\r", "\n \n", "\n\t\n", "\u2029")


def is_usual(text: str, start: int, end: int) -> bool:
    """Whether every blank line in the range is two line ends in a row."""
    return not any(text.find(blank, start, end) >= 0 for blank in _ODD_BLANKS)


def usual_cut(text: str, start: int, low: int, high: int, end: int) -> int:
    """Where the piece that begins at ``start`` ends, in (low, high]: the last paragraph, sentence, line or word end
    that leaves it at least a quarter full.
    """
    size = high - start
    least = max(low, start + size // 4)
    found = text.rfind("\n\n", low, high + 2)
    if found > low:
        if found >= least:
            return found if _plain(text, found) else -1
        if end <= found + size or text.find("\n\n", high, found + size + 2) >= 0:
            return -1
    elif low > start and (end <= low + size or text.find("\n\n", high, low + size + 1) >= 0):
        return -1  # a paragraph would fit if the overlap gave way
    found = _last_sentence(text, least, high)
    if found < least:
        if not (text.isascii() or text[low : high + 1].isascii()):
            return -1
        found = text.rfind("\n", least, high + 1)
        if found <= least:
            found = text.rfind(" ", least, high + 1)
    return found if found > least and _plain(text, found) else -1


def _last_sentence(text: str, least: int, high: int) -> int:
    best = least
    for mark in MARKS:
        found = text.rfind(mark, best, high + 1)
        while found > best and mark[0] == "." and not ends_sentence(text, found):
            found = text.rfind(mark, best, found)
        if found > best:
            best = found
    if best > least:
        return best + 1
    for mark in CLOSED_MARKS:
        found = text.rfind(mark, best, high)
        if found > best and text[found + 2 : found + 3].isspace():
            best = found
    return best + 2 if best > least else -1


def usual_start(text: str, low: int, high: int) -> int:
    """The end before the first paragraph that starts in [low, high), else before the first sentence, line or word."""
    before = low - 1
    found = text.find("\n\n", before, high)
    if found >= 0:
        return found
    best = high - 1
    for mark in MARKS:
        found = text.find(mark, before, best)
        while found >= 0 and mark[0] == "." and not ends_sentence(text, found):
            found = text.find(mark, found + 1, best)
        if found >= 0:
            best = found
    if best < high - 1:
        return best + 1
    if not (text.isascii() or text[before:high].isascii()):
        return -1
    found = text.find("\n", before, high - 1)
    return found if found >= 0 else text.find(" ", before, high - 1)


def _plain(text: str, index: int) -> bool:
    """Whether the white space at ``index`` has ink before it that is plainly no part of a cluster with it."""
    return not text[index - 1].isspace() and (text[index - 1] < "\u0300" or text.isascii())
