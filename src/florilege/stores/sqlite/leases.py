"""Leases with fences, and the record of runs."""

from __future__ import annotations

import os
import sqlite3
import time

from florilege.interfaces.stores import Fence, RunRecord
from florilege.stores import codecs
from florilege.stores.processes import ended, mark
from florilege.stores.rules import LEASE_SECONDS, check_namespace, lease_held, lease_lost
from florilege.stores.sqlite.database.connection import Database
from florilege.stores.sqlite.writing.rows import namespace_key


def check_fence(connection: sqlite3.Connection, namespace: str, fence: Fence | None) -> None:
    """Renew the lease a write brings; :class:`Conflict` when somebody else has taken it since."""
    if fence is None:
        return
    check_namespace(fence, namespace)
    taken = connection.execute(
        "UPDATE lease SET expires = ? WHERE ns = (SELECT pk FROM namespace WHERE name = ?)"
        " AND corpus_id = ? AND token = ? AND holder IS NOT NULL",
        (time.time() + LEASE_SECONDS, fence.namespace, fence.corpus_id, fence.token),
    )
    if taken.rowcount != 1:
        raise lease_lost(fence)


class Leases:
    """One lease a corpus. A lease whose process has ended is free at once, any other after its time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last_run = 0

    def acquire(self, namespace: str, corpus_id: str, holder: str, wait: float) -> Fence:
        """See :meth:`florilege.interfaces.stores.DataStore.acquire_lease`."""
        give_up = time.monotonic() + wait
        while True:
            with self._database.write() as connection:
                taken = _take(connection, namespace, corpus_id, holder)
            if isinstance(taken, Fence):
                return taken
            if time.monotonic() >= give_up:
                raise lease_held(namespace, corpus_id, taken)
            time.sleep(min(0.1, max(0.0, give_up - time.monotonic())))

    def renew(self, fence: Fence) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.renew_lease`."""
        with self._database.write() as connection:
            check_fence(connection, fence.namespace, fence)

    def release(self, fence: Fence) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.release_lease`."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE lease SET holder = NULL, process = NULL, expires = 0"
                " WHERE ns = (SELECT pk FROM namespace WHERE name = ?) AND corpus_id = ? AND token = ?",
                (fence.namespace, fence.corpus_id, fence.token),
            )

    def begin_run(self) -> int:
        """A run id: this moment in microseconds, never the same twice."""
        self._last_run = max(self._last_run + 1, codecs.now())
        return self._last_run

    def end_run(self, run: RunRecord, fence: Fence | None) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.end_run`."""
        with self._database.write() as connection:
            check_fence(connection, run.namespace, fence)
            connection.execute(
                "INSERT OR REPLACE INTO run (id, ns, corpus_id, started_at, ended_at, counts, facts)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    run.run_id,
                    namespace_key(connection, run.namespace, create=True),
                    run.corpus_id,
                    codecs.microseconds(run.started_at),
                    None if run.ended_at is None else codecs.microseconds(run.ended_at),
                    codecs.encode(run.counts),
                    codecs.encode(run.facts),
                ),
            )

    def runs(self, namespace: str, corpus_id: str | None, limit: int) -> list[RunRecord]:
        """See :meth:`florilege.interfaces.stores.DataStore.runs`."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT r.id, r.corpus_id, r.started_at, r.ended_at, r.counts, r.facts FROM run r"
                " JOIN namespace n ON n.pk = r.ns WHERE n.name = ?1 AND (?2 IS NULL OR r.corpus_id = ?2)"
                " ORDER BY r.id DESC LIMIT ?3",
                (namespace, corpus_id, limit),
            ).fetchall()
        return [
            RunRecord(
                run_id=run_id,
                namespace=namespace,
                corpus_id=corpus,
                started_at=codecs.instant_of(started),
                ended_at=codecs.moment(ended),
                counts=codecs.decode(counts),
                facts=codecs.decode(facts),
            )
            for run_id, corpus, started, ended, counts, facts in found
        ]


def _take(connection: sqlite3.Connection, namespace: str, corpus_id: str, holder: str) -> Fence | str:
    """The lease, or who has it."""
    ns = namespace_key(connection, namespace, create=True)
    found = connection.execute(
        "SELECT token, holder, process, expires FROM lease WHERE ns = ? AND corpus_id = ?", (ns, corpus_id)
    ).fetchone()
    token = 1
    if found is not None:
        last, other, process, expires = found
        if other is not None and time.time() < expires and not ended(process):
            return str(other)
        token = last + 1
    connection.execute(
        "INSERT OR REPLACE INTO lease (ns, corpus_id, token, holder, process, expires) VALUES (?, ?, ?, ?, ?, ?)",
        (ns, corpus_id, token, holder, mark(os.getpid()), time.time() + LEASE_SECONDS),
    )
    return Fence(namespace, corpus_id, token, holder)
