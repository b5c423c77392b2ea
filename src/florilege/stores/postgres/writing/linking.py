"""Which row has which vector, which rows wait for one, and what is searched of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.stores import codecs
from florilege.stores.postgres.server.connection import Connection
from florilege.stores.postgres.server.names import spaces
from florilege.stores.postgres.server.tables import vec_table
from florilege.stores.postgres.server.wire import Half, copy
from florilege.stores.postgres.writing.words import StatDelta, TermKeys, add_weights

Keyed = tuple[int, int, bytes]
"""A space, a row, and the key of the vector the row wants."""


def vector_keys(connection: Connection, space: int, keys: Iterable[bytes]) -> dict[bytes, int]:
    """Which of these content keys have a vector, and which row of ``vector`` it is."""
    found = connection.execute(
        "SELECT key, pk FROM vector WHERE space = %s AND key = ANY(%s)", (space, list(dict.fromkeys(keys)))
    )
    return {bytes(key): pk for key, pk in found}


def keep_vectors(connection: Connection, space: EmbeddingSpace, pk: int, keys: Sequence[bytes], vectors: Any) -> None:
    """Store vectors under those of ``keys`` that have none."""
    blobs = codecs.encode_of(space, vectors, len(keys))
    known = vector_keys(connection, pk, keys)
    new = {key: blob for key, blob in zip(reversed(keys), reversed(blobs), strict=True) if key not in known}
    at = codecs.now()
    column, kind = ("sparse", "bytea") if space.sparse else ("dense", "halfvec")
    lines = ((pk, key, blob if space.sparse else Half(blob), at) for key, blob in sorted(new.items()))
    copy(connection, "vector", f"space int4, key bytea, {column} {kind}, created int8", lines)


def attach(
    connection: Connection,
    keys: TermKeys,
    namespace: int,
    keyed: Sequence[Keyed],
    twins: Sequence[tuple[int, int]],
    generation: int | None,
) -> None:
    """Give new rows the vectors there are under their keys, and let the others wait.

    ``twins`` are new rows, each with one of the same text, whose vectors of every other space it takes. ``generation``:
    the rows are staged under it.
    """
    if keyed:
        wanted = tuple(map(list, zip(*keyed, strict=True)))
        given = "unnest(%s::int[], %s::bigint[], %s::bytea[]) AS u (space, row, key)"
        connection.execute(
            "INSERT INTO row_vector (row, space, vector, seq) SELECT u.row, u.space, v.pk, 0"
            f" FROM {given} JOIN vector v ON v.space = u.space AND v.key = u.key",
            wanted,
        )
        connection.execute(
            f"INSERT INTO embed_queue (space, row, key) SELECT u.* FROM {given}"
            " WHERE NOT EXISTS (SELECT 1 FROM row_vector v WHERE v.row = u.row AND v.space = u.space)",
            wanted,
        )
    if twins:
        lent = tuple(map(list, zip(*twins, strict=True)))
        given = "unnest(%s::bigint[], %s::bigint[]) AS u (row, twin)"
        connection.execute(
            "INSERT INTO row_vector (row, space, vector, seq) SELECT u.row, v.space, v.vector, 0"
            f" FROM {given} JOIN row_vector v ON v.row = u.twin"
            " WHERE NOT EXISTS (SELECT 1 FROM embed_queue q WHERE q.row = u.row AND q.space = v.space)"
            " ON CONFLICT DO NOTHING",
            lent,
        )
        connection.execute(
            "INSERT INTO embed_queue (space, row, key) SELECT q.space, u.row, q.key"
            f" FROM {given} JOIN embed_queue q ON q.row = u.twin"
            " WHERE NOT EXISTS (SELECT 1 FROM row_vector v WHERE v.row = u.row AND v.space = q.space)"
            " ON CONFLICT DO NOTHING",
            lent,
        )
    rows = list(dict.fromkeys([*(row for _, row, _ in keyed), *(row for row, _ in twins)]))
    for space, sparse in spaces(connection).items() if rows else ():
        if sparse:
            add_weights(connection, keys, namespace, space, rows, generation)


def link(
    connection: Connection,
    keys: TermKeys,
    namespace: int,
    generations: Sequence[int],
    carried: Sequence[Keyed],
    seq: int,
    stats: StatDelta,
) -> dict[int, int]:
    """See that every live row of these generations has its vectors or waits for them; how many wait, by generation.

    ``carried`` are rows that may have been written before their space was asked for. A vector may also have come since
    a row was queued: such rows have theirs from ``seq`` on.
    """
    if carried:
        connection.execute(
            "INSERT INTO embed_queue (space, row, key) SELECT u.* FROM"
            " unnest(%s::int[], %s::bigint[], %s::bytea[]) AS u (space, row, key)"
            " WHERE NOT EXISTS (SELECT 1 FROM row_vector v WHERE v.row = u.row AND v.space = u.space)"
            " ON CONFLICT (space, row) DO UPDATE SET key = excluded.key",
            tuple(map(list, zip(*carried, strict=True))),
        )
    known = spaces(connection)
    if not known:
        return {}
    values = {"generations": list(generations), "seq": seq}
    filled = fill(
        connection,
        "SELECT q.space, q.row, v.pk FROM manifest m JOIN embed_queue q ON q.row = m.row"
        " JOIN vector v ON v.space = q.space AND v.key = q.key WHERE m.generation = ANY(%(generations)s)",
        values,
    )
    members = "SELECT row FROM manifest WHERE generation = ANY(%(generations)s)"
    for space, sparse in known.items():
        if sparse:
            add_weights(connection, keys, namespace, space, filled[space])
            stats.count(keys.vectors(space), _count_sparse(connection, space, members, values) + len(filled[space]))
        else:
            stats.count(keys.vectors(space), show(connection, space, members, values))
    waiting = connection.execute(
        "SELECT m.generation, count(*) FROM manifest m JOIN embed_queue q ON q.row = m.row"
        " WHERE m.generation = ANY(%(generations)s) GROUP BY 1",
        values,
    )
    return dict(waiting.fetchall())


def _count_sparse(connection: Connection, space: int, members: str, values: dict[str, Any]) -> int:
    """How many of these rows became visible at ``seq`` with a sparse vector they had before."""
    found = connection.execute(
        f"SELECT count(*) FROM ({members}) m JOIN live l ON l.row = m.row AND l.born = %(seq)s"
        f" JOIN row_vector v ON v.row = m.row AND v.space = {int(space)} AND v.seq < %(seq)s",
        values,
    ).fetchone()
    return int(found[0]) if found else 0


def fill(connection: Connection, found: str, values: dict[str, Any]) -> dict[int, list[int]]:
    """Rows that wait take their vector, from ``seq`` on; which did, by space.

    ``found`` selects spaces, rows and vectors.
    """
    filled: dict[int, list[int]] = defaultdict(list)
    for space, row in connection.execute(
        f"WITH found AS MATERIALIZED ({found}), gone AS (DELETE FROM embed_queue q USING found f"
        " WHERE q.space = f.space AND q.row = f.row)"
        " INSERT INTO row_vector (row, space, vector, seq) SELECT row, space, pk, %(seq)s FROM found"
        " ON CONFLICT DO NOTHING RETURNING space, row",
        values,
    ):
        filled[space].append(row)
    return filled


def show(connection: Connection, space: int, rows: str, values: Any) -> int:
    """Copy the dense vectors of live rows to where they are searched; ``rows`` selects the rows. Returns how many."""
    return connection.execute(
        f"INSERT INTO {vec_table(space)} (row, ns, facet, since, data)"
        f" SELECT l.row, l.ns, l.facet, greatest(l.born, v.seq), x.dense FROM ({rows}) r JOIN live l ON l.row = r.row"
        f" JOIN row_vector v ON v.row = l.row AND v.space = {int(space)} JOIN vector x ON x.pk = v.vector"
        f" WHERE NOT EXISTS (SELECT 1 FROM {vec_table(space)} s WHERE s.row = l.row)",
        values,
    ).rowcount
