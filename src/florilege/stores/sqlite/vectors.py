"""Vectors by content key, the queue of chunks that wait for one, and the spaces namespaces are bound to."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import Fence, PendingVector, VectorLeg
from florilege.model.failpoints import failpoint
from florilege.stores import codecs
from florilege.stores.rules import SPACE_COLUMNS, check_space, column_of
from florilege.stores.sqlite.database.connection import Database
from florilege.stores.sqlite.leases import check_fence
from florilege.stores.sqlite.segments.sealing import Sealer
from florilege.stores.sqlite.writing.linking import vector_keys
from florilege.stores.sqlite.writing.rows import add_change, namespace_key, space_key

_WAITING = (
    " FROM embed_queue q JOIN row r ON r.pk = q.row JOIN generation g ON g.pk = r.first_gen"
    " JOIN namespace n ON n.pk = g.ns"
    " WHERE q.space = (SELECT pk FROM space WHERE identity = ?) AND q.row > ? AND n.name = ?"
    " AND r.died IS NULL AND g.published_seq IS NOT NULL"
)


class Vectors:
    """The verbs that keep vectors."""

    def __init__(self, database: Database, sealer: Sealer) -> None:
        self._database = database
        self._sealer = sealer

    def bind(self, namespace: str, space: EmbeddingSpace, leg: VectorLeg) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.bind_space`."""
        column = column_of(space, leg)
        bound = self.bound(namespace, leg)
        if bound is None:
            with self._database.write() as connection:
                ns = namespace_key(connection, namespace, create=True)
                space_key(connection, space, create=True)
                connection.execute(
                    f"UPDATE namespace SET {column} = ? WHERE pk = ? AND {column} IS NULL", (space.identity, ns)
                )
                (bound,) = connection.execute(f"SELECT {column} FROM namespace WHERE pk = ?", (ns,)).fetchone()
        check_space(namespace, bound, space)

    def bound(self, namespace: str, leg: VectorLeg) -> str | None:
        """See :meth:`florilege.interfaces.stores.DataStore.bound_space`."""
        query = f"SELECT {SPACE_COLUMNS[leg]} FROM namespace WHERE name = ?"
        with self._database.read() as connection:
            found = connection.execute(query, (namespace,)).fetchone()
        return None if found is None else found[0]

    def missing(self, space: EmbeddingSpace, keys: Sequence[bytes]) -> set[bytes]:
        """See :meth:`florilege.interfaces.stores.DataStore.missing_vectors`."""
        with self._database.view() as connection:
            known = space_key(connection, space)
            return set(keys) if known is None else set(keys) - vector_keys(connection, known, keys).keys()

    def put(self, space: EmbeddingSpace, keys: Sequence[bytes], vectors: Any) -> None:
        """See ``put_vectors`` and ``put_sparse`` of :class:`florilege.interfaces.stores.DataStore`."""
        blobs = codecs.encode_of(space, vectors, len(keys))
        with self._database.write() as connection:
            pk = space_key(connection, space, create=True)
            assert pk is not None
            _keep(connection, pk, keys, blobs)
            failpoint("vectors")

    def pending(self, namespace: str, space: EmbeddingSpace, after: int, limit: int) -> list[PendingVector]:
        """See :meth:`florilege.interfaces.stores.DataStore.pending_vectors`."""
        with self._database.view() as connection:
            waiting = connection.execute(
                f"SELECT q.row, q.key {_WAITING} ORDER BY q.row LIMIT ?", (space.identity, after, namespace, limit)
            ).fetchall()
            found = []
            for row, key in waiting:
                content, context = connection.execute(
                    "SELECT content, context FROM text WHERE row = ?", (row,)
                ).fetchone()
                found.append(PendingVector(row, key, f"{context}\n\n{content}" if context else content))
        return found

    def count_pending(self, namespace: str, space: EmbeddingSpace) -> int:
        """See :meth:`florilege.interfaces.stores.DataStore.count_pending`."""
        with self._database.read() as connection:
            (count,) = connection.execute(f"SELECT count(*) {_WAITING}", (space.identity, 0, namespace)).fetchone()
        return int(count)

    def fill(
        self,
        namespace: str,
        space: EmbeddingSpace,
        pending: Sequence[PendingVector],
        vectors: Any,
        fence: Fence | None,
    ) -> int:
        """See :meth:`florilege.interfaces.stores.DataStore.fill_vectors`.

        Every waiting chunk of the namespace with one of these keys takes its vector, so equal texts are paid once.
        """
        keys = [item.key for item in pending]
        blobs = None if vectors is None else codecs.encode_of(space, vectors, len(keys))
        with self._database.write() as connection:
            check_fence(connection, namespace, fence)
            ns = namespace_key(connection, namespace)
            pk = space_key(connection, space, create=True)
            assert pk is not None
            if blobs is not None:
                _keep(connection, pk, keys, blobs)
            known = vector_keys(connection, pk, keys)
            waiting: list[tuple[int, bytes]] = []
            for key in known:
                waiting += connection.execute(
                    "SELECT q.row, q.key FROM embed_queue q JOIN row r ON r.pk = q.row"
                    " JOIN generation g ON g.pk = r.first_gen WHERE q.space = ? AND q.key = ? AND g.ns = ?"
                    " AND g.published_seq IS NOT NULL AND r.died IS NULL",
                    (pk, key, ns),
                ).fetchall()
            if waiting:
                seq, _ = add_change(connection, "vectors", ns)
                connection.executemany(
                    "INSERT INTO row_vector (row, space, vector, seq) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    [(row, pk, known[key], seq) for row, key in waiting],
                )
                connection.executemany(
                    "DELETE FROM embed_queue WHERE space = ? AND row = ?", [(pk, row) for row, _ in waiting]
                )
            failpoint("fill")
        self._sealer.tend(namespace, len(waiting))
        return len(waiting)


def _keep(connection: sqlite3.Connection, space: int, keys: Sequence[bytes], blobs: Sequence[bytes]) -> None:
    at = codecs.now()
    connection.executemany(
        "INSERT INTO vector (space, key, data, created) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [(space, key, blob, at) for key, blob in zip(keys, blobs, strict=True)],
    )
