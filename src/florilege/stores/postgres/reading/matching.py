"""Which rows a search may find: those a snapshot sees and a filter lets through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from florilege.model.filters import Filter
from florilege.stores.postgres.reading.filters import compile_filter
from florilege.stores.postgres.server.connection import Connection
from florilege.stores.postgres.server.tables import vec_table
from florilege.stores.postgres.server.wire import numbers
from florilege.stores.postgres.writing.words import Ints

FEW_ROWS = 20_000
"""Up to so many matching rows are read first and searched exactly; more are tested where they are found."""

SEEN = "r.born <= %(seq)s AND (r.died IS NULL OR r.died > %(seq)s)"


class Matching:
    """The rows of a namespace at ``seq`` that ``filter`` is true of, in one read transaction.

    ``rows`` are the rows when they are few, else None. ``condition`` is true of a facet that matches: the facets
    themselves where there are few, for rows are found by them quickest (those of a source share one, or nearly).
    ``values`` are what it and :data:`SEEN` bind.
    """

    def __init__(self, connection: Connection, namespace: int, seq: int, filter: Filter | None) -> None:
        self._connection = connection
        self.values: dict[str, Any] = {"ns": namespace, "seq": seq}
        self.filtered = filter is not None
        self.rows: Ints | None = None
        self.condition = "true"
        if filter is not None:
            text, bound = compile_filter(filter)
            names = [f"f{number}" for number in range(len(bound))]
            self.values.update(zip(names, bound, strict=True))
            facets = f"SELECT f.pk FROM facet f WHERE f.ns = %(ns)s AND {_numbered(text, names)}"
            few = self._collected(f"{facets} LIMIT %(most)s", "pk")
            if few is None:
                self.condition = f"r.facet IN ({facets})"
                return
            self.condition = "r.facet = ANY(%(facets)s)"
            self.values = {"ns": namespace, "seq": seq, "facets": numbers(few)}
            self.rows = self._collected(
                f"(SELECT r.row FROM live r WHERE r.ns = %(ns)s AND r.born <= %(seq)s AND {self.condition}"
                " LIMIT %(most)s) UNION ALL"
                " SELECT r.row FROM retired r WHERE r.ns = %(ns)s AND r.died > %(seq)s AND r.born <= %(seq)s"
                f" AND {self.condition}",
                "row",
            )

    def _collected(self, query: str, column: str) -> Ints | None:
        """The numbers a query finds, in order, unless there are more than :data:`FEW_ROWS`."""
        found = self._connection.execute(
            f"SELECT string_agg(int8send({column}), ''::bytea) FROM ({query}) x",
            {**self.values, "most": FEW_ROWS + 1},
            binary=True,
        ).fetchone()
        rows = np.frombuffer((found and found[0]) or b"", dtype=">i8").astype(np.int64)
        return None if len(rows) > FEW_ROWS else np.sort(rows)

    def count(self, visible: int) -> int:
        """How many rows match; ``visible`` are seen."""
        if self.rows is not None:
            return len(self.rows)
        if not self.filtered:
            return visible
        return self._number(f"SELECT count(*) FROM published r WHERE r.ns = %(ns)s AND {SEEN} AND {self.condition}")

    def count_armed(self, space: int, armed: int, visible: int) -> int:
        """How many of them have a vector of ``space``; ``armed`` of the ``visible`` ones do."""
        if not self.filtered:
            return armed
        if armed == visible:
            return self.count(visible)
        having = f"v.space = {int(space)} AND v.seq <= %(seq)s"
        if self.rows is not None:
            return self._number(
                f"SELECT count(*) FROM row_vector v WHERE v.row = ANY(%(rows)s) AND {having}",
                {**self.values, "rows": numbers(self.rows)},
            )
        return self._number(
            f"SELECT count(*) FROM published r JOIN row_vector v ON v.row = r.row AND {having}"
            f" WHERE r.ns = %(ns)s AND {SEEN} AND {self.condition}"
        )

    def _number(self, query: str, values: dict[str, Any] | None = None) -> int:
        found = self._connection.execute(query, values or self.values).fetchone()
        return int(found[0]) if found else 0

    def named(
        self, rows: Sequence[int], space: int | None, sparse: int | None
    ) -> dict[int, tuple[str, str, bool, bool]]:
        """Those of ``rows`` that match: escaped source id and chunk id, and whether they have vectors."""
        vector = "EXISTS (SELECT 1 FROM row_vector v WHERE v.row = r.row AND v.space = {} AND v.seq <= %(seq)s)"
        has = ["false" if key is None else vector.format(int(key)) for key in (space, sparse)]
        found = self._connection.execute(
            f"SELECT r.row, s.source_id, r.chunk_id, {', '.join(has)} FROM published r"
            " JOIN source s ON s.pk = r.source"
            f" WHERE r.row = ANY(%(rows)s) AND r.ns = %(ns)s AND {SEEN}"
            + ("" if self.rows is not None else f" AND {self.condition}"),
            {**self.values, "rows": numbers(rows)},
            binary=True,
        )
        return {row: (source_id, chunk_id, dense, weights) for row, source_id, chunk_id, dense, weights in found}

    def nearest(self, space: int, query: str, wanted: int, ann: bool) -> list[tuple[int, float]]:
        """The ``wanted`` matching rows with the largest products with ``query``, and those, about.

        ``ann``: by the index, which may miss some; else exactly.
        """
        # An expression of the distance is nothing the index is sorted by, so it keeps the planner from it.
        order = "r.data <#> %(query)s::halfvec" if ann else "(r.data <#> %(query)s::halfvec) + 0"
        if ann:
            self._connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
            self._connection.execute(f"SET LOCAL hnsw.ef_search = {min(1000, max(100, wanted))}")
        return self._connection.execute(
            "SELECT row, -distance FROM ("
            f"(SELECT r.row, {order} AS distance FROM {vec_table(space)} r WHERE r.ns = %(ns)s AND r.since <= %(seq)s"
            f" AND {self.condition} ORDER BY {order} LIMIT %(wanted)s) UNION ALL"
            " (SELECT r.row, x.dense <#> %(query)s::halfvec FROM retired r"
            f" JOIN row_vector v ON v.row = r.row AND v.space = {int(space)} AND v.seq <= %(seq)s"
            " JOIN vector x ON x.pk = v.vector"
            f" WHERE r.ns = %(ns)s AND r.died > %(seq)s AND r.born <= %(seq)s AND {self.condition})) found"
            " ORDER BY distance LIMIT %(wanted)s",
            {**self.values, "query": query, "wanted": wanted},
            binary=True,
        ).fetchall()


def _numbered(text: str, names: Sequence[str]) -> str:
    """Named placeholders for numbered ones."""
    parts = text.split("%s")
    return "".join([parts[0], *(f"%({name})s{rest}" for name, rest in zip(names, parts[1:], strict=True))])
