"""The legs: BM25 and sparse products from postings, dense products by an exact scan or the index.

Postings hold rows that died, and rows yet unborn; so sums are made over all of them, and the best are looked up, in
batches, until enough of those that match are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from florilege.interfaces.stores import Candidate
from florilege.stores.postgres.reading.matching import Matching
from florilege.stores.postgres.server.connection import Connection
from florilege.stores.postgres.server.wire import decode_halves, unescape
from florilege.stores.postgres.writing.words import POSTING, WEIGHT, Ints
from florilege.stores.resident.searching.bm25 import K1, B

Floats = npt.NDArray[np.float64]

_SPAN = 8
_ROUNDING = 1.1e-3
"""Twice what a product of unit vectors may be off when the query is rounded to float16 and sums are float32."""

_TIES = 1e-6


class Totals(NamedTuple):
    """Counts of visible rows: how many, the sum of their lengths, and how many hold each term, by the term's key."""

    rows: int
    lengths: int
    frequency: Mapping[int, int]


class Namer:
    """Looks rows up and makes candidates of those that match."""

    def __init__(self, matching: Matching, space: int | None, sparse: int | None) -> None:
        self.matching = matching
        self._space = space
        self._sparse = sparse
        self._known: dict[int, tuple[str, str, bool, bool] | None] = {}

    def ranked(self, rows: Sequence[int], scores: Sequence[float], *, sparse: bool = False) -> list[Candidate]:
        """Candidates of those of these rows that match, in total order; ``sparse``: that have a sparse vector too.

        The postings of sparse vectors say nothing of when they came: the snapshot may be older than they are.
        """
        new = [row for row in rows if row not in self._known]
        if new:
            self._known.update(dict.fromkeys(new))
            self._known.update(self.matching.named(new, self._space, self._sparse))
        found = []
        for row, score in zip(rows, scores, strict=True):
            known = self._known[row]
            if known is not None and (known[3] or not sparse):
                source_id, chunk_id, *has = known
                found.append(Candidate(row, unescape(source_id), unescape(chunk_id), score, *has))
        found.sort(key=lambda item: (-item.score, item.source_id, item.chunk_id))
        return found


def lexical(connection: Connection, namer: Namer, terms: Sequence[int], totals: Totals, depth: int) -> list[Candidate]:
    """BM25 (Robertson et al.; k1 0.9, b 0.4, idf as in Lucene) over the visible rows, the best of the matching ones.

    ``terms`` are keys in the order of the terms' texts, so that sums of float64 agree between stores.
    """
    if not totals.rows or not totals.lengths:
        return []
    known = [term for term in terms if totals.frequency.get(term, 0) > 0]
    average = totals.lengths / totals.rows

    def values(term: int, postings: npt.NDArray[Any]) -> Floats:
        frequent = totals.frequency[term]
        weight = math.log1p((totals.rows - frequent + 0.5) / (frequent + 0.5))
        counts = postings["count"].astype(np.float64)
        norm = K1 * (1 - B + B * (postings["length"] / average))
        product: Floats = weight * (counts / (counts + norm))
        return product

    return _best(namer, *_sums(_read(connection, known, POSTING), values, known), depth)


def sparse(
    connection: Connection, namer: Namer, terms: Sequence[int], query: Sequence[float], depth: int
) -> list[Candidate]:
    """The matching rows with the largest products with ``query``, exactly; rows that share no id are left out.

    ``terms`` are keys by rising id and ``query`` their weights. Sums are of float64, rounded to float32.
    """
    weights = dict(zip(terms, query, strict=True))

    def values(term: int, postings: npt.NDArray[Any]) -> Floats:
        product: Floats = weights[term] * postings["weight"].astype(np.float64)
        return product

    return _best(namer, *_sums(_read(connection, list(terms), WEIGHT), values, terms), depth, sparse=True)


def _read(connection: Connection, terms: Sequence[int], kind: np.dtype[Any]) -> dict[int, npt.NDArray[Any]]:
    parts: dict[int, list[bytes]] = {term: [] for term in terms}
    for term, data in connection.execute(
        "SELECT term, data FROM posting WHERE term = ANY(%s)", (list(terms),), binary=True
    ):
        parts[term].append(data)
    return {term: np.frombuffer(b"".join(data), dtype=kind) for term, data in parts.items()}


def _sums(
    lists: Mapping[int, npt.NDArray[Any]],
    values: Callable[[int, npt.NDArray[Any]], Floats],
    terms: Sequence[int],
) -> tuple[Ints, npt.NDArray[np.float32]]:
    """Rows in any of the lists, and the sums of their values, added in the order of ``terms``."""
    held = [lists[term]["row"] for term in terms if len(lists[term])]
    if not held:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    low, high = min(int(rows.min()) for rows in held), max(int(rows.max()) for rows in held)
    every: Ints | None = None
    if high - low > _SPAN * sum(map(len, held)) + (1 << 20):
        every = np.unique(np.concatenate(held))
    sums = np.zeros(high - low + 1 if every is None else len(every))
    for term in terms:
        rows = lists[term]["row"]
        places = rows - low if every is None else np.searchsorted(every, rows)
        sums[places] += values(term, lists[term])  # a row stands in a list once
    hits = np.flatnonzero(sums > 0)
    return (hits + low if every is None else every[hits]), sums[hits].astype(np.float32)


def _best(
    namer: Namer, rows: Ints, scores: npt.NDArray[np.float32], depth: int, *, sparse: bool = False
) -> list[Candidate]:
    """The ``depth`` best of the rows that match, ties ordered by names."""
    few = namer.matching.rows
    if few is not None:
        here = np.isin(rows, few, assume_unique=True)
        rows, scores = rows[here], scores[here]
    size = depth + 50
    while True:
        cut = -math.inf
        if len(rows) > size:
            cut = float(np.partition(scores, len(scores) - size)[len(scores) - size])
        top = scores >= cut
        candidates = rows[top].tolist()
        found = namer.ranked(candidates, scores[top].tolist(), sparse=sparse)
        if len(found) >= depth or len(candidates) == len(rows):
            return found[:depth]
        size *= 4


def dense(connection: Connection, namer: Namer, space: int, query: Floats, depth: int, ann: bool) -> list[Candidate]:
    """The matching rows nearest to ``query`` (unit length) by cosine.

    The server's products are about right; all rows that may be among the best by them are scored again: the float64
    product with the stored float16 vector, rounded to float32.
    """
    if not query.any():
        return []
    text = "[" + ",".join(map(repr, query.astype(np.float32).tolist())) + "]"
    wanted = max(4 * depth, depth + 50)
    while True:
        found = namer.matching.nearest(space, text, wanted, ann)
        near = np.array([product for _, product in found])
        if len(near) < wanted or near[-1] < near[depth - 1] - _ROUNDING - _TIES:
            break
        if ann:
            break
        wanted *= 4
    keep = near >= (near[depth - 1] - _ROUNDING - _TIES if len(near) >= depth else -math.inf)
    rows = [row for (row, _), kept in zip(found, keep.tolist(), strict=True) if kept]
    vectors: dict[int, bytes] = dict(
        connection.execute(
            "SELECT v.row, halfvec_send(x.dense) FROM row_vector v JOIN vector x ON x.pk = v.vector"
            f" WHERE v.row = ANY(%s) AND v.space = {int(space)}",
            (rows,),
            binary=True,
        ).fetchall()
    )
    half = decode_halves([vectors[row] for row in rows], len(query))
    scores = (half.astype(np.float64) @ query).astype(np.float32)
    return namer.ranked(rows, scores.tolist())[:depth]
