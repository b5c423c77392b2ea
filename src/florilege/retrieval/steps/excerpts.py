"""Choosing which stretches of a text to keep, within a number of tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from florilege.retrieval.passages.similarity import analyzer
from florilege.text.sentences import sentence_spans

GAP = " […] "
"""What stands between two excerpts that do not touch."""

_NEIGHBOUR = 0.3  # share of a neighbouring sentence's weight, so that an answer keeps what leads to it
_LEAST_CHARS = 24

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

    Rarity is log(1 + N / df) over the sentences of all ``texts``; neighbours share some of their weight.
    """

    def __init__(self, query: str, texts: Iterable[str]) -> None:
        self._wanted = frozenset(analyzer().query_terms(query))
        self._texts = {text: self._found(text) for text in dict.fromkeys(texts)}
        frequency: dict[str, int] = {}
        count = 0
        for found in self._texts.values():
            count += len(found)
            for _, terms in found:
                for term in terms:
                    frequency[term] = frequency.get(term, 0) + 1
        self._rarity = {term: math.log(1 + count / number) for term, number in frequency.items()}

    def _found(self, text: str) -> list[tuple[Stretch, frozenset[str]]]:
        return [
            ((start, end), self._wanted.intersection(analyzer().analyze(text[start:end])))
            for start, end in sentences(text)
        ]

    def candidates(self, text: str) -> list[Candidate]:
        """The sentences of one of the texts with their weights, in order."""
        found = self._texts[text]
        own = [math.fsum(sorted(self._rarity[term] for term in terms)) for _, terms in found]
        last = len(own) - 1
        return [
            Candidate(start, end, weight + _NEIGHBOUR * max(own[max(0, at - 1)], own[min(last, at + 1)]))
            for at, (((start, end), _), weight) in enumerate(zip(found, own, strict=True))
        ]


def choose(
    text: str, candidates: Sequence[Candidate], fits: Callable[[str], bool], shrink: Callable[[Stretch, int], Stretch]
) -> list[Stretch]:
    """The stretches to keep, in text order: the weightiest first, as long as what they make together ``fits``.

    When not even the weightiest fits, ``shrink(stretch, max_chars)`` gives the best part of it that does.
    """
    order = sorted(candidates, key=lambda item: (-item.weight, item.start))
    kept: list[Stretch] = []
    for item in order:
        trial = _merged(text, [*kept, (item.start, item.end)])
        if fits(assembled(text, trial)):
            kept = trial
        elif not kept:
            part = _part(text, (item.start, item.end), fits, shrink)
            return [] if part is None else [part]
    return kept


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
    text: str, stretch: Stretch, fits: Callable[[str], bool], shrink: Callable[[Stretch, int], Stretch]
) -> Stretch | None:
    size = stretch[1] - stretch[0]
    while size >= _LEAST_CHARS:
        size = size * 3 // 4
        start, end = shrink(stretch, size)
        if start < end and fits(text[start:end]):
            return start, end
    return None
