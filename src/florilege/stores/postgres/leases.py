"""Leases with fences, and the record of runs. Leases run by the server's clock."""

from __future__ import annotations

import os
import time

from florilege.interfaces.stores import Fence, RunRecord
from florilege.stores import codecs
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.names import made_namespace
from florilege.stores.postgres.server.wire import escape, unescape
from florilege.stores.processes import ended, mark
from florilege.stores.rules import LEASE_SECONDS, check_namespace, lease_held, lease_lost

_EXPIRES = f"clock_timestamp() + interval '{LEASE_SECONDS} seconds'"


def check_fence(connection: Connection, namespace: str, fence: Fence | None) -> None:
    """Renew the lease a write brings; :class:`Conflict` when somebody else has taken it since."""
    if fence is None:
        return
    check_namespace(fence, namespace)
    taken = connection.execute(
        f"UPDATE lease SET expires = {_EXPIRES} WHERE ns = (SELECT pk FROM namespace WHERE name = %s)"
        " AND corpus_id = %s AND token = %s AND holder IS NOT NULL",
        (escape(fence.namespace), escape(fence.corpus_id), fence.token),
    )
    if taken.rowcount != 1:
        raise lease_lost(fence)


class Leases:
    """One lease a corpus. A lease whose process has ended on this machine is free at once, any other after its time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last_run = 0

    def acquire(self, namespace: str, corpus_id: str, holder: str, wait: float) -> Fence:
        """See :meth:`florilege.interfaces.stores.DataStore.acquire_lease`."""
        give_up = time.monotonic() + wait
        while True:
            taken = self._database.write(lambda connection: _take(connection, namespace, corpus_id, holder))
            if isinstance(taken, Fence):
                return taken
            if time.monotonic() >= give_up:
                raise lease_held(namespace, corpus_id, taken)
            time.sleep(min(0.1, max(0.0, give_up - time.monotonic())))

    def renew(self, fence: Fence) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.renew_lease`."""
        self._database.write(lambda connection: check_fence(connection, fence.namespace, fence))

    def release(self, fence: Fence) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.release_lease`."""
        self._database.write(
            lambda connection: connection.execute(
                "UPDATE lease SET holder = NULL, process = NULL, expires = 'epoch'"
                " WHERE ns = (SELECT pk FROM namespace WHERE name = %s) AND corpus_id = %s AND token = %s",
                (escape(fence.namespace), escape(fence.corpus_id), fence.token),
            )
        )

    def begin_run(self) -> int:
        """A run id: this moment in microseconds, never the same twice."""
        self._last_run = max(self._last_run + 1, codecs.now())
        return self._last_run

    def end_run(self, run: RunRecord, fence: Fence | None) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.end_run`."""

        def work(connection: Connection) -> None:
            check_fence(connection, run.namespace, fence)
            connection.execute(
                "INSERT INTO run (id, ns, corpus_id, started_at, ended_at, counts, facts)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO UPDATE SET ns = excluded.ns,"
                " corpus_id = excluded.corpus_id, started_at = excluded.started_at, ended_at = excluded.ended_at,"
                " counts = excluded.counts, facts = excluded.facts",
                (
                    run.run_id,
                    made_namespace(connection, run.namespace),
                    escape(run.corpus_id),
                    codecs.microseconds(run.started_at),
                    None if run.ended_at is None else codecs.microseconds(run.ended_at),
                    codecs.encode(run.counts),
                    codecs.encode(run.facts),
                ),
            )

        self._database.write(work)

    def runs(self, namespace: str, corpus_id: str | None, limit: int) -> list[RunRecord]:
        """See :meth:`florilege.interfaces.stores.DataStore.runs`."""
        corpus = None if corpus_id is None else escape(corpus_id)
        found = self._database.fetch(
            "SELECT r.id, r.corpus_id, r.started_at, r.ended_at, r.counts, r.facts FROM run r"
            " JOIN namespace n ON n.pk = r.ns WHERE n.name = %s AND (%s::text IS NULL OR r.corpus_id = %s)"
            " ORDER BY r.id DESC LIMIT %s",
            (escape(namespace), corpus, corpus, limit),
        )
        return [
            RunRecord(
                run_id=run_id,
                namespace=namespace,
                corpus_id=unescape(owner),
                started_at=codecs.instant_of(started),
                ended_at=codecs.moment(until),
                counts=codecs.decode(counts),
                facts=codecs.decode(facts),
            )
            for run_id, owner, started, until, counts, facts in found
        ]


def _take(connection: Connection, namespace: str, corpus_id: str, holder: str) -> Fence | str:
    """The lease, or who has it."""
    ns = made_namespace(connection, namespace)
    connection.execute(
        "INSERT INTO lease (ns, corpus_id, token, expires) VALUES (%s, %s, 0, 'epoch') ON CONFLICT DO NOTHING",
        (ns, escape(corpus_id)),
    )
    found = connection.execute(
        "SELECT token, holder, process, clock_timestamp() < expires FROM lease WHERE ns = %s AND corpus_id = %s"
        " FOR UPDATE",
        (ns, escape(corpus_id)),
    ).fetchone()
    assert found is not None
    token, other, process, running = found
    if other is not None and running and not ended(process):
        return str(other)
    connection.execute(
        f"UPDATE lease SET token = %s, holder = %s, process = %s, expires = {_EXPIRES}"
        " WHERE ns = %s AND corpus_id = %s",
        (token + 1, holder, mark(os.getpid()), ns, escape(corpus_id)),
    )
    return Fence(namespace, corpus_id, token + 1, holder)
