"""From one embedding space to another: which chunks lack a vector, and the switch once none does."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import Fence, PendingVector, VectorLeg
from florilege.model.failpoints import failpoint
from florilege.stores.rules import column_of
from florilege.stores.sqlite.database.connection import Database
from florilege.stores.sqlite.leases import check_fence
from florilege.stores.sqlite.writing.rows import add_change, namespace_key, space_key

_LACKING = (
    " FROM row r CROSS JOIN generation g ON g.pk = r.first_gen"  # by row: the next page begins where the last ended
    " WHERE g.ns = ? AND g.published_seq IS NOT NULL AND r.died IS NULL AND r.pk > ?"
    " AND NOT EXISTS (SELECT 1 FROM row_vector v WHERE v.row = r.pk AND v.space = ?)"
)


class Spaces:
    """The verbs of a migration."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def unembedded(self, namespace: str, space: EmbeddingSpace, after: int, limit: int) -> list[PendingVector]:
        """See :meth:`florilege.interfaces.stores.DataStore.unembedded`."""
        with self._database.view() as connection:
            ns, pk = namespace_key(connection, namespace), space_key(connection, space)
            rows = connection.execute(
                f"SELECT x.pk, t.content, t.context FROM (SELECT r.pk {_LACKING} ORDER BY r.pk LIMIT ?) x"
                " CROSS JOIN text t ON t.row = x.pk ORDER BY x.pk",
                (ns, after, pk, limit),
            ).fetchall()
        return [PendingVector(row, b"", f"{context}\n\n{text}" if context else text) for row, text, context in rows]

    def enqueue(
        self, namespace: str, space: EmbeddingSpace, pending: Sequence[PendingVector], fence: Fence | None
    ) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.enqueue_vectors`."""
        with self._database.write() as connection:
            check_fence(connection, namespace, fence)
            pk = space_key(connection, space, create=True)
            connection.executemany(
                "INSERT OR REPLACE INTO embed_queue (space, row, key)"
                " SELECT ?, pk, ? FROM row WHERE pk = ? AND died IS NULL",
                [(pk, item.key, item.row) for item in pending],
            )
            failpoint("enqueue")

    def switch(
        self, namespace: str, space: EmbeddingSpace, leg: VectorLeg, but: Collection[int], fence: Fence | None
    ) -> int:
        """See :meth:`florilege.interfaces.stores.DataStore.switch_space`."""
        column = column_of(space, leg)
        excused = frozenset(but)
        with self._database.write() as connection:
            check_fence(connection, namespace, fence)
            ns = namespace_key(connection, namespace, create=True)
            pk = space_key(connection, space, create=True)
            rows = connection.execute(f"SELECT r.pk {_LACKING}", (ns, 0, pk))
            lacking = sum(row not in excused for (row,) in rows)
            if lacking:
                return lacking
            failpoint("switch")
            connection.execute(f"UPDATE namespace SET {column} = ? WHERE pk = ?", (space.identity, ns))
            connection.execute(
                "DELETE FROM embed_queue WHERE row IN (SELECT r.pk FROM generation g JOIN row r ON r.first_gen = g.pk"
                " WHERE g.ns = ?1) AND space NOT IN (SELECT s.pk FROM namespace n JOIN space s"
                " ON s.identity IN (n.space, n.sparse_space) WHERE n.pk = ?1)",
                (ns,),
            )
            add_change(connection, "vectors", ns)
        return 0
