"""Collection: what no reader can ask for any more is removed, in short transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from florilege.interfaces.stores import Fence
from florilege.model.failpoints import failpoint
from florilege.stores.postgres.leases import check_fence
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.names import namespace_key
from florilege.stores.postgres.server.schema import hold_references
from florilege.stores.postgres.writing import rows as sql
from florilege.stores.postgres.writing.merging import merge_wasteful
from florilege.stores.rules import doomed

_GENERATIONS_A_TRANSACTION = 200
_NOW = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

_UNREFERENCED = {
    "documents": (
        "DELETE FROM document d WHERE d.hash NOT IN (SELECT document FROM generation WHERE document IS NOT NULL)"
    ),
    "metadata": (
        "DELETE FROM facet f WHERE f.ns = %(ns)s AND NOT EXISTS (SELECT 1 FROM live r WHERE r.facet = f.pk)"
        " AND f.pk NOT IN (SELECT facet FROM retired UNION SELECT facet FROM staged"
        " UNION SELECT facet FROM generation UNION SELECT facet FROM parent)"
    ),
    "vectors": (
        f"DELETE FROM vector x WHERE x.created < {_NOW} - %(age)s"
        " AND NOT EXISTS (SELECT 1 FROM row_vector v WHERE v.vector = x.pk)"
    ),
    "sources": (
        "DELETE FROM source s WHERE s.ns = %(ns)s AND s.status IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM generation g WHERE g.source = s.pk)"
    ),
}


def collect(
    database: Database,
    namespace: str,
    keep_generations: int,
    retention: float,
    vector_age: float,
    fence: Fence | None,
) -> dict[str, int]:
    """See :meth:`florilege.stores.verbs.Verbs.collect`."""
    counts: Counter[str] = Counter(dict.fromkeys(("generations", "rows", *_UNREFERENCED), 0))
    before = int(retention * 1_000_000)
    found = database.read(lambda connection: _doomed(connection, namespace, keep_generations, before))
    for start in range(0, len(found), _GENERATIONS_A_TRANSACTION):
        batch = [generation for _, generation in found[start : start + _GENERATIONS_A_TRANSACTION]]
        counts["generations"] += len(batch)
        counts["rows"] += database.write(partial(_remove, namespace, batch, fence))

    def sweep(query: str, connection: Connection) -> int:
        check_fence(connection, namespace, fence)
        hold_references(database, connection, exclusive=True)
        values = {"ns": namespace_key(connection, namespace), "age": int(vector_age * 1_000_000)}
        gone = connection.execute(query, values).rowcount
        failpoint("collect")
        return gone

    for name, query in _UNREFERENCED.items():
        counts[name] += database.write(partial(sweep, query))
    counts["stats"] = database.write(partial(_fold, namespace, before, fence))
    merge_wasteful(database, namespace)
    return dict(counts)


def _doomed(connection: Connection, namespace: str, keep_generations: int, age: int) -> list[tuple[int, int]]:
    ns = namespace_key(connection, namespace)
    found = connection.execute(
        "SELECT s.pk, g.pk, g.number, g.retired_at, g.pinned, s.active, a.number"
        " FROM source s JOIN generation g ON g.source = s.pk LEFT JOIN generation a ON a.pk = s.active"
        " WHERE s.ns = %s AND g.published_seq IS NOT NULL ORDER BY s.pk, g.number DESC, g.revision DESC",
        (ns,),
    ).fetchall()
    moment = connection.execute(f"SELECT {_NOW} - %s", (age,)).fetchone()
    assert moment is not None
    return doomed(found, keep_generations, moment[0])


def _remove(namespace: str, generations: Sequence[int], fence: Fence | None, connection: Connection) -> int:
    """Remove generations with the rows no other generation holds; readers from before are told."""
    check_fence(connection, namespace, fence)
    ns = namespace_key(connection, namespace)
    rows = [
        row
        for (row,) in connection.execute(
            "SELECT DISTINCT m.row FROM generation g JOIN manifest m ON m.generation = g.pk"
            " WHERE g.pk = ANY(%(doomed)s) AND NOT EXISTS (SELECT 1 FROM generation o JOIN manifest k"
            " ON k.generation = o.pk AND k.row = m.row WHERE o.source = g.source AND o.pk <> ALL(%(doomed)s))",
            {"doomed": list(generations)},
        )
    ]
    connection.execute(
        "UPDATE namespace SET horizon = greatest(horizon, (SELECT max(retired_seq) FROM generation WHERE pk = ANY(%s)))"
        " WHERE pk = %s",
        (list(generations), ns),
    )
    sql.delete_rows(connection, rows)
    sql.delete_generations(connection, list(generations))
    failpoint("collect")
    return len(rows)


def _fold(namespace: str, age: int, fence: Fence | None, connection: Connection) -> int:
    """Sum the counts' changes up to the newest one older than ``age``; returns how many lines fewer there are."""
    check_fence(connection, namespace, fence)
    ns = namespace_key(connection, namespace)
    found = connection.execute(
        f"SELECT max(c.seq) FROM change c WHERE c.ns = %s AND c.at <= {_NOW} - %s", (ns, age)
    ).fetchone()
    seq = found[0] if found else None
    if seq is None:
        return 0
    folded = connection.execute(
        "WITH gone AS (DELETE FROM stat_delta WHERE ns = %(ns)s AND seq <= %(seq)s RETURNING term, ddf),"
        " summed AS (SELECT term, sum(ddf)::bigint AS ddf, count(*) AS lines FROM gone GROUP BY term)"
        " SELECT term, ddf, lines FROM summed",
        {"ns": ns, "seq": seq},
        binary=True,
    ).fetchall()
    lines = [(term, ddf) for term, ddf, _ in folded if ddf]
    connection.execute(
        "INSERT INTO stat_delta (ns, term, seq, ddf) SELECT %s, term, %s, ddf"
        " FROM unnest(%s::bigint[], %s::bigint[]) AS u (term, ddf)",
        (ns, seq, [term for term, _ in lines], [ddf for _, ddf in lines]),
    )
    connection.execute("UPDATE namespace SET horizon = greatest(horizon, %s) WHERE pk = %s", (seq, ns))
    connection.execute("DELETE FROM change WHERE ns = %s AND seq < %s", (ns, seq))
    failpoint("collect")
    return sum(int(count) for _, _, count in folded) - len(lines)
