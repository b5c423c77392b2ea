"""Vectors by content key, the queue of chunks that wait for one, and the spaces namespaces are bound to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import Fence, PendingVector, VectorLeg
from florilege.model.errors import ConfigError
from florilege.model.failpoints import failpoint
from florilege.stores.postgres.leases import check_fence
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.names import add_changes, made_namespace, namespace_key, next_seq, space_key
from florilege.stores.postgres.server.wire import escape
from florilege.stores.postgres.writing.linking import fill, keep_vectors, show, vector_keys
from florilege.stores.postgres.writing.words import StatDelta, TermKeys, add_weights

_WAITING = (
    " FROM embed_queue q JOIN live r ON r.row = q.row"
    " WHERE q.space = (SELECT pk FROM space WHERE identity = %(space)s) AND q.row > %(after)s"
    " AND r.ns = (SELECT pk FROM namespace WHERE name = %(name)s)"
)
_LACKING = (
    " FROM live r WHERE r.ns = %(ns)s AND r.row > %(after)s"
    " AND NOT EXISTS (SELECT 1 FROM row_vector v WHERE v.row = r.row AND v.space = %(space)s)"
)

SPACE_COLUMNS: dict[VectorLeg, str] = {"dense": "space", "sparse": "sparse_space"}
"""Where a namespace keeps what its legs are bound to."""


def column_of(space: EmbeddingSpace, leg: VectorLeg) -> str:
    """The leg's column; ConfigError for a space of the other kind."""
    if space.sparse is not (leg == "sparse"):
        raise ConfigError(f"space {space.identity} is not one for the {leg} leg", code="wrong_space")
    return SPACE_COLUMNS[leg]


class Vectors:
    """The verbs that keep vectors."""

    def __init__(self, database: Database, keys: Callable[[int], TermKeys]) -> None:
        self._database = database
        self._keys = keys

    def bind(self, namespace: str, space: EmbeddingSpace, leg: VectorLeg) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.bind_space`."""
        column = column_of(space, leg)

        def work(connection: Connection) -> str:
            ns = made_namespace(connection, namespace)
            space_key(connection, space, create=True)
            found = connection.execute(
                f"UPDATE namespace SET {column} = coalesce({column}, %s) WHERE pk = %s RETURNING {column}",
                (space.identity, ns),
            ).fetchone()
            assert found is not None
            return str(found[0])

        bound = self.bound(namespace, leg)
        if bound is None:
            bound = self._database.write(work)
        if bound != space.identity:
            raise ConfigError(
                f"namespace {namespace!r} holds vectors of {bound}, not of {space.identity}; "
                "open it with its own embedder, or index into another namespace",
                code="space_mismatch",
            )

    def bound(self, namespace: str, leg: VectorLeg) -> str | None:
        """See :meth:`florilege.interfaces.stores.DataStore.bound_space`."""
        found = self._database.fetch(
            f"SELECT {SPACE_COLUMNS[leg]} FROM namespace WHERE name = %s", (escape(namespace),)
        )
        return found[0][0] if found else None

    def missing(self, space: EmbeddingSpace, keys: Sequence[bytes]) -> set[bytes]:
        """See :meth:`florilege.interfaces.stores.DataStore.missing_vectors`."""

        def work(connection: Connection) -> set[bytes]:
            known = space_key(connection, space)
            return set(keys) if known is None else set(keys) - vector_keys(connection, known, keys).keys()

        return self._database.read(work)

    def put(self, space: EmbeddingSpace, keys: Sequence[bytes], vectors: Any) -> None:
        """See ``put_vectors`` and ``put_sparse`` of :class:`florilege.interfaces.stores.DataStore`."""

        def work(connection: Connection) -> None:
            pk = space_key(connection, space, create=True)
            assert pk is not None
            keep_vectors(connection, space, pk, keys, vectors)
            failpoint("vectors")

        self._database.write(work)

    def pending(self, namespace: str, space: EmbeddingSpace, after: int, limit: int) -> list[PendingVector]:
        """See :meth:`florilege.interfaces.stores.DataStore.pending_vectors`."""
        values = {"space": space.identity, "after": after, "name": escape(namespace), "limit": limit}
        found = self._database.fetch(
            f"SELECT x.row, x.key, t.content, t.context FROM (SELECT q.row, q.key {_WAITING} ORDER BY q.row"
            " LIMIT %(limit)s) x JOIN text t ON t.row = x.row ORDER BY x.row",
            values,
        )
        return [PendingVector(row, key, _full(content, context)) for row, key, content, context in found]

    def count_pending(self, namespace: str, space: EmbeddingSpace) -> int:
        """See :meth:`florilege.interfaces.stores.DataStore.count_pending`."""
        values = {"space": space.identity, "after": 0, "name": escape(namespace)}
        ((count,),) = self._database.fetch(f"SELECT count(*) {_WAITING}", values)
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

        def work(connection: Connection) -> int:
            check_fence(connection, namespace, fence)
            ns = made_namespace(connection, namespace)
            pk = space_key(connection, space, create=True)
            assert pk is not None
            if vectors is not None:
                keep_vectors(connection, space, pk, keys, vectors)
            waiting = (
                "SELECT q.space, q.row, v.pk FROM vector v"
                " JOIN embed_queue q ON q.space = v.space AND q.key = v.key JOIN live l ON l.row = q.row"
                " WHERE v.space = %(space)s AND v.key = ANY(%(keys)s) AND l.ns = %(ns)s"
            )
            values = {"space": pk, "keys": keys, "ns": ns}
            if not keys or connection.execute(f"{waiting} LIMIT 1", values).fetchone() is None:
                return 0
            seq, at = next_seq(connection, ns)
            rows = fill(connection, waiting, {**values, "seq": seq})[pk]
            terms = self._keys(ns)
            if space.sparse:
                add_weights(connection, terms, ns, pk, rows)
            else:
                show(connection, pk, "SELECT unnest(%s::bigint[]) AS row", (rows,))
            stats = StatDelta(terms)
            stats.count(terms.vectors(pk), len(rows))
            stats.write(connection, ns, seq)
            add_changes(connection, ns, seq, at, [("vectors", None, None)])
            failpoint("fill")
            return len(rows)

        return self._database.write(work)

    # -- from one space to another --------------------------------------------------------------------------------

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

        return [PendingVector(row, b"", _full(*text)) for row, *text in self._database.read(work)]

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


def _full(content: bytes, context: bytes) -> str:
    return f"{context.decode()}\n\n{content.decode()}" if context else content.decode()
