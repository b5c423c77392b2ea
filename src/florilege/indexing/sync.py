"""One run of a sync: hold every incoming source against the ledger, publish what changed, then look at what is gone."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, Self

from florilege.indexing.embedding import Embedding
from florilege.indexing.indexer import Indexer
from florilege.indexing.intake import Intake, Item, Skipped
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
from florilege.indexing.publication import Done, EmbedWhen, Job, Publication
from florilege.interfaces.sources import Source
from florilege.interfaces.stores import DataStore, Fence, RunRecord
from florilege.model.document import Document, Failed
from florilege.model.errors import ConfigError, Conflict, FlorilegeError, IndexingError
from florilege.model.events import Event, Subscriber, emit
from florilege.model.ledger import Action, SourceRecord, SourceResult, StageRecord, SyncResult

RENEW_SECONDS = 10.0
BRAKE_FLOOR = 20
"""Up to this many deletions pass without asking what share of the corpus they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOptions:
    """The options of :meth:`florilege.Corpus.sync`, checked."""

    mode: Literal["replace_changed", "append_only"] = "replace_changed"
    source_set: Literal["partial", "complete"] = "partial"
    stale: Literal["keep", "delete"] = "keep"
    dry_run: bool = False
    max_delete_fraction: float = 0.5
    allow_mass_delete: bool = False
    embed: EmbedWhen = "before"
    chunking: dict[str, Any] | None = None
    concurrency: int = 2
    deadline: float | None = None

    def __post_init__(self) -> None:
        choices = {
            "mode": ("replace_changed", "append_only"),
            "source_set": ("partial", "complete"),
            "stale": ("keep", "delete"),
            "embed": ("before", "after"),
        }
        for option, allowed in choices.items():
            if getattr(self, option) not in allowed:
                raise ConfigError(f"sync {option}: {getattr(self, option)!r} is not one of {', '.join(allowed)}")
        if self.stale == "delete" and self.source_set != "complete":
            raise ConfigError('sync stale="delete" needs source_set="complete": a partial set cannot say what is gone')
        if not 0 <= self.max_delete_fraction <= 1:
            raise ConfigError(f"sync max_delete_fraction: {self.max_delete_fraction!r} is not between 0 and 1")
        if self.concurrency < 1:
            raise ConfigError(f"sync concurrency: {self.concurrency!r} is less than 1")


class _Stopped(Exception):
    """The deadline passed; what is published stays, nothing more is begun."""


class Lease:
    """The corpus's lease, renewed in the background while the run lasts."""

    def __init__(self, store: DataStore, namespace: str, corpus_id: str) -> None:
        self._store = store
        self._key = (namespace, corpus_id)
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self.fence: Fence | None = None
        self.lost: Conflict | None = None

    def __enter__(self) -> Self:
        holder = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"
        self.fence = self._store.acquire_lease(*self._key, holder)
        self._thread = threading.Thread(target=self._renew, args=(self.fence,), name="florilege-lease", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        if self.fence is not None and self.lost is None:
            self._store.release_lease(self.fence)

    def check(self) -> None:
        """Raise the Conflict when somebody else took the lease over."""
        if self.lost is not None:
            raise self.lost

    def _renew(self, fence: Fence) -> None:
        while not self._done.wait(RENEW_SECONDS):
            try:
                self._store.renew_lease(fence)
            except Conflict as error:
                self.lost = error
                return
            except FlorilegeError:
                continue


@dataclass(slots=True)
class _Tally:
    """The run's results as they come in."""

    subscriber: Subscriber | None
    namespace: str
    results: dict[str, SourceResult] = field(default_factory=dict)
    duplicates: list[SourceResult] = field(default_factory=list)
    listed: int = 0

    def tell(
        self,
        source_id: str,
        action: Action,
        reason: str | None = None,
        chunk_count: int = 0,
        stages: tuple[StageRecord, ...] = (),
        failure: Failed | None = None,
    ) -> None:
        error = None if failure is None else {"code": failure.code, "message": failure.message}
        result = SourceResult(
            source_id=source_id, action=action, reason=reason, chunk_count=chunk_count, stages=stages, error=error
        )
        if source_id in self.results and reason == "duplicate_id":
            self.duplicates.append(result)
        else:
            self.results[source_id] = result
        facts = {"reason": reason} if error is None else {"reason": reason, **error}
        emit(
            self.subscriber,
            Event(
                kind=f"corpus.source.{action}",
                namespace=self.namespace,
                source_id=source_id,
                operation="sync",
                counts={"chunks": chunk_count},
                facts=facts,
                stages=stages,
            ),
        )

    def every(self) -> tuple[SourceResult, ...]:
        return (*self.results.values(), *self.duplicates)


class SyncRun:
    """Does one sync; made and used once by :meth:`florilege.Corpus.sync`."""

    def __init__(
        self,
        indexer: Indexer,
        corpus_id: str,
        options: SyncOptions,
        *,
        volatile: tuple[str, ...] = (),
        on_event: Subscriber | None = None,
    ) -> None:
        self.indexer = indexer
        self.store = indexer.data
        self.namespace = indexer.namespace
        self.corpus_id = corpus_id
        self.options = options
        self.volatile = volatile
        self.on_event = on_event
        self.pipeline = indexer.pipeline.with_chunking(options.chunking)
        self.hashes = indexer.hashes(options.chunking)
        self.tally = _Tally(on_event, self.namespace)
        self.started = time.monotonic()
        self.started_at = datetime.now(UTC)
        self.incomplete = False
        self.lease: Lease | None = None
        self.run_id: int | None = None
        self.pending_rows: list[SourceRecord] = []

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
        publication = Publication(
            self.store,
            self.namespace,
            embedding,
            self._report,
            when=self.options.embed,
            fence=self.fence,
            keep_content=self.indexer.keep_content,
        )
        intake = Intake(documents, self.store, self.namespace, self._skip, readers=self.options.concurrency)
        try:
            for item in intake:
                self._check()
                self._take(item, publication)
            publication.flush()
        except _Stopped:
            self.incomplete = True
        self._write_rows()
        refused = None if self.incomplete else self._stale(intake)
        if not self.options.dry_run:
            self._end_run()
        if embedding is not None and refused is None:
            self._drain(embedding, publication)
        result = self._result(publication)
        counts = {key: getattr(result, key) for key in ("added", "changed", "unchanged", "deleted", "failed")}
        self._event("corpus.sync.end", counts)
        if refused is not None:
            raise refused
        return result

    @property
    def fence(self) -> Fence | None:
        """The run's fence, where it holds a lease."""
        return None if self.lease is None else self.lease.fence

    def _check(self) -> None:
        if self.lease is not None:
            self.lease.check()
        if self.options.deadline is not None and time.monotonic() - self.started > self.options.deadline:
            raise _Stopped

    def _skip(self, row: SourceRecord | None, source: Source) -> bool | Failed:
        if row is not None and row.corpus_id not in (None, self.corpus_id):
            return False
        error = carried_failure(row, source.revision, source.reader)
        if error is not None:
            return Failed(
                source_id=source.source_id,
                code=str(error["code"]),
                message=str(error["message"]),
                revision=source.revision,
                reader=source.reader,
            )
        return row is not None and row.corpus_id is not None and unread(row, source.revision, source.reader, self.hashes)

    def _take(self, item: Item, publication: Publication) -> None:
        found, row = item.found, item.row
        self.tally.listed += 1
        if item.source_id in self.tally.results:
            message = "a second source of this run has the same id; the first was taken"
            failure = Failed(source_id=item.source_id, code="duplicate_id", message=message)
            self.tally.tell(item.source_id, "failed", "duplicate_id", failure=failure)
        elif isinstance(found, Failed):
            self._failed(row, found)
        elif isinstance(found, Skipped):
            count = 0 if row is None else row.chunk_count
            self.tally.tell(found.source_id, "unchanged", chunk_count=count)
        else:
            self._document(row, found, publication)

    def _document(self, row: SourceRecord | None, document: Document, publication: Publication) -> None:
        try:
            document = self.indexer.adopt(document)
            hashes = Hashes.of(document, self.volatile)
            decision = decide(
                row,
                document,
                hashes,
                self.hashes,
                corpus_id=self.corpus_id,
                append_only=self.options.mode == "append_only",
            )
            if decision.action in ("added", "changed"):
                self._index(row, document, hashes, decision, publication)
            else:
                self._leave(row, document, hashes, decision)
        except ConfigError:
            raise
        except FlorilegeError as error:
            self._failed(row, failure_of(error, document))

    def _index(
        self,
        row: SourceRecord | None,
        document: Document,
        hashes: Hashes,
        decision: Decision,
        publication: Publication,
    ) -> None:
        prepared = self.pipeline.run(document, self.namespace)
        if self.options.dry_run:
            self.tally.tell(
                document.source_id,
                decision.action,
                decision.reason,
                chunk_count=len(prepared.chunks),
                stages=prepared.stages,
            )
            return
        # Reserved here, so that a second source with this id is told apart before the batch is published.
        self.tally.results[document.source_id] = SourceResult(
            source_id=document.source_id, action=decision.action, reason=decision.reason
        )
        record = self._row(row, prepared.document, document, hashes)
        expected = None if row is None or row.status == "deleted" else row.version
        publication.add(Job(prepared=prepared, record=record, expected=expected, decision=decision))

    def _row(self, row: SourceRecord | None, shown: Document, read: Document, hashes: Hashes) -> SourceRecord:
        return replace(
            indexed_row(
                row,
                read,
                hashes,
                self.hashes,
                namespace=self.namespace,
                corpus_id=self.corpus_id,
                run_id=self.run_id,
            ),
            title=shown.title,
            metadata=shown.metadata,
        )

    def _leave(
        self, row: SourceRecord | None, document: Document, hashes: Hashes, decision: Decision
    ) -> None:
        count = 0 if row is None else row.chunk_count
        if decision.action == "failed":
            owner = "another corpus" if row is None else f"corpus {row.corpus_id!r}"
            message = f"the source belongs to {owner}; delete it there first"
            failure = Failed(source_id=document.source_id, code="conflict", message=message)
            self.tally.tell(document.source_id, "failed", "conflict", failure=failure)
            return
        if decision.touched and row is not None:
            touched = replace(
                row,
                status="indexed",
                corpus_id=self.corpus_id,
                revision=document.revision,
                reader=document.reader,
                error=None,
                failed_at=None,
            )
            self.pending_rows.append(touched)
        self.tally.tell(document.source_id, decision.action, decision.reason, chunk_count=count)

    def _failed(self, row: SourceRecord | None, failure: Failed) -> None:
        carried = carried_failure(row, failure.revision, failure.reader or "")
        if carried is None or carried.get("code") != failure.code:
            self.pending_rows.append(
                failed_row(row, failure, namespace=self.namespace, corpus_id=self.corpus_id, run_id=self.run_id)
            )
        reason = failure.code if carried is None else "carried_forward"
        self.tally.tell(failure.source_id, "failed", reason, failure=failure)

    def _report(self, done: Done) -> None:
        job, outcome = done.job, done.outcome
        source_id = job.record.source_id
        if done.error is not None:
            self._failed(job.record if job.expected is None else self._old(source_id), _failure(done.error, job))
        elif outcome is None or outcome.version is None:
            message = "it was changed by somebody else meanwhile" if outcome is None else outcome.conflict or ""
            failure = Failed(source_id=source_id, code="conflict", message=message, retryable=True)
            self.tally.tell(source_id, "failed", "conflict", failure=failure)
        else:
            self.tally.tell(
                source_id,
                job.decision.action,
                job.decision.reason,
                chunk_count=outcome.chunk_count,
                stages=done.stages,
            )

    def _old(self, source_id: str) -> SourceRecord | None:
        return self.store.get_sources(self.namespace, [source_id]).get(source_id)

    def _write_rows(self) -> None:
        rows, self.pending_rows = self.pending_rows, []
        if rows and not self.options.dry_run:
            self.store.record(self.namespace, rows, fence=self.fence)

    def _stale(self, intake: Intake) -> IndexingError | None:
        """Tell what the complete set no longer holds, and delete it when asked; the refusal, when a brake holds."""
        if self.options.source_set != "complete" or (intake.listing is not None and intake.listing.error is not None):
            return None
        own = self._own_rows()
        gone = [
            row
            for row in own
            if row.source_id not in self.tally.results
            and (intake.listing is None or intake.listing.complete_for(row.source_id))
        ]
        if not gone:
            return None
        if self.options.stale == "keep":
            for row in gone:
                self.tally.tell(row.source_id, "stale", "not in the set", chunk_count=row.chunk_count)
            return None
        refusal = self._brake(len(gone), len(own))
        if refusal is not None:
            return refusal
        self._delete(gone)
        return None

    def _own_rows(self) -> list[SourceRecord]:
        rows: list[SourceRecord] = []
        cursor = None
        while True:
            some, cursor = self.store.list_sources(
                self.namespace, corpus_id=self.corpus_id, status=("indexed", "failed"), limit=1000, cursor=cursor
            )
            rows += some
            if cursor is None:
                return rows

    def _brake(self, gone: int, own: int) -> IndexingError | None:
        if self.options.allow_mass_delete:
            return None
        if self.tally.listed == 0:
            why = "the listing is empty"
        elif gone > BRAKE_FLOOR and gone > self.options.max_delete_fraction * own:
            why = f"that is more than {self.options.max_delete_fraction:.0%} of them"
        else:
            return None
        return IndexingError(
            f"refused to delete {gone} of {own} sources of corpus {self.corpus_id!r}: {why}; "
            "check the input, or pass allow_mass_delete=True",
            code="mass_delete",
        )

    def _delete(self, gone: list[SourceRecord]) -> None:
        if self.options.dry_run:
            for row in gone:
                self.tally.tell(row.source_id, "deleted", "not in the set", chunk_count=row.chunk_count)
            return
        expected = {row.source_id: row.version for row in gone}
        for outcome in self.store.delete_sources(self.namespace, expected, fence=self.fence, run_id=self.run_id):
            if outcome.conflict is None:
                self.tally.tell(outcome.source_id, "deleted", "not in the set", chunk_count=outcome.chunk_count)
            else:
                failure = Failed(source_id=outcome.source_id, code="conflict", message=outcome.conflict)
                self.tally.tell(outcome.source_id, "failed", "conflict", failure=failure)

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
        counts = Counter(result.action for result in self.tally.every())
        stale = sorted(r.source_id for r in self.tally.results.values() if r.action == "stale")
        if self.run_id is None:
            return
        self.store.end_run(
            RunRecord(
                run_id=self.run_id,
                namespace=self.namespace,
                corpus_id=self.corpus_id,
                started_at=self.started_at,
                ended_at=datetime.now(UTC),
                counts=dict(counts),
                facts={
                    "mode": self.options.mode,
                    "source_set": self.options.source_set,
                    "incomplete": self.incomplete,
                    "stale": stale,
                },
            ),
            fence=self.fence,
        )

    def _result(self, publication: Publication) -> SyncResult:
        sources = self.tally.every()
        counts = Counter(result.action for result in sources)
        dense = self.indexer.dense
        return SyncResult(
            corpus_id=self.corpus_id,
            namespace=self.namespace,
            mode=self.options.mode,
            source_set=self.options.source_set,
            stale_policy=self.options.stale,
            dry_run=self.options.dry_run,
            **{action: counts[action] for action in _ACTIONS},
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


_ACTIONS = ("added", "changed", "unchanged", "stale", "skipped", "deleted", "failed")


def _failure(error: FlorilegeError, job: Job) -> Failed:
    return Failed(
        source_id=job.record.source_id,
        code=error.code,
        message=error.message,
        retryable=True,
        revision=job.record.revision,
        reader=job.record.reader,
    )
