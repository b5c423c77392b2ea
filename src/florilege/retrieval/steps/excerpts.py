"""Choosing which stretches of a text to keep, within a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from florilege.retrieval.passages.relevance import Candidate, Stretch
from florilege.text.tokens import Tokenizer

GAP = " […] "
"""What stands between two excerpts that do not touch."""

_LEAST_CHARS = 48  # a shorter piece of a sentence says nothing


def choose(
    text: str,
    candidates: Sequence[tuple[Candidate, int]],
    room: int,
    counter: Tokenizer,
    shrink: Callable[[Stretch, int], Stretch],
) -> list[Stretch]:
    """The stretches to keep in ``room`` tokens, in text order: of candidates with their costs, the weightiest first, as
    many as fit.

    When not even the weightiest fits, ``shrink(stretch, max_chars)`` gives the best part of it.
    """
    gap = counter.count(GAP)
    taken: list[Stretch] = []
    left = room
    for (start, end, _), cost in candidates:
        if cost + gap <= left:
            taken.append((start, end))
            left -= cost + gap
    while taken:
        kept = _merged(text, taken)
        if counter.count(assembled(text, kept)) <= room:
            return kept
        taken.pop()
    return _part(text, candidates[0][0][:2], room, counter, shrink) if candidates else []


def assembled(text: str, stretches: Sequence[Stretch]) -> str:
    """The kept stretches in one, gaps marked."""
    return GAP.join([text[start:end] for start, end in stretches])


def _merged(text: str, stretches: Sequence[Stretch]) -> list[Stretch]:
    """In order, those with nothing but space between them run together."""
    found: list[Stretch] = []
    for start, end in sorted(stretches):
        if found and (start <= found[-1][1] or text[found[-1][1] : start].isspace()):
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _part(
    text: str, stretch: Stretch, room: int, counter: Tokenizer, shrink: Callable[[Stretch, int], Stretch]
) -> list[Stretch]:
    size = stretch[1] - stretch[0]
    while size >= _LEAST_CHARS:
        start, end = shrink(stretch, size)
        if start < end and counter.count(text[start:end]) <= room:
            return [(start, end)]
        size = size * 3 // 4
    return []
