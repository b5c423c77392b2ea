"""Vectors by content key, the queue of chunks that wait for one, and the spaces namespaces are bound to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import Fence, PendingVector, VectorLeg
from florilege.model.failpoints import failpoint
from florilege.stores.postgres.leases import check_fence
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.names import add_changes, made_namespace, next_seq, space_key
from florilege.stores.postgres.server.wire import escape
from florilege.stores.postgres.writing.linking import fill, keep_vectors, show, vector_keys
from florilege.stores.postgres.writing.words import StatDelta, TermKeys, add_weights
from florilege.stores.rules import SPACE_COLUMNS, check_space, column_of

_WAITING = (
    " FROM embed_queue q JOIN live r ON r.row = q.row"
    " WHERE q.space = (SELECT pk FROM space WHERE identity = %(space)s) AND q.row > %(after)s"
    " AND r.ns = (SELECT pk FROM namespace WHERE name = %(name)s)"
)


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
        check_space(namespace, bound, space)

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
        return [PendingVector(row, key, full_text(content, context)) for row, key, content, context in found]

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


def full_text(content: bytes, context: bytes) -> str:
    return f"{context.decode()}\n\n{content.decode()}" if context else content.decode()
