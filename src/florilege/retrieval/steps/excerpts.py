"""Choosing which stretches of a text to keep, within a number of tokens."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from florilege.retrieval.passages.similarity import analyzer
from florilege.text.ruler import Ruler
from florilege.text.sentences import sentence_spans
from florilege.text.tokens import Tokenizer

GAP = " […] "
"""What stands between two excerpts that do not touch."""

_NEIGHBOUR = 0.3  # share of a neighbouring sentence's weight, so that an answer keeps what leads to it
_LEAST_CHARS = 48  # a shorter piece of a sentence says nothing

Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stretch of a text that may be kept, and how much it says about the question."""

    start: int
    end: int
    weight: float


def sentences(text: str) -> list[Stretch]:
    """The sentences of ``text``, without the space around them."""
    found = []
    for start, end in sentence_spans(text):
        piece = text[start:end]
        lead = len(piece) - len(piece.lstrip())
        if piece.strip():
            found.append((start + lead, start + len(piece.rstrip())))
    return found


class Relevance:
    """How much sentences say about a question: the summed rarity of the distinct question terms they hold.

    Rarity is log(1 + N / df) over ``texts``; neighbours share some of their weight.
    """

    def __init__(self, query: str, texts: Iterable[str]) -> None:
        self._wanted = frozenset(analyzer().query_terms(query))
        own = [self._wanted.intersection(analyzer().analyze(text)) for text in texts]
        frequency = Counter(term for terms in own for term in terms)
        self._rarity = {term: math.log(1 + len(own) / count) for term, count in frequency.items()}

    def candidates(self, text: str) -> list[Candidate]:
        """The sentences of one of the texts with their weights, in order."""
        found = sentences(text)
        terms = [self._wanted.intersection(analyzer().analyze(text[start:end])) for start, end in found]
        own = [math.fsum(sorted(self._rarity[term] for term in held)) for held in terms]
        around = [0.0, *own, 0.0]
        return [
            Candidate(start, end, weight + _NEIGHBOUR * max(around[at], around[at + 2]))
            for at, ((start, end), weight) in enumerate(zip(found, own, strict=True))
        ]


def measured(text: str, candidates: Iterable[Candidate], counter: Tokenizer) -> list[tuple[Candidate, int]]:
    """The candidates with the tokens each costs, the weightiest first."""
    ruler = Ruler(text, counter)
    costs = [(item, ruler.count(item.start, item.end) + 1) for item in candidates]
    return sorted(costs, key=lambda pair: (-pair[0].weight, pair[0].start))


def choose(
    text: str,
    candidates: Sequence[tuple[Candidate, int]],
    room: int,
    counter: Tokenizer,
    shrink: Callable[[Stretch, int], Stretch],
) -> list[Stretch]:
    """The stretches to keep in ``room`` tokens, in text order: of :func:`measured` candidates as many as fit.

    When not even the weightiest fits, ``shrink(stretch, max_chars)`` gives the best part of it.
    """
    gap = counter.count(GAP)
    taken: list[Candidate] = []
    left = room
    for item, cost in candidates:
        if cost + gap <= left:
            taken.append(item)
            left -= cost + gap
    while taken:
        kept = _merged(text, [(item.start, item.end) for item in taken])
        if counter.count(assembled(text, kept)) <= room:
            return kept
        taken.pop()
    return _part(text, (candidates[0][0].start, candidates[0][0].end), room, counter, shrink) if candidates else []


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
