"""What the legs must find, worked out slowly from the definition."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Ranked(NamedTuple):
    """A chunk a leg finds."""

    source_id: str
    chunk_id: str
    score: float


def bm25(
    rows: Mapping[tuple[str, str], Sequence[str]], terms: Sequence[str], k1: float = 0.9, b: float = 0.4
) -> list[Ranked]:
    """BM25 of the rows, given as terms by (source id, chunk id), in total order; zero scores dropped."""
    if not rows:
        return []
    average = sum(map(len, rows.values())) / len(rows)
    scores: dict[tuple[str, str], float] = dict.fromkeys(rows, 0.0)
    for term in sorted(set(terms)):
        frequency = sum(term in words for words in rows.values())
        weight = math.log(1 + (len(rows) - frequency + 0.5) / (frequency + 0.5))
        for row, words in rows.items():
            count = Counter(words)[term]
            if count:
                scores[row] += weight * count / (count + k1 * (1 - b + b * len(words) / average))
    return ordered({row: score for row, score in scores.items() if score > 0})


def nearest(rows: Mapping[tuple[str, str], Any], query: Any) -> list[Ranked]:
    """The rows, given as float16 vectors, by their product with the unit query, in total order."""
    unit = np.asarray(query, dtype=np.float64)
    unit = unit / np.linalg.norm(unit)
    return ordered({row: float(np.asarray(vector, dtype=np.float64) @ unit) for row, vector in rows.items()})


def products(rows: Mapping[tuple[str, str], Mapping[int, float]], query: Mapping[int, float]) -> list[Ranked]:
    """The rows, given as sparse vectors, by their product with the query, in total order; zero products dropped.

    Weights count as float32; the query's are what it says.
    """
    scores = {
        row: sum(query[id] * float(np.float32(weights[id])) for id in sorted(query) if id in weights)
        for row, weights in rows.items()
    }
    return ordered({row: score for row, score in scores.items() if score > 0})


def ordered(scores: Mapping[tuple[str, str], float]) -> list[Ranked]:
    """By score as float32 descending, then source id, then chunk id."""
    ranked = [Ranked(*row, float(np.float32(score))) for row, score in scores.items()]
    return sorted(ranked, key=lambda item: (-item.score, item.source_id, item.chunk_id))
