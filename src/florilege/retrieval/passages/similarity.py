"""How alike two texts are, by their terms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import cache

from florilege.text.lexical import Analyzer

_RUN = 3


@cache
def analyzer() -> Analyzer:
    """The analyser hits are compared with: the one stores index with by default."""
    return Analyzer()


def terms_of(text: str) -> Counter[str]:
    """The terms of a text, counted."""
    return Counter(analyzer().analyze(text))


def cosine(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """The cosine of two counts of terms; 0 when either is empty."""
    if len(one) > len(other):
        one, other = other, one
    dot = sum(count * other[term] for term, count in one.items() if term in other)
    return dot / (_norm(one) * _norm(other)) if dot else 0.0


def shingles(text: str) -> frozenset[str]:
    """The runs of three terms in a text; the whole of a shorter one."""
    terms = analyzer().analyze(text)
    if len(terms) < _RUN:
        return frozenset([" ".join(terms)])
    return frozenset([" ".join(terms[at : at + _RUN]) for at in range(len(terms) - _RUN + 1)])


def _norm(counts: Mapping[str, int]) -> float:
    return math.sqrt(sum(count * count for count in counts.values()))
