"""Replacement: stage, publish, retire, delete, sweep.

Small writes are staged and published in one transaction. A source of more chunks than fit one is staged in several,
under a generation nobody sees (see :mod:`florilege.stores.postgres.writing.staging`), and published in one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from florilege.interfaces.stores import Fence, SourceWrite, WriteOutcome
from florilege.model.errors import Unavailable
from florilege.model.failpoints import failpoint
from florilege.model.ledger import Version
from florilege.stores.fields import Fields
from florilege.stores.postgres import care
from florilege.stores.postgres.leases import check_fence
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.names import (
    made_namespace,
    namespace_key,
    next_seq,
)
from florilege.stores.postgres.writing import publication
from florilege.stores.postgres.writing import rows as sql
from florilege.stores.postgres.writing.collect import collect
from florilege.stores.postgres.writing.drafting import Drafting, spaces_of
from florilege.stores.postgres.writing.merging import merge_when_due
from florilege.stores.postgres.writing.staging import Staging
from florilege.stores.postgres.writing.vocabulary import Vocabulary
from florilege.stores.postgres.writing.words import StatDelta
from florilege.stores.rules import groups, owner_conflict, version_conflict

BATCH_CHUNKS = 2000
"""Chunks a transaction holds."""

_Publish = Callable[[str, Sequence[SourceWrite], Fence | None], list[WriteOutcome]]


class Writer:
    """The verbs that publish and retire."""

    def __init__(self, database: Database, vocabulary: Vocabulary, fields: Fields, batch_chunks: int) -> None:
        self._database = database
        self._vocabulary = vocabulary
        self._batch = batch_chunks
        self._drafting = Drafting(database, vocabulary, fields)
        self._staging = Staging(self._drafting, batch_chunks)
        self._swept = False

    def replace(self, namespace: str, writes: Sequence[SourceWrite], fence: Fence | None) -> list[WriteOutcome]:
        """See :meth:`florilege.interfaces.stores.DataStore.replace`."""
        self.ready(namespace)
        outcomes: list[WriteOutcome] = []
        for group in groups(writes, self._batch):
            attempt = self._staging.publish if len(group[0].chunks) > self._batch else self._publish_group
            outcomes += self._replanned(attempt, namespace, group, fence)
            failpoint("publish.after")
            merge_when_due(self._database, namespace)
        return outcomes

    def delete(
        self,
        namespace: str,
        expected: Mapping[str, Version | None],
        fence: Fence | None,
        forget: bool,
        run_id: int | None,
    ) -> list[WriteOutcome]:
        """See :meth:`florilege.interfaces.stores.DataStore.delete_sources`."""
        self.ready(namespace)

        def work(connection: Connection) -> list[WriteOutcome]:
            check_fence(connection, namespace, fence)
            ns = namespace_key(connection, namespace)
            actives = {} if ns is None else self._drafting.locked(connection, ns, list(expected))
            conflicts: dict[str, str | None] = {}
            for source_id, version in expected.items():
                active = actives.get(source_id)
                if active is None:
                    conflicts[source_id] = None if version is None else f"{source_id!r} is not in the store"
                    continue
                conflict = owner_conflict(active, source_id, fence.corpus_id if fence else None)
                if conflict is None and version is not None:
                    conflict = version_conflict(active, source_id, version)
                conflicts[source_id] = conflict
            doomed = {name: active for name, active in actives.items() if conflicts[name] is None}
            counts: dict[str, int] = {}
            if ns is not None and doomed:
                counts = publication.delete(connection, ns, doomed, forget, run_id, self._vocabulary.keys(ns))
            failpoint("delete")
            return [
                WriteOutcome(source_id=name, conflict=conflict, chunk_count=counts.get(name, 0))
                for name, conflict in conflicts.items()
            ]

        return self._database.write(work)

    # -- staging and publishing -----------------------------------------------------------------------------------

    def _replanned(
        self, attempt: _Publish, namespace: str, writes: Sequence[SourceWrite], fence: Fence | None
    ) -> list[WriteOutcome]:
        for _ in range(5):
            try:
                return attempt(namespace, writes, fence)
            except publication.Replan:
                continue
        raise Unavailable("the source changed again and again while this write was prepared", retryable=True)

    def _publish_group(self, namespace: str, writes: Sequence[SourceWrite], fence: Fence | None) -> list[WriteOutcome]:
        plans = self._drafting.prepare(namespace, writes)
        counted = [self._vocabulary.count(plan.rows) for plan in plans]

        def work(connection: Connection) -> list[WriteOutcome]:
            self._drafting.begin(connection, namespace, fence)
            ns = made_namespace(connection, namespace)
            conflicts, actives = self._drafting.admitted(connection, ns, plans)
            admitted = [
                (plan, words) for plan, words in zip(plans, counted, strict=True) if conflicts[plan.source_id] is None
            ]
            published: dict[str, WriteOutcome] = {}
            if admitted:
                spaces = spaces_of(connection, plans)
                drafts = self._drafting.drafts(connection, ns, [plan for plan, _ in admitted], actives)
                sql.add_generations(connection, ns, drafts)
                for draft, (_, counts) in zip(drafts, admitted, strict=True):
                    self._drafting.fill(connection, ns, draft, counts)
                stats = StatDelta(self._vocabulary.keys(ns))
                self._drafting.add(connection, ns, drafts, spaces, stats)
                seq, at = next_seq(connection, ns)
                sql.add_search_rows(connection, "live", ns, drafts, "born int8, created int8", seq, at)
                outcomes = publication.publish(
                    connection, ns, drafts, seq, at, spaces, stats, self._vocabulary.keys(ns)
                )
                stats.write(connection, ns, seq)
                published = {outcome.source_id: outcome for outcome in outcomes}
            failpoint("publish.before")
            return [
                published.get(name) or WriteOutcome(source_id=name, conflict=conflict)
                for name, conflict in conflicts.items()
            ]

        return self._database.write(work)

    # -- sweeping -------------------------------------------------------------------------------------------------

    def ready(self, namespace: str) -> None:
        """On this handle's first write: remove what dead writers staged; see that words are this analyser's."""
        if not self._swept:
            self.sweep()
            self._swept = True
        self._vocabulary.settle(namespace)

    def repair(self, namespace: str) -> list[str]:
        """See :meth:`florilege.interfaces.stores.DataStore.repair`."""
        return care.repair(self._database, self._vocabulary, namespace)

    def collect(
        self, namespace: str, keep_generations: int, retention: float, vector_age: float, fence: Fence | None
    ) -> dict[str, int]:
        """See :meth:`florilege.stores.verbs.Verbs.collect`; dead writers' generations go first."""
        self.sweep()
        return collect(self._database, namespace, keep_generations, retention, vector_age, fence)

    def sweep(self) -> int:
        """Remove generations staged by writers that are gone; returns how many."""
        return self._staging.sweep()
