"""From one embedding space to another: what lacks a vector of the new one, and the moment of the switch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import Fence, PendingVector, VectorLeg
from florilege.model.failpoints import failpoint
from florilege.stores.postgres.leases import check_fence
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.names import add_changes, made_namespace, namespace_key, next_seq, space_key
from florilege.stores.postgres.vectors import full_text
from florilege.stores.rules import column_of

_LACKING = (
    " FROM live r WHERE r.ns = %(ns)s AND r.row > %(after)s"
    " AND NOT EXISTS (SELECT 1 FROM row_vector v WHERE v.row = r.row AND v.space = %(space)s)"
)


class Spaces:
    """The verbs that change a namespace's space."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def unembedded(self, namespace: str, space: EmbeddingSpace, after: int, limit: int) -> list[PendingVector]:
        """See :meth:`florilege.interfaces.stores.DataStore.unembedded`."""

        def work(connection: Connection) -> list[tuple[Any, ...]]:
            values = {
                "ns": namespace_key(connection, namespace),
                "space": space_key(connection, space),
                "after": after,
                "limit": limit,
            }
            return connection.execute(
                f"SELECT x.row, t.content, t.context FROM (SELECT r.row {_LACKING} ORDER BY r.row LIMIT %(limit)s) x"
                " JOIN text t ON t.row = x.row ORDER BY x.row",
                values,
            ).fetchall()

        return [PendingVector(row, b"", full_text(*text)) for row, *text in self._database.read(work)]

    def enqueue(
        self, namespace: str, space: EmbeddingSpace, pending: Sequence[PendingVector], fence: Fence | None
    ) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.enqueue_vectors`."""

        def work(connection: Connection) -> None:
            check_fence(connection, namespace, fence)
            pk = space_key(connection, space, create=True)
            connection.execute(
                "INSERT INTO embed_queue (space, row, key) SELECT %s, l.row, u.key"
                " FROM unnest(%s::bigint[], %s::bytea[]) AS u (row, key) JOIN live l ON l.row = u.row"
                " ON CONFLICT (space, row) DO UPDATE SET key = excluded.key",
                (pk, [item.row for item in pending], [item.key for item in pending]),
            )
            failpoint("enqueue")

        self._database.write(work)

    def switch(
        self, namespace: str, space: EmbeddingSpace, leg: VectorLeg, but: Collection[int], fence: Fence | None
    ) -> int:
        """See :meth:`florilege.interfaces.stores.DataStore.switch_space`."""
        column = column_of(space, leg)

        def work(connection: Connection) -> int:
            check_fence(connection, namespace, fence)
            ns = made_namespace(connection, namespace)
            pk = space_key(connection, space, create=True)
            seq, at = next_seq(connection, ns)
            found = connection.execute(
                f"SELECT count(*) {_LACKING} AND r.row <> ALL(%(but)s)",
                {"ns": ns, "after": 0, "space": pk, "but": list(but)},
            ).fetchone()
            if found is not None and found[0]:
                return int(found[0])
            failpoint("switch")
            connection.execute(f"UPDATE namespace SET {column} = %s WHERE pk = %s", (space.identity, ns))
            connection.execute(
                "DELETE FROM embed_queue q USING live l, namespace n WHERE l.row = q.row AND l.ns = n.pk AND n.pk = %s"
                " AND q.space NOT IN (SELECT s.pk FROM space s WHERE s.identity IN (n.space, n.sparse_space))",
                (ns,),
            )
            add_changes(connection, ns, seq, at, [("vectors", None, None)])
            return 0

        return self._database.write(work)
