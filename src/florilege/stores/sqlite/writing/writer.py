"""Replacement: stage, publish, retire, delete, sweep.

Small writes are staged and published in one transaction. A source of more chunks than fit one is staged in several,
under a generation nobody sees, and published in one. A writer that dies leaves only such unseen generations; whoever
writes next and finds no stager alive (``staging.lock``) sweeps them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from florilege.interfaces.stores import Fence, SourceWrite, WriteOutcome
from florilege.model.errors import Unavailable
from florilege.model.failpoints import failpoint
from florilege.model.ledger import Version
from florilege.stores.preparation import Prepared, Row
from florilege.stores.rules import groups, owner_conflict, version_conflict
from florilege.stores.sqlite.database.connection import LOCK_SECONDS, Database
from florilege.stores.sqlite.leases import check_fence
from florilege.stores.sqlite.maintenance import settle_words
from florilege.stores.sqlite.repair import repair
from florilege.stores.sqlite.segments.sealing import Sealer
from florilege.stores.sqlite.writing import publication
from florilege.stores.sqlite.writing import rows as sql
from florilege.stores.sqlite.writing.collect import collect
from florilege.stores.sqlite.writing.prepare import prepare
from florilege.stores.sqlite.writing.vocabulary import Vocabulary, lexemes
from florilege.stores.terms import TextAnalyzer, count_terms

BATCH_CHUNKS = 2000
"""Chunks a transaction holds."""


_Publish = Callable[[str, Sequence[SourceWrite], Fence | None], list[WriteOutcome]]


class Writer:
    """The verbs that publish and retire."""

    def __init__(
        self, database: Database, analyzer: Callable[[], TextAnalyzer], batch_chunks: int, sealer: Sealer
    ) -> None:
        self._database = database
        self._sealer = sealer
        self._analyzer = analyzer
        self._batch = batch_chunks
        self._vocabulary = Vocabulary()
        self._ready = False
        database.on_rollback.append(self._vocabulary.forget)
        database.on_fork.append(self._vocabulary.forget)

    def replace(self, namespace: str, writes: Sequence[SourceWrite], fence: Fence | None) -> list[WriteOutcome]:
        """See :meth:`florilege.interfaces.stores.DataStore.replace`."""
        self.ready()
        outcomes: list[WriteOutcome] = []
        for group in groups(writes, self._batch):
            if len(group[0].chunks) > self._batch:
                outcomes += self._replanned(self._stage_and_publish, namespace, group, fence)
            else:
                outcomes += self._replanned(self._publish_group, namespace, group, fence)
            failpoint("publish.after")
            self._sealer.tend(namespace, sum(len(write.chunks) for write in group))
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
        self.ready()
        outcomes = []
        with self._database.write() as connection:
            check_fence(connection, namespace, fence)
            ns = sql.namespace_key(connection, namespace)
            for source_id, version in expected.items():
                active = None if ns is None else publication.active_source(connection, ns, source_id)
                if active is None:
                    missing = None if version is None else f"{source_id!r} is not in the store"
                    outcomes.append(WriteOutcome(source_id=source_id, conflict=missing))
                    continue
                owner = fence.corpus_id if fence else None
                conflict = owner_conflict(active, source_id, owner)
                if conflict is None and version is not None:
                    conflict = version_conflict(active, source_id, version)
                if conflict is not None:
                    outcomes.append(WriteOutcome(source_id=source_id, conflict=conflict))
                    continue
                assert ns is not None
                outcomes.append(publication.delete(connection, ns, source_id, active, forget, run_id))
            failpoint("delete")
        self._sealer.tend(namespace, sum(outcome.chunk_count for outcome in outcomes))
        return outcomes

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

    def _prepare(self, namespace: str, writes: Sequence[SourceWrite]) -> list[Prepared]:
        with self._database.view() as connection:
            return [prepare(connection, namespace, write) for write in writes]

    def _publish_group(self, namespace: str, writes: Sequence[SourceWrite], fence: Fence | None) -> list[WriteOutcome]:
        plans = self._prepare(namespace, writes)
        counted = [self._count(plan.rows) for plan in plans]
        outcomes = []
        with self._database.write() as connection:
            check_fence(connection, namespace, fence)
            ns = sql.namespace_key(connection, namespace, create=True)
            assert ns is not None
            made = iter(lexemes(connection, self._vocabulary, [counter for _, some in counted for counter in some]))
            for plan, (analysed, _) in zip(plans, counted, strict=True):
                words = dict(zip(analysed, made, strict=False))
                source = sql.source_key(connection, ns, plan.source_id)
                conflict = publication.conflict_of(connection, ns, plan)
                if conflict is not None:
                    outcomes.append(WriteOutcome(source_id=plan.source_id, conflict=conflict))
                    continue
                metadata = sql.keep_metadata(connection, plan.metadata)
                generation = sql.add_generation(connection, ns, source, plan, metadata)
                sql.add_rows(
                    connection, source, generation, plan.rows, words, metadata, publication.spaces_of(connection, plan)
                )
                outcomes.append(publication.publish(connection, ns, plan, generation))
            failpoint("publish.before")
        return outcomes

    def _stage_and_publish(
        self, namespace: str, writes: Sequence[SourceWrite], fence: Fence | None
    ) -> list[WriteOutcome]:
        (plan,) = self._prepare(namespace, writes)
        with self._staging():
            with self._database.write() as connection:
                check_fence(connection, namespace, fence)
                ns = sql.namespace_key(connection, namespace, create=True)
                assert ns is not None
                source = sql.source_key(connection, ns, plan.source_id)
                conflict = publication.conflict_of(connection, ns, plan)
                if conflict is not None:
                    return [WriteOutcome(source_id=plan.source_id, conflict=conflict)]
                metadata = sql.keep_metadata(connection, plan.metadata)
                generation = sql.add_generation(connection, ns, source, plan, metadata)
            try:
                for start in range(0, len(plan.rows), self._batch):
                    self._stage(namespace, plan, plan.rows[start : start + self._batch], source, generation, fence)
                    failpoint("stage")
                with self._database.write() as connection:
                    check_fence(connection, namespace, fence)
                    conflict = publication.conflict_of(connection, ns, plan)
                    if conflict is None:
                        outcome = publication.publish(connection, ns, plan, generation)
                    failpoint("publish.before")
            except BaseException:
                self._discard(generation)
                raise
            if conflict is not None:
                self._discard(generation)
                return [WriteOutcome(source_id=plan.source_id, conflict=conflict)]
            return [outcome]

    def _stage(
        self,
        namespace: str,
        plan: Prepared,
        piece: Sequence[Row],
        source: int,
        generation: int,
        fence: Fence | None,
    ) -> None:
        analysed, counters = self._count(piece)
        with self._database.write() as connection:
            check_fence(connection, namespace, fence)
            metadata = sql.keep_metadata(connection, {row.metadata: plan.metadata[row.metadata] for row in piece})
            words = dict(zip(analysed, lexemes(connection, self._vocabulary, counters), strict=True))
            sql.add_rows(
                connection, source, generation, piece, words, metadata, publication.spaces_of(connection, plan)
            )

    def _count(self, rows: Sequence[Row]) -> tuple[list[int], list[Counter[str]]]:
        fresh = [row for row in rows if row.carried is None and row.twin is None]
        return [row.ordinal for row in fresh], count_terms(self._analyzer(), (row.chunk.full_text for row in fresh))

    # -- sweeping -------------------------------------------------------------------------------------------------

    @contextmanager
    def _staging(self) -> Iterator[None]:
        descriptor = self._database.locks.take("staging.lock", shared=True, wait=LOCK_SECONDS)
        if descriptor is None:
            raise Unavailable("another process is sweeping the store; try again", code="locked", retryable=True)
        try:
            yield
        finally:
            self._database.locks.release(descriptor, "staging.lock")

    def ready(self) -> None:
        """On this handle's first write: remove what dead writers staged, see that words are this analyser's."""
        if not self._ready:
            self.sweep()
            settle_words(self._database, self._analyzer(), self._vocabulary)
            self._ready = True

    def repair(self, namespace: str) -> list[str]:
        """See :meth:`florilege.interfaces.stores.DataStore.repair`."""
        self.ready()
        return repair(self._database, self._analyzer(), self._vocabulary, namespace)

    def collect(
        self, namespace: str, keep_generations: int, retention: float, vector_age: float, fence: Fence | None
    ) -> dict[str, int]:
        """See :meth:`florilege.stores.verbs.Verbs.collect`; dead writers' generations go first."""
        self.sweep()
        return collect(self._database, namespace, keep_generations, retention, vector_age, fence)

    def sweep(self) -> int:
        """Remove generations staged by writers that are gone; nothing happens while any process is staging."""
        with self._database.read() as connection:
            staged = connection.execute("SELECT pk FROM generation WHERE published_seq IS NULL").fetchall()
        if not staged:
            return 0
        descriptor = self._database.locks.take("staging.lock", shared=False)
        if descriptor is None:
            return 0
        try:
            for (generation,) in staged:
                self._discard(generation)
        finally:
            self._database.locks.release(descriptor, "staging.lock")
        return len(staged)

    def _discard(self, generation: int) -> None:
        while True:
            with self._database.write() as connection:
                found = connection.execute(
                    "SELECT r.pk FROM generation g JOIN row r ON r.first_gen = g.pk"
                    " WHERE g.pk = ? AND g.published_seq IS NULL LIMIT 5000",
                    (generation,),
                ).fetchall()
                sql.delete_rows(connection, (pk for (pk,) in found))
                if not found:
                    if connection.execute(
                        "SELECT 1 FROM generation WHERE pk = ? AND published_seq IS NULL", (generation,)
                    ).fetchone():
                        sql.delete_generation(connection, generation)
                    return
