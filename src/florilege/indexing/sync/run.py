"""One run of a sync: the lease, the incoming sources, what is gone, the vectors still missing, the run's one row."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from florilege.discovery import snapshot
from florilege.indexing.embedding import Embedding
from florilege.indexing.indexer import Indexer
from florilege.indexing.publication import Publication
from florilege.indexing.sync.intake import Intake
from florilege.indexing.sync.lease import Lease
from florilege.indexing.sync.options import SyncOptions
from florilege.indexing.sync.plan import Estimate, PlannedSource, SyncPlan
from florilege.indexing.sync.reconcile import Reconciler
from florilege.indexing.sync.stale import gone, own_sources, refusal
from florilege.indexing.sync.tally import Tally
from florilege.interfaces.paging import batches
from florilege.interfaces.stores import Fence, RunRecord
from florilege.model.errors import Corrupt, IndexingError
from florilege.model.events import Event, Subscriber, emit
from florilege.model.ledger import SourceRecord, SyncResult, Usage


class _Stopped(Exception):
    """The deadline passed or the call was cancelled; what is published stays, nothing more is begun."""


class SyncRun:
    """Does one sync; made and used once by :meth:`florilege.Corpus.sync`."""

    def __init__(
        self,
        indexer: Indexer,
        corpus_id: str,
        options: SyncOptions,
        *,
        volatile: Sequence[str] = (),
        plan: SyncPlan | None = None,
        on_event: Subscriber | None = None,
    ) -> None:
        self.indexer = indexer
        self.store = indexer.data
        self.namespace = indexer.namespace
        self.corpus_id = corpus_id
        self.options = options if plan is None else plan.options(options)
        self.volatile = volatile
        self.plan = plan
        self.on_event = on_event
        self.tally = Tally(on_event, self.namespace)
        self.started = time.monotonic()
        self.started_at = datetime.now(UTC)
        self.incomplete = False
        self.lease: Lease | None = None
        self.run_id: int | None = None

    @property
    def fence(self) -> Fence | None:
        """The run's fence, where it holds a lease."""
        return None if self.lease is None else self.lease.fence

    def run(self, documents: object) -> SyncResult:
        """Sync ``documents``; see :meth:`florilege.Corpus.sync`."""
        if self.options.dry_run:
            return self._dry(documents)[0]
        with Lease(self.store, self.namespace, self.corpus_id) as self.lease:
            if self.plan is not None:
                self.plan.check(self.store, self.corpus_id, self.indexer.hashes(self.options.chunking))
            lost = self.store.lost_chunks(self.namespace)
            if lost:
                raise Corrupt(
                    f"{lost} chunks that namespace {self.namespace!r} should hold are missing from the store; "
                    "run `florilege repair` (corpus.repair()), then sync again",
                    code="lost_chunks",
                )
            self.run_id = self.store.begin_run(self.namespace, self.corpus_id)
            return self._run(documents)

    def planned(self, documents: object) -> SyncPlan:
        """The plan of syncing ``documents``; nothing is written."""
        result, reconciler = self._dry(documents)
        rows: dict[str, SourceRecord] = {}
        for ids in batches([source.source_id for source in result.sources], 500):
            rows.update(self.store.get_sources(self.namespace, ids))
        sources = [
            PlannedSource(
                source_id=source.source_id,
                action=source.action,
                reason=source.reason,
                chunk_count=source.chunk_count,
                source_hash=reconciler.source_hashes.get(source.source_id),
                expected=rows[source.source_id].version if source.source_id in rows else None,
                reader=reconciler.readers.get(source.source_id),
            )
            for source in result.sources
        ]
        return SyncPlan(
            corpus_id=self.corpus_id,
            namespace=self.namespace,
            mode=self.options.mode,
            source_set=self.options.source_set,
            stale_policy=self.options.stale,
            made_at=self.started_at,
            hashes=self.indexer.hashes(self.options.chunking),
            sources=tuple(sources),
            chunk_count=result.chunk_count,
            embedded=result.embedded,
            reused=result.reused,
            usage=result.usage,
            capabilities=snapshot().versions(),
        )

    def _dry(self, documents: object) -> tuple[SyncResult, Reconciler]:
        estimate = Estimate(self.indexer.embeddings(bind=False))
        reconciler = self._reconciler(estimate)
        self._event("corpus.sync.start")
        refused = self._reconcile(documents, reconciler, Publication(self.store, self.namespace, [], reconciler.report))
        result = self._result(estimate.embedded, estimate.reused, estimate.uncovered, estimate.usage)
        self._event("corpus.sync.end", self.tally.counts())
        if refused is not None:
            raise refused
        return result, reconciler

    def _run(self, documents: object) -> SyncResult:
        embeddings = self.indexer.embeddings(check=self._check)
        reconciler = self._reconciler(None)
        publication = Publication(
            self.store,
            self.namespace,
            embeddings,
            reconciler.report,
            when=self.options.embed,
            fence=self.fence,
            keep_content=self.indexer.keep_content,
        )
        self._event("corpus.sync.start")
        refused = self._reconcile(documents, reconciler, publication)
        self._end_run()
        for embedding in embeddings if refused is None else ():
            if not self.incomplete:
                self._drain(embedding, publication)
        result = self._result(
            publication.embedded, publication.reused, publication.counts["uncovered"], publication.usage
        )
        self._event("corpus.sync.end", self.tally.counts())
        if refused is not None:
            raise refused
        return result

    def _reconciler(self, estimate: Estimate | None) -> Reconciler:
        return Reconciler(
            self.indexer,
            self.corpus_id,
            self.options,
            self.tally,
            run_id=self.run_id,
            volatile=self.volatile,
            plan=self.plan,
            estimate=estimate,
        )

    def _reconcile(self, documents: object, reconciler: Reconciler, publication: Publication) -> IndexingError | None:
        """Take everything in, write the ledger rows that are left, look at what is gone; the refused delete, if any."""
        intake = Intake(documents, self.store, self.namespace, reconciler.skip, readers=self.options.concurrency)
        try:
            for item in intake:
                self._check()
                reconciler.take(item, publication)
            reconciler.finish(publication)
        except _Stopped:
            self.incomplete = True
        if reconciler.rows and not self.options.dry_run:
            self.store.record(self.namespace, reconciler.rows, fence=self.fence)
        return None if self.incomplete else self._look_for_stale(intake, reconciler)

    def _check(self) -> None:
        if self.lease is not None:
            self.lease.check()
        options = self.options
        late = options.deadline is not None and time.monotonic() - self.started > options.deadline
        if late or (options.cancel is not None and options.cancel.is_set()):
            raise _Stopped

    def _look_for_stale(self, intake: Intake, reconciler: Reconciler) -> IndexingError | None:
        """Tell what the complete set no longer holds, and delete it when asked; the refusal, when a brake holds."""
        listing = intake.listing
        if self.options.source_set != "complete" or (listing is not None and listing.error is not None):
            return None
        own = own_sources(self.store, self.namespace, self.corpus_id)
        missing = gone(own, self.tally.results, listing)
        if self.plan is not None:
            planned = {item.source_id for item in self.plan.sources if item.action in ("stale", "deleted")}
            missing = [row for row in missing if row.source_id in planned]
        if not missing:
            return None
        if self.options.stale == "keep":
            for row in missing:
                self.tally.tell(row.source_id, "stale", "not in the set", chunk_count=row.chunk_count)
            return None
        counts = {"deletions": len(missing), "own": len(own), "listed": len(self.tally.results)}
        refused = refusal(self.options, self.corpus_id, **counts)
        if refused is None:
            self._delete(missing, reconciler)
        return refused

    def _delete(self, missing: Sequence[SourceRecord], reconciler: Reconciler) -> None:
        if self.options.dry_run:
            for row in missing:
                self.tally.tell(row.source_id, "deleted", "not in the set", chunk_count=row.chunk_count)
            return
        expected = {row.source_id: row.version for row in missing}
        for outcome in self.store.delete_sources(self.namespace, expected, fence=self.fence, run_id=self.run_id):
            if outcome.conflict is None:
                self.tally.tell(outcome.source_id, "deleted", "not in the set", chunk_count=outcome.chunk_count)
            else:
                reconciler.conflict(outcome.source_id, outcome.conflict)

    def _drain(self, embedding: Embedding, publication: Publication) -> None:
        def progress(done: int, total: int) -> None:
            self._event("corpus.embed.progress", {"done": done, "total": total})

        try:
            filled = embedding.drain(self.fence, progress)
        except _Stopped:
            self.incomplete = True
            return
        publication.usage += filled.usage
        publication.embedded += filled.embedded

    def _end_run(self) -> None:
        stale = sorted(result.source_id for result in self.tally.every() if result.action == "stale")
        run = RunRecord(
            run_id=self.run_id or 0,
            namespace=self.namespace,
            corpus_id=self.corpus_id,
            started_at=self.started_at,
            ended_at=datetime.now(UTC),
            counts=self.tally.counts(),
            facts={
                "mode": self.options.mode,
                "source_set": self.options.source_set,
                "incomplete": self.incomplete,
                "stale": stale,
            },
        )
        self.store.end_run(run, fence=self.fence)

    def _result(self, embedded: int, reused: int, uncovered: int, usage: Usage) -> SyncResult:
        sources = self.tally.every()
        counts = self.tally.counts()
        return SyncResult(
            corpus_id=self.corpus_id,
            namespace=self.namespace,
            mode=self.options.mode,
            source_set=self.options.source_set,
            stale_policy=self.options.stale,
            dry_run=self.options.dry_run,
            added=counts.get("added", 0),
            changed=counts.get("changed", 0),
            unchanged=counts.get("unchanged", 0),
            stale=counts.get("stale", 0),
            skipped=counts.get("skipped", 0),
            deleted=counts.get("deleted", 0),
            failed=counts.get("failed", 0),
            chunk_count=sum(result.chunk_count for result in sources if result.action != "deleted"),
            embedded=embedded,
            reused=reused,
            pending=sum(self.store.count_pending(self.namespace, item.space) for item in self.indexer.embedders),
            uncovered=uncovered,
            usage=usage,
            incomplete=self.incomplete,
            duration_seconds=time.monotonic() - self.started,
            run_id=self.run_id,
            sources=sources,
        )

    def _event(self, kind: str, counts: dict[str, int] | None = None) -> None:
        facts = {"corpus_id": self.corpus_id, "dry_run": self.options.dry_run}
        event = Event(kind=kind, namespace=self.namespace, operation="sync", counts=counts or {}, facts=facts)
        emit(self.on_event, event)
