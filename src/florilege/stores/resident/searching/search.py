"""A search over resident blocks: masks, legs, names, order."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from florilege.concurrency import Deadline
from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import Candidate, SearchRequest, SearchResult
from florilege.model.errors import ConfigError, NotFound
from florilege.model.filters import Filter
from florilege.stores.resident.blocks import Block, Codes
from florilege.stores.resident.inverted import Mask
from florilege.stores.resident.postings import Weights
from florilege.stores.resident.residents import Resident
from florilege.stores.resident.searching import legs
from florilege.stores.resident.searching.bm25 import lexical
from florilege.stores.resident.searching.masks import Masks
from florilege.stores.rules import left

Terms = Callable[[str], tuple[list[int], dict[str, Any]]]
Names = Callable[[Sequence[int]], dict[int, tuple[str, str]]]
Holder = Callable[[Block], Codes | Weights]


class Search:
    """The residents of a store's namespaces.

    ``resident(namespace, oldest)`` makes the resident of a namespace, ``masks`` tests filters against stored metadata,
    ``space(identity)`` gives a space's key and ``oldest`` the lowest sequence number still held by a snapshot.
    """

    def __init__(
        self,
        resident: Callable[[int, Callable[[], int]], Resident],
        masks: Masks,
        space: Callable[[str], int | None],
        oldest: Callable[[], int],
    ) -> None:
        self._make = resident
        self._masks = masks
        self._space = space
        self._oldest = oldest
        self._residents: dict[int, Resident] = {}
        self._lock = threading.Lock()

    def run(
        self, namespace: int, seq: int, floor: Filter | None, request: SearchRequest, terms: Terms, names: Names
    ) -> SearchResult:
        """One search. ConfigError when a query vector does not fit its space."""
        deadline = Deadline(request.deadline)
        left(deadline)
        space, sparse = self._key(request.space), self._key(request.sparse_space)
        query, weights = _dense_query(request), _sparse_query(request)
        blocks = self._blocks(namespace, seq, words=request.text is not None, space=space, sparse=sparse)
        views = [block.view(seq) for block in blocks]
        matching = [view.mask for view in views]
        for tree in (floor, request.filter):
            if tree is not None:
                allowed = [self._masks.of(tree, block) for block in blocks]
                matching = [match & allow for match, allow in zip(matching, allowed, strict=True)]
        rows = _count(matching)
        facts: dict[str, Any] = {
            "rows": rows,
            "visible_rows": sum(view.count for view in views),
            "undeclared_fields": self._masks.undeclared(request.filter),
        }
        holders: dict[str, Holder] = {}
        if space is not None:
            holders["dense"] = lambda block: block.codes[space]
        if sparse is not None:
            holders["sparse"] = lambda block: block.weights[sparse]
        armed = {
            leg: [match & (of(block).since <= seq) for block, match in zip(blocks, matching, strict=True)]
            for leg, of in holders.items()
        }
        found: dict[str, legs.Found] = {}
        left(deadline)
        if request.text is not None:
            numbers, told = terms(request.text)
            facts.update(told)
            found["lexical"] = lexical(blocks, views, matching, numbers, request.depth)
            left(deadline)
        if query is not None:
            found["dense"] = legs.NONE
            if space is not None:
                found["dense"] = legs.dense(blocks, armed["dense"], space, query, request.depth)
        if weights is not None:
            found["sparse"] = legs.NONE
            if sparse is not None:
                found["sparse"] = legs.sparse(blocks, armed["sparse"], sparse, weights, request.depth)
        shares = {leg: _count(masks) / rows if rows else 1.0 for leg, masks in armed.items()}
        if request.sparse_space is not None:
            facts["sparse_coverage"] = shares.get("sparse", 0.0 if rows else 1.0)
        coverage = 1.0 if request.space is None else shares.get("dense", 0.0 if rows else 1.0)
        return SearchResult(
            legs=_named(found, blocks, holders, seq, request.depth, names), coverage=coverage, facts=facts
        )

    def _key(self, space: EmbeddingSpace | None) -> int | None:
        return None if space is None else self._space(space.identity)

    def _blocks(
        self, namespace: int, seq: int, *, words: bool, space: int | None, sparse: int | None
    ) -> tuple[Block, ...]:
        with self._lock:
            resident = self._residents.get(namespace)
            if resident is None:
                resident = self._residents[namespace] = self._make(namespace, self._oldest)
        blocks = resident.at(seq, words=words, space=space, sparse=sparse)
        if blocks is None:  # an old snapshot, from before what is kept: it pays for arrays of its own
            blocks = self._make(namespace, lambda: seq).at(seq, words=words, space=space, sparse=sparse)
        if blocks is None:
            raise NotFound(f"nothing is kept of change {seq}", code="collected")
        return blocks


def _dense_query(request: SearchRequest) -> Any:
    if request.vector is None:
        return None
    assert request.space is not None
    return unit(request.vector, request.space.dimensions)


def _sparse_query(request: SearchRequest) -> Mapping[int, float] | None:
    if request.sparse is None:
        return None
    assert request.sparse_space is not None
    return checked_weights(request.sparse, request.sparse_space.dimensions)


def checked_weights(query: Mapping[int, float], dimensions: int) -> dict[int, float]:
    """A sparse query vector as whole ids and floats; ConfigError unless ids fit the space and weights are above 0."""
    weights = {int(id): float(weight) for id, weight in query.items()}
    if not all(0 <= id < dimensions and 0 < weight < math.inf for id, weight in weights.items()):
        raise ConfigError(
            f"the sparse query vector needs ids below {dimensions} and finite weights above 0", code="bad_vector"
        )
    return weights


def _count(masks: Sequence[Mask]) -> int:
    return sum(int(np.count_nonzero(mask)) for mask in masks)


def unit(vector: Any, dimensions: int) -> Any:
    """A query vector in float64 at unit length; a zero vector stays zero."""
    query = np.asarray(vector, dtype=np.float64).reshape(-1)
    if query.shape != (dimensions,) or not np.isfinite(query).all():
        raise ConfigError(
            f"the query vector has {query.size} values; its space has {dimensions}, all finite", code="bad_vector"
        )
    length = float(np.sqrt(query @ query))
    return query / length if length else query


def _named(
    found: dict[str, legs.Found],
    blocks: Sequence[Block],
    holders: Mapping[str, Holder],
    seq: int,
    depth: int,
    names: Names,
) -> dict[str, list[Candidate]]:
    """Candidates of each leg in total order, with one look-up of names for all."""
    every = sorted({int(row) for leg in found.values() for row in leg.rows})
    if not every:
        return {leg: [] for leg in found}
    named = names(every)
    having = {leg: _having(every, blocks, of, seq) for leg, of in holders.items()}
    dense, sparse = having.get("dense", frozenset()), having.get("sparse", frozenset())
    ranked = {}
    for leg, (rows, scores) in found.items():
        candidates = [
            Candidate(row, *named[row], score, row in dense, row in sparse)
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
        ]
        candidates.sort(key=lambda item: (-item.score, item.source_id, item.chunk_id))
        ranked[leg] = candidates[:depth]
    return ranked


def _having(rows: Sequence[int], blocks: Sequence[Block], of: Holder, seq: int) -> Set[int]:
    """Which rows have a vector."""
    wanted = np.array(rows, dtype=np.int64)
    having: set[int] = set()
    for block in blocks:
        places, here = block.positions(wanted)
        having.update(wanted[here & (of(block).since[places] <= seq)].tolist())
    return having
