"""The levels of prose, asked all at once: what most windows of most texts need, at a fraction of the calls.

Answers are those of :data:`florilege.split.boundaries.PROSE`; -1 says that the levels themselves have to be asked.
"""

from __future__ import annotations

import re

from florilege.split.boundaries import CLOSED_MARKS
from florilege.text.sentences import full_stop_ends

_MARK = re.compile(r"[.?!](?=[ \r\n])")
_OTHER_BLANKS = ("\n\r\n", "\n \n", "\n\t\n", "\u2029")


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
    elif text.find("\n", low, high) >= 0 and _holds_odd_blank(text, low, high):
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


def _holds_odd_blank(text: str, low: int, high: int) -> bool:
    for blank in _OTHER_BLANKS:  # noqa: SIM110 - a generator costs more than the searches
        if text.find(blank, low, high + 3) >= 0:
            return True
    return False


def _last_sentence(text: str, least: int, high: int) -> int:
    best = text.rfind(". ", least, high + 1)
    while best > least and not full_stop_ends(text, best):
        best = text.rfind(". ", least, best)
    best = max(best, least)
    found = _MARK.search(text, best + 1, high + 1)
    while found:
        at = found.start()
        if text[at] != "." or (text[at + 1] != " " and full_stop_ends(text, at)):  # ". " has been looked for
            best = at
        found = _MARK.search(text, at + 1, high + 1)
    if best > least:
        return best + 1
    for mark in CLOSED_MARKS:
        at = text.rfind(mark, best, high)
        if at > best and text[at + 2 : at + 3].isspace():
            best = at
    return best + 2 if best > least else -1


def usual_start(text: str, low: int, high: int) -> int:
    """The end before the first paragraph that starts in [low, high), else before the first sentence, line or word."""
    before = low - 1
    at = text.find("\n\n", before, high)
    if at >= 0:
        return at
    found = _MARK.search(text, before, high)
    while found:
        at = found.start()
        if text[at] != "." or full_stop_ends(text, at):
            return at + 1
        found = _MARK.search(text, at + 1, high)
    if not (text.isascii() or text[before:high].isascii()):
        return -1
    at = text.find("\n", before, high - 1)
    return at if at >= 0 else text.find(" ", before, high - 1)


def _plain(text: str, index: int) -> bool:
    """Whether the white space at ``index`` has ink before it that is plainly no part of a cluster with it."""
    return not text[index - 1].isspace() and (text[index - 1] < "\u0300" or text.isascii())
