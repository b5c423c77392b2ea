"""A search over resident blocks: masks, legs, names, order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from florilege.interfaces.stores import Candidate, SearchRequest, SearchResult
from florilege.model.errors import ConfigError, NotFound
from florilege.model.filters import Filter
from florilege.stores.resident import legs
from florilege.stores.resident.blocks import Block, Mask
from florilege.stores.resident.masks import Masks
from florilege.stores.resident.residents import Resident

Terms = Callable[[str], tuple[list[int], dict[str, Any]]]
Names = Callable[[Sequence[int]], dict[int, tuple[str, str]]]


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
        """One search. ConfigError when the query vector does not fit its space."""
        space = None if request.space is None else self._space(request.space.identity)
        query = None
        if request.vector is not None:
            assert request.space is not None
            query = unit(request.vector, request.space.dimensions)
        blocks = self._blocks(namespace, seq, words=request.text is not None, space=space)
        visible = [block.visible(seq) for block in blocks]
        matching = visible
        for tree in (floor, request.filter):
            if tree is not None:
                allowed = [self._masks.of(tree, block) for block in blocks]
                matching = [match & allow for match, allow in zip(matching, allowed, strict=True)]
        rows = sum(int(np.count_nonzero(match)) for match in matching)
        facts: dict[str, Any] = {
            "rows": rows,
            "visible_rows": sum(int(np.count_nonzero(seen)) for seen in visible),
            "undeclared_fields": self._masks.undeclared(request.filter),
        }
        armed: list[Mask] | None = None
        if space is not None:
            armed = [
                match & legs.with_vector(block.codes[space], seq) for block, match in zip(blocks, matching, strict=True)
            ]
        found: dict[str, legs.Found] = {}
        if request.text is not None:
            numbers, told = terms(request.text)
            facts.update(told)
            found["lexical"] = legs.lexical(blocks, visible, matching, numbers, request.depth)
        if query is not None:
            found["dense"] = legs.dense(blocks if armed else [], armed or [], space or 0, query, request.depth)
        covered = sum(int(np.count_nonzero(mask)) for mask in armed) if armed is not None else 0
        coverage = 1.0 if request.space is None or not rows else covered / rows
        return SearchResult(
            legs=_named(found, blocks, space, seq, request.depth, names), coverage=coverage, facts=facts
        )

    def _blocks(self, namespace: int, seq: int, *, words: bool, space: int | None) -> tuple[Block, ...]:
        with self._lock:
            resident = self._residents.get(namespace)
            if resident is None:
                resident = self._residents[namespace] = self._make(namespace, self._oldest)
        blocks = resident.at(seq, words=words, space=space)
        if blocks is None:  # an old snapshot, from before what is kept: it pays for arrays of its own
            blocks = self._make(namespace, lambda: seq).at(seq, words=words, space=space)
        if blocks is None:
            raise NotFound(f"nothing is kept of change {seq}", code="collected")
        return blocks


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
    found: dict[str, legs.Found], blocks: Sequence[Block], space: int | None, seq: int, depth: int, names: Names
) -> dict[str, list[Candidate]]:
    """Candidates of each leg in total order, with one look-up of names for all."""
    every = sorted({int(row) for leg in found.values() for row in leg.rows})
    if not every:
        return {leg: [] for leg in found}
    named = names(every)
    with_vector: set[int] = set()
    if space is not None:
        rows = np.array(every, dtype=np.int64)
        for block in blocks:
            places, here = block.positions(rows)
            armed = here & (block.codes[space].since[places] <= seq)
            with_vector.update(rows[armed].tolist())
    ranked = {}
    for leg, (rows, scores) in found.items():
        candidates = [
            Candidate(row, *named[row], score, row in with_vector)
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
        ]
        candidates.sort(key=lambda item: (-item.score, item.source_id, item.chunk_id))
        ranked[leg] = candidates[:depth]
    return ranked
