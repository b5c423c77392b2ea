"""How much each sentence of a text says about a question."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from florilege.retrieval.passages.similarity import analyzer
from florilege.text.sentences import sentence_spans
from florilege.text.tokens import Tokenizer

Stretch = tuple[int, int]
"""``text[start:end]``."""

_READ, _LONGEST = 256, 1 << 14  # texts remembered, and the characters of the longest of them
_CELL = " | "  # between the cells of a row, as readers write it
_NEIGHBOUR = 0.3  # share of a neighbouring sentence's weight, so that an answer keeps what leads to it


class Candidate(NamedTuple):
    """A stretch of a text that may be kept, and how much it says about the question."""

    start: int
    end: int
    weight: float


class Reading:
    """What there is to know about a text before any question: its sentences, without the space around them, the terms
    each holds, and all of these.
    """

    __slots__ = ("_costs", "stretches", "terms", "text", "vocabulary")

    def __init__(self, text: str) -> None:
        self.text = text
        self.stretches: list[Stretch] = []
        self.terms: list[frozenset[str]] = []
        self._costs: dict[str, list[int]] = {}
        analyze = analyzer().analyze
        for start, end in _units(text):
            piece = text[start:end]
            bare = piece.strip()
            if bare:
                start += piece.index(bare[0])
                self.stretches.append((start, start + len(bare)))
                self.terms.append(frozenset(analyze(bare)))
        self.vocabulary = frozenset[str]().union(*self.terms)

    def costs(self, counter: Tokenizer) -> list[int]:
        """:func:`costs` of the sentences."""
        found = self._costs.get(counter.name or "")
        if found is None:
            found = costs(self.text, self.stretches, counter)
            if counter.name:
                self._costs[counter.name] = found
        return found


def _units(text: str) -> Iterator[Stretch]:
    """Sentences; of a table, which has none, its rows."""
    for start, end in sentence_spans(text):
        if _CELL not in text[start:end]:
            yield start, end
            continue
        for line in text[start:end].splitlines(keepends=True):
            yield start, start + len(line)
            start += len(line)


_remembered = lru_cache(maxsize=_READ)(Reading)


def read(text: str) -> Reading:
    """The reading of ``text``. The latest are remembered, unless they are long: good passages answer many questions."""
    return _remembered(text) if len(text) <= _LONGEST else Reading(text)


def costs(text: str, stretches: Sequence[Stretch], counter: Tokenizer) -> list[int]:
    """The tokens of each stretch of ``text``, or one or two more."""
    ends = counter.ends(text)
    if ends is None:
        return [counter.count(text[start:end]) + 1 for start, end in stretches]
    # all tokens of the text that it touches
    return [bisect_left(ends, 2 * end) - bisect_right(ends, 2 * start) + 2 for start, end in stretches]


class Relevance:
    """How much sentences say about a question: the summed rarity of the distinct question terms they hold.

    Rarity is log(1 + N / df) over ``texts``; neighbours share some of their weight.
    """

    def __init__(self, query: str, texts: Iterable[str]) -> None:
        self._wanted = frozenset(analyzer().query_terms(query))
        own = [self._wanted & read(text).vocabulary for text in texts]
        frequency = Counter(term for terms in own for term in terms)
        self._rarity = {term: math.log(1 + len(own) / count) for term, count in frequency.items()}

    def candidates(self, text: str) -> list[Candidate]:
        """The sentences of one of the texts with their weights, in order."""
        reading = read(text)
        own = [math.fsum(map(self._rarity.__getitem__, self._wanted & held)) for held in reading.terms]
        around = [0.0, *own, 0.0]
        return [
            Candidate(start, end, weight + _NEIGHBOUR * max(before, behind))
            for (start, end), weight, before, behind in zip(reading.stretches, own, around, around[2:], strict=False)
        ]
