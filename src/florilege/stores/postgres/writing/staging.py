"""Large sources: staged in short transactions under a generation nobody sees, and published in one.

Whoever stages holds an advisory lock on the generation, which the server lets go when the connection ends: a staged
generation nobody holds is a dead writer's, and is swept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from florilege.interfaces.stores import Fence, SourceWrite, WriteOutcome
from florilege.model.failpoints import failpoint
from florilege.stores.postgres.server.connection import Connection
from florilege.stores.postgres.server.names import made_namespace, next_seq
from florilege.stores.postgres.server.schema import lock_key
from florilege.stores.postgres.writing import publication
from florilege.stores.postgres.writing import rows as sql
from florilege.stores.postgres.writing.drafting import Drafting, spaces_of
from florilege.stores.postgres.writing.rows import Draft
from florilege.stores.postgres.writing.words import StatDelta
from florilege.stores.preparation import Row


class Staging:
    """Publishes one large source at a time, in pieces of ``batch`` chunks."""

    def __init__(self, drafting: Drafting, batch: int) -> None:
        self._drafting = drafting
        self._database = drafting.database
        self._vocabulary = drafting.vocabulary
        self._batch = batch

    def publish(self, namespace: str, writes: Sequence[SourceWrite], fence: Fence | None) -> list[WriteOutcome]:
        (plan,) = self._drafting.prepare(namespace, writes)
        with self._database.connection() as connection:

            def start(connection: Connection) -> tuple[int, str | None, Draft | None, dict[str, int]]:
                self._drafting.begin(connection, namespace, fence)
                ns = made_namespace(connection, namespace)
                conflicts, actives = self._drafting.admitted(connection, ns, [plan])
                if conflicts[plan.source_id] is not None:
                    return ns, conflicts[plan.source_id], None, {}
                (draft,) = self._drafting.drafts(connection, ns, [plan], actives)
                connection.execute("SELECT pg_advisory_lock(%s)", (self._staging(draft.generation),))
                sql.add_generations(connection, ns, [draft])
                return ns, None, draft, spaces_of(connection, [plan])

            ns, conflict, draft, spaces = self._database.write(start, connection)
            if draft is None:
                return [WriteOutcome(source_id=plan.source_id, conflict=conflict)]
            with self._held(connection, draft.generation):
                stats = StatDelta(self._vocabulary.keys(ns))
                for first in range(0, len(plan.rows), self._batch):
                    piece = plan.rows[first : first + self._batch]
                    self._stage(connection, namespace, ns, draft, piece, spaces, stats, fence)
                    failpoint("stage")
                return [self._publish_staged(connection, namespace, ns, draft, spaces, stats, fence)]

    def _stage(
        self,
        connection: Connection,
        namespace: str,
        ns: int,
        draft: Draft,
        piece: Sequence[Row],
        spaces: Mapping[str, int],
        stats: StatDelta,
        fence: Fence | None,
    ) -> None:
        counts = self._vocabulary.count(piece)

        def work(connection: Connection) -> StatDelta:
            self._drafting.begin(connection, namespace, fence)
            part = replace(draft, piece=piece)
            self._drafting.fill(connection, ns, part, counts)
            change = StatDelta(self._vocabulary.keys(ns))
            self._drafting.add(connection, ns, [part], spaces, change, staged=draft.generation)
            sql.add_search_rows(connection, "staged", ns, [part], "generation int8", draft.generation)
            return change

        stats.join(self._database.write(work, connection))

    def _publish_staged(
        self,
        connection: Connection,
        namespace: str,
        ns: int,
        draft: Draft,
        spaces: Mapping[str, int],
        stats: StatDelta,
        fence: Fence | None,
    ) -> WriteOutcome:
        def work(connection: Connection) -> WriteOutcome:
            self._drafting.begin(connection, namespace, fence)
            conflicts, _ = self._drafting.admitted(connection, ns, [draft.plan])
            if conflicts[draft.plan.source_id] is not None:
                return WriteOutcome(source_id=draft.plan.source_id, conflict=conflicts[draft.plan.source_id])
            seq, at = next_seq(connection, ns)
            sql.publish_staged(connection, draft.generation, seq, at)
            (outcome,) = publication.publish(connection, ns, [draft], seq, at, spaces, stats, self._vocabulary.keys(ns))
            stats.write(connection, ns, seq)
            failpoint("publish.before")
            return outcome

        return self._database.write(work, connection)

    def _staging(self, generation: int) -> int:
        return lock_key(self._database, "staging", generation)

    @contextmanager
    def _held(self, connection: Connection, generation: int) -> Iterator[None]:
        """While the generation is staged; afterwards whatever of it was not published is gone."""
        try:
            yield
        finally:
            if not connection.closed:
                self._database.write(partial(_discard, generation), connection)
                connection.execute("SELECT pg_advisory_unlock(%s)", (self._staging(generation),))

    def sweep(self) -> int:
        """Remove generations staged by writers that are gone; returns how many."""

        def discard(generation: int, connection: Connection) -> int:
            found = connection.execute("SELECT pg_try_advisory_xact_lock(%s)", (self._staging(generation),)).fetchone()
            return _discard(generation, connection) if found and found[0] else 0

        staged = self._database.read(
            lambda connection: connection.execute("SELECT pk FROM generation WHERE published_seq IS NULL").fetchall()
        )
        return sum(self._database.write(partial(discard, generation)) for (generation,) in staged)


def _discard(generation: int, connection: Connection) -> int:
    """Remove a generation that was never published; 0 when it is none."""
    unseen = "SELECT 1 FROM generation WHERE pk = %s AND published_seq IS NULL"
    if connection.execute(unseen, (generation,)).fetchone() is None:
        return 0
    rows = [row for (row,) in connection.execute("SELECT row FROM staged WHERE generation = %s", (generation,))]
    sql.delete_rows(connection, rows)
    sql.delete_blocks(connection, "generation = %s", (generation,))
    sql.delete_generations(connection, [generation])
    return 1
