"""The lexical leg: BM25 over blocks, exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from florilege.stores.resident.blocks import Block, View
from florilege.stores.resident.inverted import Ints, Mask, Posting
from florilege.stores.resident.postings import Words
from florilege.stores.resident.searching.legs import NONE, Found, best_of

K1 = 0.9
B = 0.4

_FREQUENT_SHARE = 0.01
_DENSE_SHARE = 0.3
_KEPT_COLUMNS = 16
_RUN = 64

Floats = npt.NDArray[np.float64]


class Impact(NamedTuple):
    """What a term adds, before its weight, to the rows at ``positions``, or (None) to each row of the block."""

    positions: Ints | None
    values: Floats


class Scores:
    """The part of BM25 that depends on a block's rows and the average length alone.

    Frequent terms are those that cost, and those that queries share: their impacts are kept, up to the size of
    sixteen columns.
    """

    def __init__(self, words: Words, average: float) -> None:
        self.average = average
        self._norm: Floats = K1 * (1 - B + B * (words.lengths / average))
        self._kept: dict[int, Impact] = {}
        self._room = _KEPT_COLUMNS * len(words.lengths)

    def impact(self, term: int, posting: Posting) -> Impact:
        """``count / (count + norm)`` for each row of a posting list."""
        kept = self._kept.get(term)
        if kept is not None:
            return kept
        positions, counts = posting
        places = positions.astype(np.int64)
        impact = Impact(places, counts / (counts + self._norm[places]))
        rows = len(self._norm)
        if len(places) < _FREQUENT_SHARE * rows or self._room < rows:
            return impact
        if len(places) > _DENSE_SHARE * rows:
            column = np.zeros(rows)
            column[places] = impact.values
            impact = Impact(None, column)
        self._room -= len(impact.values) if impact.positions is None else 2 * len(places)
        self._kept[term] = impact
        return impact


def lexical(
    blocks: Sequence[Block], views: Sequence[View], matching: Sequence[Mask], terms: Sequence[int], depth: int
) -> Found:
    """BM25 (Robertson et al.; k1 0.9, b 0.4, idf as in Lucene) over the visible rows, the best of the matching ones.

    ``terms`` are numbers in the order of the terms' texts, so that sums of float64 agree between stores. Document
    count, average length and document frequencies are those of the visible rows, before any filter.
    """
    words = [block.words for block in blocks if block.words is not None]
    count = sum(view.count for view in views)
    total = sum(view.sum_of(part.lengths) for view, part in zip(views, words, strict=True))
    if not terms or not count or not total or depth < 1:
        return NONE
    postings = [part.postings(terms) for part in words]
    frequency = [
        sum(_visible(lists[number][0], view) for lists, view in zip(postings, views, strict=True))
        for number in range(len(terms))
    ]
    weights = [math.log1p((count - frequent + 0.5) / (frequent + 0.5)) for frequent in frequency]
    rows, scores = [], []
    for block, part, lists, wanted in zip(blocks, words, postings, matching, strict=True):
        sums = np.zeros(len(block))
        known = _scores(part, total / count)
        for term, weight, posting in zip(terms, weights, lists, strict=True):
            if len(posting[0]):
                positions, values = known.impact(term, posting)
                if positions is None:
                    sums += weight * values
                else:
                    sums[positions] += weight * values
        sums *= wanted
        hits = _strong(sums, depth)
        rows.append(block.row[hits])
        scores.append(sums[hits].astype(np.float32))
    return best_of(rows, scores, depth)


def _scores(words: Words, average: float) -> Scores:
    known = words.scores
    if not isinstance(known, Scores) or known.average != average:
        known = words.scores = Scores(words, average)
    return known


def _visible(positions: npt.NDArray[np.int32], view: View) -> int:
    """How many of ``positions`` (ascending) are visible."""
    if not len(view.hidden) or not len(positions):
        return len(positions)
    if len(view.hidden) > len(positions) // 16:
        return int(np.count_nonzero(view.mask[positions]))
    places = np.minimum(np.searchsorted(positions, view.hidden), len(positions) - 1)
    return len(positions) - int(np.count_nonzero(positions[places] == view.hidden))


def _strong(sums: Floats, depth: int) -> Ints:
    """The positions above zero that may be among the ``depth`` best, as float32, ties included.

    The best of each run of rows bounds the cut from below: there are at least as many rows above it.
    """
    whole = len(sums) // _RUN
    if whole <= depth:
        return np.flatnonzero(sums > 0)
    peaks = sums[: whole * _RUN].reshape(whole, _RUN).max(axis=1)
    cut = np.float32(np.partition(peaks, whole - depth)[whole - depth])
    if cut <= 0:
        return np.flatnonzero(sums > 0)
    return np.flatnonzero(sums >= np.float64(np.nextafter(cut, np.float32(0))))
