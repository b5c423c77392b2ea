"""A search in one read transaction: what matches, what is counted, the legs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from florilege.concurrency import Deadline
from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import Candidate, SearchRequest, SearchResult
from florilege.model.filters import SYSTEM_FIELDS, Filter, intersect, leaves
from florilege.stores.fields import Fields
from florilege.stores.postgres.reading import legs
from florilege.stores.postgres.reading.matching import FEW_ROWS, Matching
from florilege.stores.postgres.server.connection import Connection
from florilege.stores.postgres.writing.words import TermKeys
from florilege.stores.resident.searching.search import checked_weights, unit
from florilege.stores.rules import left
from florilege.stores.terms import TextAnalyzer


class _Space(NamedTuple):
    key: int
    indexed: bool


class Search:
    """Searches of one namespace at one sequence number."""

    def __init__(self, namespace: int, seq: int, keys: TermKeys, fields: Fields, analyzer: TextAnalyzer) -> None:
        self._namespace = namespace
        self._seq = seq
        self._keys = keys
        self._fields = fields
        self._analyzer = analyzer

    def run(self, connection: Connection, floor: Filter | None, request: SearchRequest) -> SearchResult:
        """One search. ConfigError when a query vector does not fit its space."""
        query = weights = None
        if request.vector is not None and request.space is not None:
            query = unit(request.vector, request.space.dimensions)
        if request.sparse is not None and request.sparse_space is not None:
            weights = checked_weights(request.sparse, request.sparse_space.dimensions)
        deadline = Deadline(request.deadline)
        _hurry(connection, deadline)
        stale, space, sparse = self._state(connection, request.space, request.sparse_space)
        terms = [] if request.text is None else sorted(set(self._analyzer.query_terms(request.text)))
        numbers = [self._keys[term] for term in terms]
        totals, armed = self._totals(connection, numbers, [known.key for known in (space, sparse) if known])
        matching = Matching(connection, self._namespace, self._seq, intersect(floor, request.filter))
        rows = matching.count(totals.rows)
        namer = legs.Namer(matching, space and space.key, sparse and sparse.key)
        facts: dict[str, Any] = {
            "rows": rows,
            "visible_rows": totals.rows,
            "undeclared_fields": self._undeclared(request.filter),
        }
        found: dict[str, Sequence[Candidate]] = {}
        if request.text is not None:
            facts["terms"] = terms
            facts["known_terms"] = [
                term for term, number in zip(terms, numbers, strict=True) if totals.frequency.get(number, 0) > 0
            ]
            if stale:
                facts["stale_lexemes"] = True
            _hurry(connection, deadline)
            found["lexical"] = legs.lexical(connection, namer, numbers, totals, request.depth)
        if query is not None:
            found["dense"] = []
            if space is not None:
                _hurry(connection, deadline)
                by_index = space.indexed and rows > FEW_ROWS
                found["dense"] = legs.dense(connection, namer, space.key, query, request.depth, by_index)
        if weights is not None:
            found["sparse"] = []
            if sparse is not None:
                _hurry(connection, deadline)
                ids = sorted(weights)
                dimensions = self._keys.dimensions(sparse.key, ids).tolist()
                found["sparse"] = legs.sparse(connection, namer, dimensions, [weights[id] for id in ids], request.depth)

        def share(known: _Space | None) -> float:
            if not rows:
                return 1.0
            return 0.0 if known is None else matching.count_armed(known.key, armed[known.key], totals.rows) / rows

        if request.sparse_space is not None:
            facts["sparse_coverage"] = share(sparse)
        coverage = 1.0 if request.space is None else share(space)
        return SearchResult(legs=found, coverage=coverage, facts=facts)

    def _state(
        self, connection: Connection, space: EmbeddingSpace | None, sparse: EmbeddingSpace | None
    ) -> tuple[bool, _Space | None, _Space | None]:
        """Whether words are another analyser's, and the spaces."""
        identities = [None if asked is None else asked.identity for asked in (space, sparse)]
        found = connection.execute(
            "SELECT n.analyzer, s.identity, s.pk, i.indisvalid IS TRUE FROM namespace n"
            " LEFT JOIN space s ON s.identity = ANY(%s)"
            " LEFT JOIN pg_index i ON i.indexrelid = to_regclass('vec_' || s.pk || '_ann') WHERE n.pk = %s",
            (identities, self._namespace),
        ).fetchall()
        known = {identity: _Space(key, indexed) for _, identity, key, indexed in found if identity is not None}
        stale = found[0][0] not in (None, self._analyzer.version)
        return stale, known.get(identities[0] or ""), known.get(identities[1] or "")

    def _totals(
        self, connection: Connection, terms: Sequence[int], spaces: Sequence[int]
    ) -> tuple[legs.Totals, dict[int, int]]:
        """Counts over the visible rows, and how many of them have a vector of each space."""
        armed = {space: self._keys.vectors(space) for space in spaces}
        wanted = [self._keys.rows, self._keys.lengths, *armed.values(), *terms]
        counts: dict[int, int] = dict(
            connection.execute(
                "SELECT term, sum(ddf)::bigint FROM stat_delta WHERE term = ANY(%s) AND seq <= %s GROUP BY term",
                (wanted, self._seq),
                binary=True,
            ).fetchall()
        )
        totals = legs.Totals(counts.get(self._keys.rows, 0), counts.get(self._keys.lengths, 0), counts)
        return totals, {space: counts.get(number, 0) for space, number in armed.items()}

    def _undeclared(self, tree: Filter | None) -> list[str]:
        found = {leaf.path for leaf in leaves(tree)} if tree is not None else set()
        return sorted(".".join(path) for path in found - self._fields.kinds.keys() if path[0] not in SYSTEM_FIELDS)


def _hurry(connection: Connection, deadline: Deadline) -> None:
    """The server ends whatever statement of this transaction comes next and takes longer than is left."""
    seconds = left(deadline)
    if seconds is not None:
        connection.execute(f"SET LOCAL statement_timeout = {max(1, math.ceil(seconds * 1000))}")
