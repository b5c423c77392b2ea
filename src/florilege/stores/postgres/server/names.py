"""Names and their keys: namespaces, spaces, sources; and the next sequence number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.stores.postgres.server.connection import Connection
from florilege.stores.postgres.server.tables import add_space
from florilege.stores.postgres.server.wire import escape


def namespace_key(connection: Connection, name: str, *, create: bool = False) -> int | None:
    """The namespace's key; None when there is no such namespace and none shall be made."""
    found = connection.execute("SELECT pk FROM namespace WHERE name = %s", (escape(name),)).fetchone()
    if found is None and create:
        found = connection.execute(
            "INSERT INTO namespace (name) VALUES (%s) ON CONFLICT (name) DO UPDATE SET name = excluded.name"
            " RETURNING pk",
            (escape(name),),
        ).fetchone()
    return None if found is None else int(found[0])


def made_namespace(connection: Connection, name: str) -> int:
    """The namespace's key, made when there is none."""
    key = namespace_key(connection, name, create=True)
    assert key is not None
    return key


def space_key(connection: Connection, space: EmbeddingSpace, *, create: bool = False) -> int | None:
    """The space's key, as :func:`namespace_key`."""
    found = connection.execute("SELECT pk FROM space WHERE identity = %s", (space.identity,)).fetchone()
    if found is not None:
        return int(found[0])
    return add_space(connection, space) if create else None


def spaces(connection: Connection) -> dict[int, bool]:
    """The keys of all spaces, and which of them are sparse."""
    return dict(connection.execute("SELECT pk, sparse FROM space ORDER BY pk").fetchall())


def source_keys(connection: Connection, namespace: int, source_ids: Iterable[str]) -> dict[str, int]:
    """The sources' keys, made where there are none."""
    escaped = {escape(source_id): source_id for source_id in source_ids}
    names = sorted(escaped)
    connection.execute(
        "INSERT INTO source (ns, source_id) SELECT %s, name FROM unnest(%s::text[]) name ON CONFLICT DO NOTHING",
        (namespace, names),
    )
    found = connection.execute(
        "SELECT source_id, pk FROM source WHERE ns = %s AND source_id = ANY(%s)", (namespace, names)
    )
    return {escaped[name]: pk for name, pk in found}


def next_seq(connection: Connection, namespace: int) -> tuple[int, int]:
    """The namespace's next sequence number, and the server's time.

    Holds up whoever else wants one until this transaction ends, so numbers become visible in their order: take it last.
    """
    found = connection.execute(
        "UPDATE namespace SET seq = seq + 1 WHERE pk = %s"
        " RETURNING seq, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
        (namespace,),
    ).fetchone()
    assert found is not None
    return int(found[0]), int(found[1])


def add_changes(
    connection: Connection,
    namespace: int,
    seq: int,
    at: int,
    changes: Sequence[tuple[str, int | None, int | None]],
) -> None:
    """Note what happened at a sequence number: kinds, sources, generations."""
    kinds, sources, generations = zip(*changes, strict=True)
    connection.execute(
        "INSERT INTO change (ns, seq, kind, source, generation, at) SELECT %s, %s, kind, source, generation, %s"
        " FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS u (kind, source, generation)",
        (namespace, seq, at, list(kinds), list(sources), list(generations)),
    )


def allocate(connection: Connection, sequence: str, count: int) -> list[int]:
    """The next ``count`` numbers of a sequence."""
    found = connection.execute(f"SELECT nextval('{sequence}') FROM generate_series(1, %s)", (count,))
    return [number for (number,) in found]
