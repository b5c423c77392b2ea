"""Each incoming source held against the ledger: decided, taken through the pipeline, published, reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from florilege.indexing.indexer import WINDOW, Indexer
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
from florilege.indexing.sync.intake import Item, Skipped
from florilege.indexing.sync.options import SyncOptions
from florilege.indexing.sync.plan import Estimate, PlannedSource, SyncPlan
from florilege.indexing.sync.tally import Tally
from florilege.interfaces.sources import Source
from florilege.model.altering import altered
from florilege.model.document import Document, Failed
from florilege.model.errors import ConfigError, FlorilegeError
from florilege.model.ledger import SourceRecord

WINDOW_CHARS = 8_000_000
"""Documents go through the pipeline together up to this many characters (or ``WINDOW`` of them)."""


class _Waiting(NamedTuple):
    """A document that is to be indexed, with what was known when that was decided."""

    row: SourceRecord | None
    document: Document
    hashes: Hashes
    decision: Decision


class Reconciler:
    """Takes incoming sources one by one; ``rows`` are the ledger rows still to be written at the end.

    With a ``plan`` only what was planned is done; with ``options.dry_run`` nothing is, and ``estimate`` counts what it
    would cost.
    """

    def __init__(
        self,
        indexer: Indexer,
        corpus_id: str,
        options: SyncOptions,
        tally: Tally,
        *,
        run_id: int | None,
        volatile: Sequence[str],
        plan: SyncPlan | None,
        estimate: Estimate | None,
    ) -> None:
        self.store = indexer.data
        self.namespace = indexer.namespace
        self.corpus_id = corpus_id
        self.options = options
        self.tally = tally
        self.run_id = run_id
        self.volatile = volatile
        self.estimate = estimate
        self.execution = indexer.execution(options.chunking, options.cache, dry_run=options.dry_run)
        self.hashes = indexer.hashes(options.chunking)
        self.rows: list[SourceRecord] = []
        self.source_hashes: dict[str, str] = {}
        self.readers: dict[str, str | None] = {}
        self._planned = None if plan is None else plan.by_source()
        self._waiting: list[_Waiting] = []
        self._characters = 0
        self._lost: list[Job] = []

    # What comes in

    def skip(self, row: SourceRecord | None, source: Source) -> bool | Failed:
        """Whether a source handle need not be read; a Failed carries its old failure forward."""
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

    def take(self, item: Item, publication: Publication) -> None:
        """Take one incoming source."""
        found, row = item.found, item.row
        if self.tally.saw(item.source_id):
            message = "a second source of this run has the same id; the first was taken"
            self.tally.second(Failed(source_id=item.source_id, code="duplicate_id", message=message))
        elif isinstance(found, Failed):
            self._failed(row, found)
        elif isinstance(found, Skipped):
            self.tally.tell(found.source_id, "unchanged", chunk_count=0 if row is None else row.chunk_count)
        else:
            self._decide(row, found, publication)

    def finish(self, publication: Publication) -> None:
        """Publish what is still on its way.

        Sources that moved on between planning and publishing are planned once more; a second miss is a failure.
        """
        self._prepare(publication)
        publication.flush()
        jobs, self._lost = self._lost, []
        rows = self.store.get_sources(self.namespace, [job.record.source_id for job in jobs]) if jobs else {}
        for job in jobs:
            self._decide(rows.get(job.record.source_id), job.read, publication)
        self._prepare(publication)
        publication.flush()
        for job in self._lost:
            self.conflict(job.record.source_id, "it was changed by somebody else meanwhile, twice")

    def _decide(self, row: SourceRecord | None, document: Document, publication: Publication) -> None:
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
        self.source_hashes[document.source_id] = hashes.source
        self.readers[document.source_id] = document.reader
        if decision.action not in ("added", "changed"):
            self._leave(row, document, decision)
        elif self._planned is not None and not _as_planned(self._planned.get(document.source_id), hashes, decision):
            count = 0 if row is None else row.chunk_count
            self.tally.tell(document.source_id, "skipped", "not as planned", chunk_count=count)
        else:
            self.tally.reserve(document.source_id)
            self._waiting.append(_Waiting(row, document, hashes, decision))
            self._characters += len(document.content)
            if len(self._waiting) >= WINDOW or self._characters > WINDOW_CHARS:
                self._prepare(publication)

    def _leave(self, row: SourceRecord | None, document: Document, decision: Decision) -> None:
        if row is None or decision.action == "failed":
            owner = "another corpus" if row is None else f"corpus {row.corpus_id!r}"
            self.conflict(document.source_id, f"the source belongs to {owner}; delete it there first")
            return
        if decision.touched:
            touched = replace(
                row,
                status="indexed",
                corpus_id=self.corpus_id,
                revision=document.revision,
                reader=document.reader,
                error=None,
                failed_at=None,
            )
            self.rows.append(touched)
        self.tally.tell(document.source_id, decision.action, decision.reason, chunk_count=row.chunk_count)

    # What becomes of it

    def _prepare(self, publication: Publication) -> None:
        """Take what is waiting through the pipeline and on to publication."""
        waiting, self._waiting, self._characters = self._waiting, [], 0
        results = self.execution.run_many([item.document for item in waiting])
        for item, prepared in zip(waiting, results, strict=True):
            if isinstance(prepared, FlorilegeError):
                self._failed(item.row, failure_of(prepared, item.document))
            elif self.options.dry_run:
                self._estimate(item, prepared)
            else:
                publication.add(self._job(item, prepared))

    def _estimate(self, item: _Waiting, prepared: Prepared) -> None:
        if self.estimate is not None:
            self.estimate.add(prepared.chunks)
        self.tally.tell(
            item.document.source_id,
            item.decision.action,
            item.decision.reason,
            chunk_count=len(prepared.chunks),
            stages=prepared.stages,
            warnings=prepared.document.warnings,
        )

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
            record=altered(record, title=prepared.document.title, metadata=prepared.document.metadata),
            expected=None if row is None or row.status == "deleted" else row.version,
            decision=item.decision,
        )

    def report(self, done: Done) -> None:
        """Hear what became of a source that was to be published."""
        job, outcome = done.job, done.outcome
        source_id = job.record.source_id
        if done.error is not None:
            row = self.store.get_sources(self.namespace, [source_id]).get(source_id)
            self._failed(row, failure_of(done.error, job.read))
        elif outcome is None or outcome.version is None:
            self._lost.append(job)
        else:
            self.tally.tell(
                source_id,
                job.decision.action,
                job.decision.reason,
                chunk_count=outcome.chunk_count,
                stages=done.stages,
                warnings=job.prepared.document.warnings,
            )

    def conflict(self, source_id: str, message: str) -> None:
        """Record that somebody else has the source; its ledger row is theirs and stays as it is."""
        failure = Failed(source_id=source_id, code="conflict", message=message, retryable=True)
        self.tally.tell(source_id, "failed", "conflict", failure=failure)

    def _failed(self, row: SourceRecord | None, failure: Failed) -> None:
        if row is not None and row.corpus_id not in (None, self.corpus_id) and row.status != "deleted":
            self.conflict(failure.source_id, f"the source belongs to corpus {row.corpus_id!r}; delete it there first")
            return
        carried = carried_failure(row, failure.revision, failure.reader or "")
        if carried is None or carried.get("code") != failure.code:
            self.rows.append(
                failed_row(row, failure, namespace=self.namespace, corpus_id=self.corpus_id, run_id=self.run_id)
            )
        reason = failure.code if carried is None else "carried_forward"
        self.tally.tell(failure.source_id, "failed", reason, failure=failure)


def _as_planned(planned: PlannedSource | None, hashes: Hashes, decision: Decision) -> bool:
    return planned is not None and (planned.action, planned.source_hash) == (decision.action, hashes.source)
