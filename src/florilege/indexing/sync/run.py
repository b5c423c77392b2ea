"""One run of a sync: hold every incoming source against the ledger, publish what changed, then look at what is gone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from florilege.indexing.embedding import Embedding
from florilege.indexing.indexer import Indexer
from florilege.indexing.ledger import (
    Decision,
    Hashes,
    carried_failure,
    decide,
    failed_row,
    failure_of,
    indexed_row,
    unread,
)
from florilege.indexing.pipeline import Prepared
from florilege.indexing.prepare import checked_document
from florilege.indexing.publication import Done, Job, Publication
from florilege.indexing.sync.intake import Intake, Item, Skipped
from florilege.indexing.sync.lease import Lease
from florilege.indexing.sync.options import SyncOptions
from florilege.indexing.sync.stale import gone, own_sources, refusal
from florilege.indexing.sync.tally import Tally
from florilege.interfaces.sources import Source
from florilege.interfaces.stores import Fence, RunRecord
from florilege.model.document import Document, Failed
from florilege.model.errors import ConfigError, FlorilegeError, IndexingError
from florilege.model.events import Event, Subscriber, emit
from florilege.model.ledger import SourceRecord, SyncResult

WINDOW = 32
WINDOW_CHARS = 8_000_000
"""Documents that go through the pipeline together, by number and by characters."""


class _Waiting(NamedTuple):
    """A document on its way through the pipeline, with the others of its window."""

    row: SourceRecord | None
    document: Document
    hashes: Hashes
    decision: Decision


class _Stopped(Exception):
    """The deadline passed; what is published stays, nothing more is begun."""


class SyncRun:
    """Does one sync; made and used once by :meth:`florilege.Corpus.sync`."""

    def __init__(
        self,
        indexer: Indexer,
        corpus_id: str,
        options: SyncOptions,
        *,
        volatile: Sequence[str] = (),
        on_event: Subscriber | None = None,
    ) -> None:
        self.indexer = indexer
        self.store = indexer.data
        self.namespace = indexer.namespace
        self.corpus_id = corpus_id
        self.options = options
        self.volatile = volatile
        self.on_event = on_event
        self.execution = indexer.execution(options.chunking, options.cache, dry_run=options.dry_run)
        self.hashes = indexer.hashes(options.chunking)
        self.tally = Tally(on_event, self.namespace)
        self.started = time.monotonic()
        self.started_at = datetime.now(UTC)
        self.incomplete = False
        self.lease: Lease | None = None
        self.run_id: int | None = None
        self.rows: list[SourceRecord] = []
        self.lost: list[Job] = []
        self.waiting: list[_Waiting] = []

    @property
    def fence(self) -> Fence | None:
        """The run's fence, where it holds a lease."""
        return None if self.lease is None else self.lease.fence

    def run(self, documents: object) -> SyncResult:
        """Sync ``documents``; see :meth:`florilege.Corpus.sync`."""
        if self.options.dry_run:
            return self._run(documents)
        with Lease(self.store, self.namespace, self.corpus_id) as self.lease:
            self.run_id = self.store.begin_run(self.namespace, self.corpus_id)
            return self._run(documents)

    def _run(self, documents: object) -> SyncResult:
        self._event("corpus.sync.start")
        embedding = None if self.options.dry_run else self.indexer.embedding(check=self._check)
        publication = self._publication(embedding)
        intake = Intake(documents, self.store, self.namespace, self._skip, readers=self.options.concurrency)
        try:
            for item in intake:
                self._check()
                self._take(item, publication)
            self._prepare(publication)
            publication.flush()
            self._retry(publication)
        except _Stopped:
            self.incomplete = True
        if self.rows and not self.options.dry_run:
            self.store.record(self.namespace, self.rows, fence=self.fence)
        refused = None if self.incomplete else self._look_for_stale(intake)
        if self.run_id is not None:
            self._end_run(self.run_id)
        if embedding is not None and refused is None and not self.incomplete:
            self._drain(embedding, publication)
        result = self._result(publication)
        self._event("corpus.sync.end", self.tally.counts())
        if refused is not None:
            raise refused
        return result

    def _publication(self, embedding: Embedding | None) -> Publication:
        return Publication(
            self.store,
            self.namespace,
            embedding,
            self._report,
            when=self.options.embed,
            fence=self.fence,
            keep_content=self.indexer.keep_content,
        )

    def _check(self) -> None:
        if self.lease is not None:
            self.lease.check()
        if self.options.deadline is not None and time.monotonic() - self.started > self.options.deadline:
            raise _Stopped

    # What comes in

    def _skip(self, row: SourceRecord | None, source: Source) -> bool | Failed:
        if row is None or row.corpus_id != self.corpus_id:
            return False
        error = carried_failure(row, source.revision, source.reader)
        if error is None:
            return unread(row, source.revision, source.reader, self.hashes)
        return Failed(
            source_id=source.source_id,
            code=str(error["code"]),
            message=str(error["message"]),
            revision=source.revision,
            reader=source.reader,
        )

    def _take(self, item: Item, publication: Publication) -> None:
        found, row = item.found, item.row
        if self.tally.saw(item.source_id):
            message = "a second source of this run has the same id; the first was taken"
            self.tally.second(Failed(source_id=item.source_id, code="duplicate_id", message=message))
        elif isinstance(found, Failed):
            self._failed(row, found)
        elif isinstance(found, Skipped):
            self.tally.tell(found.source_id, "unchanged", chunk_count=0 if row is None else row.chunk_count)
        else:
            self._document(row, found, publication)

    def _document(self, row: SourceRecord | None, document: Document, publication: Publication) -> None:
        try:
            document = checked_document(document, self.namespace)
            hashes = Hashes.of(document, self.volatile)
            append_only = self.options.mode == "append_only"
            decision = decide(row, document, hashes, self.hashes, corpus_id=self.corpus_id, append_only=append_only)
        except FlorilegeError as error:
            if isinstance(error, ConfigError) and error.code != "bad_value":
                raise
            self._failed(row, failure_of(error, document))
            return
        if decision.action not in ("added", "changed"):
            self._leave(row, document, decision)
            return
        self.tally.reserve(document.source_id)
        self.waiting.append(_Waiting(row, document, hashes, decision))
        if len(self.waiting) >= WINDOW or sum(len(item.document.content) for item in self.waiting) > WINDOW_CHARS:
            self._prepare(publication)

    def _prepare(self, publication: Publication) -> None:
        """Take what is waiting through the pipeline and on to publication."""
        waiting, self.waiting = self.waiting, []
        for item, prepared in zip(waiting, self.execution.run_many([item.document for item in waiting]), strict=True):
            if isinstance(prepared, FlorilegeError):
                self._failed(item.row, failure_of(prepared, item.document))
            elif self.options.dry_run:
                self.tally.tell(
                    item.document.source_id,
                    item.decision.action,
                    item.decision.reason,
                    chunk_count=len(prepared.chunks),
                    stages=prepared.stages,
                )
            else:
                publication.add(self._job(item, prepared))

    def _job(self, item: _Waiting, prepared: Prepared) -> Job:
        row = item.row
        record = indexed_row(
            row,
            item.document,
            item.hashes,
            self.hashes,
            namespace=self.namespace,
            corpus_id=self.corpus_id,
            run_id=self.run_id,
        )
        return Job(
            read=item.document,
            prepared=prepared,
            record=replace(record, title=prepared.document.title, metadata=prepared.document.metadata),
            expected=None if row is None or row.status == "deleted" else row.version,
            decision=item.decision,
        )

    def _leave(self, row: SourceRecord | None, document: Document, decision: Decision) -> None:
        if row is None or decision.action == "failed":
            owner = "another corpus" if row is None else f"corpus {row.corpus_id!r}"
            self._conflict(document.source_id, f"the source belongs to {owner}; delete it there first")
            return
        if decision.touched:
            self.rows.append(
                replace(
                    row,
                    status="indexed",
                    corpus_id=self.corpus_id,
                    revision=document.revision,
                    reader=document.reader,
                    error=None,
                    failed_at=None,
                )
            )
        self.tally.tell(document.source_id, decision.action, decision.reason, chunk_count=row.chunk_count)

    # What became of it

    def _report(self, done: Done) -> None:
        job, outcome = done.job, done.outcome
        source_id = job.record.source_id
        if done.error is not None:
            row = self.store.get_sources(self.namespace, [source_id]).get(source_id)
            self._failed(row, failure_of(done.error, job.read))
        elif outcome is None or outcome.version is None:
            self.lost.append(job)
        else:
            self.tally.tell(
                source_id,
                job.decision.action,
                job.decision.reason,
                chunk_count=outcome.chunk_count,
                stages=done.stages,
            )

    def _retry(self, publication: Publication) -> None:
        """Plan sources once more that moved on between planning and publishing; a second miss is a failure."""
        jobs, self.lost = self.lost, []
        rows = self.store.get_sources(self.namespace, [job.record.source_id for job in jobs]) if jobs else {}
        for job in jobs:
            self._document(rows.get(job.record.source_id), job.read, publication)
        self._prepare(publication)
        publication.flush()
        for job in self.lost:
            self._conflict(job.record.source_id, "it was changed by somebody else meanwhile, twice")

    def _failed(self, row: SourceRecord | None, failure: Failed) -> None:
        carried = carried_failure(row, failure.revision, failure.reader or "")
        if carried is None or carried.get("code") != failure.code:
            self.rows.append(
                failed_row(row, failure, namespace=self.namespace, corpus_id=self.corpus_id, run_id=self.run_id)
            )
        reason = failure.code if carried is None else "carried_forward"
        self.tally.tell(failure.source_id, "failed", reason, failure=failure)

    def _conflict(self, source_id: str, message: str) -> None:
        failure = Failed(source_id=source_id, code="conflict", message=message, retryable=True)
        self.tally.tell(source_id, "failed", "conflict", failure=failure)

    # What is gone

    def _look_for_stale(self, intake: Intake) -> IndexingError | None:
        """Tell what the complete set no longer holds, and delete it when asked; the refusal, when a brake holds."""
        listing = intake.listing
        if self.options.source_set != "complete" or (listing is not None and listing.error is not None):
            return None
        own = own_sources(self.store, self.namespace, self.corpus_id)
        missing = gone(own, self.tally.results, listing)
        if not missing:
            return None
        delete = self.options.stale == "delete"
        if delete:
            refused = refusal(
                self.options, self.corpus_id, deletions=len(missing), own=len(own), listed=len(self.tally.results)
            )
            if refused is not None:
                return refused
        if delete and not self.options.dry_run:
            self._delete(missing)
            return None
        for row in missing:
            self.tally.tell(
                row.source_id, "deleted" if delete else "stale", "not in the set", chunk_count=row.chunk_count
            )
        return None

    def _delete(self, missing: Sequence[SourceRecord]) -> None:
        expected = {row.source_id: row.version for row in missing}
        outcomes = self.store.delete_sources(self.namespace, expected, fence=self.fence, run_id=self.run_id)
        for outcome in outcomes:
            if outcome.conflict is None:
                self.tally.tell(outcome.source_id, "deleted", "not in the set", chunk_count=outcome.chunk_count)
            else:
                self._conflict(outcome.source_id, outcome.conflict)

    # How it ends

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

    def _end_run(self, run_id: int) -> None:
        stale = sorted(result.source_id for result in self.tally.every() if result.action == "stale")
        run = RunRecord(
            run_id=run_id,
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

    def _result(self, publication: Publication) -> SyncResult:
        sources = self.tally.every()
        counts = self.tally.counts()
        dense = self.indexer.dense
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
            embedded=publication.embedded,
            reused=publication.reused,
            pending=0 if dense is None else self.store.count_pending(self.namespace, dense.space),
            usage=publication.usage,
            incomplete=self.incomplete,
            duration_seconds=time.monotonic() - self.started,
            run_id=self.run_id,
            sources=sources,
        )

    def _event(self, kind: str, counts: dict[str, int] | None = None) -> None:
        facts = {"corpus_id": self.corpus_id, "dry_run": self.options.dry_run}
        event = Event(kind=kind, namespace=self.namespace, operation="sync", counts=counts or {}, facts=facts)
        emit(self.on_event, event)
