"""The legs over blocks: BM25, the exact dense scan, sparse products. Each gives its best rows, ties at the cut too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from florilege.stores.resident.blocks import Block
from florilege.stores.resident.inverted import Ints, Mask

GATHER_SHARE = 0.2
"""Below this share of matching rows their codes are gathered first, instead of scanning all."""


class Found(NamedTuple):
    """Rows and their scores, in no order: every row that scores at least as well as the last one wanted."""

    rows: Ints
    scores: npt.NDArray[np.float32]


NONE = Found(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))


def dense(
    blocks: Sequence[Block], matching: Sequence[Mask], space: int, query: npt.NDArray[np.float64], depth: int
) -> Found:
    """The matching rows nearest to ``query`` (unit length) by cosine: all scanned in int8, the best scored in float16.

    ``matching`` already leaves out rows without a vector. The score is the float64 product with the stored float16
    vector, rounded to float32.
    """
    scale = float(np.abs(query).max()) / 127
    if not scale:
        return best_of([], [], depth)
    code = np.rint(query / scale).astype(np.int8)
    approximate: list[npt.NDArray[np.float32]] = []
    places: list[Ints] = []
    wanted = max(4 * depth, depth + 50)
    for block, match in zip(blocks, matching, strict=True):
        codes = block.codes[space]
        where = np.flatnonzero(match)
        if len(where) < GATHER_SHARE * len(block):
            near = _products()(code, codes.codes[where]) * codes.scale[where]
        else:
            near = (_products()(code, codes.codes) * codes.scale)[where]
        if len(near) > wanted:
            best = np.argpartition(near, len(near) - wanted)[-wanted:]
            near, where = near[best], where[best]
        approximate.append(near)
        places.append(where)
    if not approximate:
        return best_of([], [], depth)
    floor = _cut(np.concatenate(approximate), wanted)
    rows, scores = [], []
    for block, near, where in zip(blocks, approximate, places, strict=True):
        best = where[near >= floor]
        half = block.codes[space].half[best]
        rows.append(block.row[best])
        scores.append((half.astype(np.float64) @ query).astype(np.float32))
    return best_of(rows, scores, depth)


def sparse(
    blocks: Sequence[Block], matching: Sequence[Mask], space: int, query: Mapping[int, float], depth: int
) -> Found:
    """The matching rows with the largest products with ``query``, exactly; rows that share no id are left out.

    ``matching`` already leaves out rows without a vector. Products are summed in float64 by rising id and rounded to
    float32.
    """
    ids = sorted(query)
    rows, scores = [], []
    for block, match in zip(blocks, matching, strict=True):
        sums = np.zeros(len(block))
        for id, (positions, weights) in zip(ids, block.weights[space].postings(ids), strict=True):
            sums[positions] += query[id] * weights.astype(np.float64)
        hits = np.flatnonzero((sums > 0) & match)
        rows.append(block.row[hits])
        scores.append(sums[hits].astype(np.float32))
    return best_of(rows, scores, depth)


def _cut(scores: npt.NDArray[np.float32], depth: int) -> float:
    """The score of the last of the ``depth`` best."""
    if len(scores) <= depth:
        return -math.inf
    return float(np.partition(scores, len(scores) - depth)[len(scores) - depth])


def best_of(rows: Sequence[Ints], scores: Sequence[npt.NDArray[np.float32]], depth: int) -> Found:
    """The ``depth`` best of all, ties at the cut included."""
    if not rows or depth < 1:
        return NONE
    joined, values = np.concatenate(rows), np.concatenate(scores)
    keep = values >= _cut(values, depth)
    return Found(joined[keep], values[keep])


_Products = Callable[[npt.NDArray[np.int8], npt.NDArray[np.int8]], npt.NDArray[np.float32]]
_chosen: _Products | None = None


def _products() -> _Products:
    """The fastest exact int8 product there is: numkong's kernel where it imports, else numpy in float32."""
    global _chosen
    if _chosen is None:
        try:
            import numkong
        except ImportError:
            _chosen = _numpy_products
        else:

            def kernel(query: npt.NDArray[np.int8], codes: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
                if not len(codes):
                    return np.empty(0, dtype=np.float32)
                products: npt.NDArray[np.float32] = np.asarray(
                    numkong.cdist(query[None], codes, metric="dot"), dtype=np.float32
                )[0]
                return products

            _chosen = kernel
    return _chosen


def _numpy_products(query: npt.NDArray[np.int8], codes: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    wide = query.astype(np.float32)
    out = np.empty(len(codes), dtype=np.float32)
    for start in range(0, len(codes), 4096):  # exact: products stay below 2**24 up to 1,040 dimensions
        np.matmul(codes[start : start + 4096].astype(np.float32), wide, out=out[start : start + 4096])
    return out
