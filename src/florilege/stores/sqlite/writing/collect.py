"""Collection: what no reader can ask for any more is removed, in short transactions."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from florilege.interfaces.stores import Fence
from florilege.model.failpoints import failpoint
from florilege.stores import codecs
from florilege.stores.rules import doomed
from florilege.stores.sqlite.database.connection import Database
from florilege.stores.sqlite.leases import check_fence
from florilege.stores.sqlite.segments.listing import bury
from florilege.stores.sqlite.writing import rows as sql

_GENERATIONS_A_TRANSACTION = 200


def collect(
    database: Database,
    namespace: str,
    keep_generations: int,
    retention: float,
    vector_age: float,
    fence: Fence | None,
) -> dict[str, int]:
    """See :meth:`florilege.stores.verbs.Verbs.collect`."""
    names = [name for name, _, _ in (*_LEFT_BEHIND, *_LOOSE)]
    counts = dict.fromkeys(("generations", "rows", *names), 0)
    before = codecs.now() - int(retention * 1_000_000)
    with database.read() as connection:
        found = _doomed(connection, namespace, keep_generations, before)
    for start in range(0, len(found), _GENERATIONS_A_TRANSACTION):
        batch = found[start : start + _GENERATIONS_A_TRANSACTION]
        with database.write() as connection:
            check_fence(connection, namespace, fence)
            counts["generations"] += len(batch)
            counts["rows"] += _remove(connection, batch)
            failpoint("collect")
    with database.write() as connection:
        check_fence(connection, namespace, fence)
        for name, statement, values in (*_LEFT_BEHIND, *_LOOSE) if found else _LOOSE:
            moment = codecs.now() - int(vector_age * 1_000_000)
            counts[name] += connection.execute(statement, (moment,) * values).rowcount
        failpoint("collect")
    return counts


# What generations leave behind: whole tables are read for it, so only when some have gone.
_LEFT_BEHIND = (
    (
        "records",
        "DELETE FROM generation WHERE collected AND NOT EXISTS (SELECT 1 FROM row WHERE first_gen = generation.pk)",
        0,
    ),
    (
        "documents",
        "DELETE FROM document WHERE hash NOT IN (SELECT document FROM generation WHERE document IS NOT NULL)",
        0,
    ),
    (
        "metadata",
        "DELETE FROM metadata WHERE pk NOT IN (SELECT metadata FROM row UNION SELECT metadata FROM generation"
        " UNION SELECT metadata FROM parent)",
        0,
    ),
)

_LOOSE = (
    (
        "vectors",
        "DELETE FROM vector WHERE created < ? AND NOT EXISTS (SELECT 1 FROM row_vector v WHERE v.vector = vector.pk)",
        1,
    ),
    (
        "sources",
        "DELETE FROM source WHERE status IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM generation g WHERE g.source = source.pk)",
        0,
    ),
)


def _doomed(
    connection: sqlite3.Connection, namespace: str, keep_generations: int, before: int
) -> list[tuple[int, int]]:
    found = connection.execute(
        "SELECT s.pk, g.pk, g.number, g.retired_at, g.pinned, s.active, a.number"
        " FROM namespace n JOIN source s ON s.ns = n.pk JOIN generation g ON g.source = s.pk"
        " LEFT JOIN generation a ON a.pk = s.active"
        " WHERE n.name = ? AND g.published_seq IS NOT NULL AND NOT g.collected"
        " ORDER BY s.pk, g.number DESC, g.revision DESC",
        (namespace,),
    ).fetchall()
    return doomed(found, keep_generations, before)


def _remove(connection: sqlite3.Connection, batch: Iterable[tuple[int, int]]) -> int:
    """Remove generations with the rows no other generation of their source holds; readers from before are told."""
    by_source: dict[int, list[int]] = defaultdict(list)
    for source, generation in batch:
        by_source[source].append(generation)
    removed = 0
    for source, generations in by_source.items():
        held: set[int] = set()
        doomed: set[int] = set()
        horizon = 0
        for generation, retired_seq in connection.execute(
            "SELECT pk, retired_seq FROM generation WHERE source = ? AND NOT collected", (source,)
        ).fetchall():
            rows = connection.execute("SELECT row FROM manifest WHERE generation = ?", (generation,)).fetchall()
            (doomed if generation in generations else held).update(row for (row,) in rows)
            if generation in generations:
                horizon = max(horizon, retired_seq)
        bury(connection, doomed - held)
        sql.delete_rows(connection, doomed - held)
        for generation in sorted(generations):
            sql.delete_generation(connection, generation)
        connection.execute(
            "INSERT INTO meta (key, value) VALUES ('horizon', ?)"
            " ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)",
            (horizon,),
        )
        removed += len(doomed - held)
    return removed
