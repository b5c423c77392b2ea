"""From prepared sources to published generations: embed across a batch of them, then publish the batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from florilege.indexing.embedding import WRITE_FIELDS, Embedding, written
from florilege.indexing.ledger import Decision
from florilege.indexing.pipeline import Prepared
from florilege.interfaces.stores import DataStore, Fence, SourceWrite, WriteOutcome
from florilege.model.altering import altered
from florilege.model.chunk import Chunk
from florilege.model.document import Document
from florilege.model.errors import ChunkingError, ConfigError, EmbeddingError, FlorilegeError
from florilege.model.ledger import SourceRecord, StageRecord, Usage, Version

EmbedWhen = Literal["before", "after"]
BATCH_CHUNKS = 512
BATCH_SOURCES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A prepared source on its way to publication: as it was ``read``, and as the pipeline made it."""

    read: Document
    prepared: Prepared
    record: SourceRecord
    expected: Version | None
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a job: an outcome, or the error that kept it out."""

    job: Job
    outcome: WriteOutcome | None = None
    error: FlorilegeError | None = None
    stages: tuple[StageRecord, ...] = ()


class Publication:
    """Collects jobs and publishes them in batches; ``report`` hears of each once it is decided.

    With ``when="before"`` a generation appears with its vectors; a source whose text cannot be embedded is left out
    and its error reported. With "after" it appears at once for the lexical leg and its chunks wait in the embed queue.
    """

    def __init__(
        self,
        store: DataStore,
        namespace: str,
        embeddings: Sequence[Embedding],
        report: Callable[[Done], None],
        *,
        when: EmbedWhen = "before",
        fence: Fence | None = None,
        keep_content: bool = True,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._embeddings = embeddings
        self._report = report
        self._when = when
        self._fence = fence
        self._keep_content = keep_content
        self._jobs: list[Job] = []
        self._chunks = 0
        self.usage = Usage()
        self.embedded = 0
        self.reused = 0
        self.counts: Counter[str] = Counter()

    def add(self, job: Job) -> None:
        """Take a job; publishes the batch when it is full."""
        self._jobs.append(job)
        self._chunks += len(job.prepared.chunks)
        if self._chunks >= BATCH_CHUNKS or len(self._jobs) >= BATCH_SOURCES:
            self.flush()

    def flush(self) -> None:
        """Publish what is waiting."""
        jobs, self._jobs, self._chunks = self._jobs, [], 0
        if not jobs:
            return
        vectors = [written(self._embeddings, job.prepared.chunks) for job in jobs]
        failed: dict[str, FlorilegeError] = dict(self._embed(jobs, vectors))
        writes = {
            job.record.source_id: self._write(job, made)
            for job, made in zip(jobs, vectors, strict=True)
            if job.record.source_id not in failed
        }
        outcomes = self._publish(writes, failed)
        for job in jobs:
            source_id = job.record.source_id
            if source_id in failed:
                self._report(Done(job=job, error=failed[source_id]))
            else:
                stages = writes[source_id].record.stages
                self._report(Done(job=job, outcome=outcomes[source_id], stages=stages))

    def _publish(self, writes: dict[str, SourceWrite], failed: dict[str, FlorilegeError]) -> dict[str, WriteOutcome]:
        """Publish; a source whose values the store refuses is left out, and the others go on without it."""
        while writes:
            try:
                outcomes = self._store.replace(self._namespace, list(writes.values()), fence=self._fence)
            except (ConfigError, ChunkingError) as error:
                if error.source_id not in writes:
                    raise
                del writes[error.source_id]
                failed[error.source_id] = error
            else:
                return dict(zip(writes, outcomes, strict=True))
        return {}

    def _embed(self, jobs: list[Job], vectors: list[dict[str, Any]]) -> dict[str, EmbeddingError]:
        """Make the vectors that are missing, or (``when="after"``) count them; the errors by source."""
        failed: dict[str, EmbeddingError] = {}
        for embedding in self._embeddings:
            keys = [made[WRITE_FIELDS[embedding.leg]].keys for made in vectors]
            every = list(zip(chain.from_iterable(keys), _texts(jobs), strict=True))
            wanted = [key for key, _ in every if key is not None]
            self.counts[embedding.leg] += len(wanted)
            self.counts["uncovered"] += len(every) - len(wanted)
            if self._when == "after":
                self.reused += len(wanted) - len(embedding.missing(wanted))
                continue
            filled = embedding.fill({key: text for key, text in every if key is not None})
            self.reused += len(wanted) - filled.embedded
            self.usage += filled.usage
            self.embedded += filled.embedded
            for job, some in zip(jobs, keys, strict=True):
                if errors := [filled.failures[key] for key in some if key in filled.failures]:
                    failed[job.record.source_id] = errors[0]
        return failed

    def _write(self, job: Job, vectors: dict[str, Any]) -> SourceWrite:
        prepared = job.prepared
        stages = tuple(
            StageRecord(
                name=made.space.name,
                kind="embedding",
                version=made.space.preparation,
                status="success" if self._when == "before" else "pending",
                chunk_count=sum(key is not None for key in made.keys),
            )
            for made in vectors.values()
        )
        return SourceWrite(
            record=altered(job.record, stages=prepared.stages + stages),
            chunks=prepared.chunks,
            parents=prepared.parents,
            document=prepared.document if self._keep_content else None,
            expected=job.expected,
            keep_generation=job.decision.keep_generation,
            **vectors,
        )


def _texts(jobs: list[Job]) -> list[str]:
    chunks: list[Chunk] = [chunk for job in jobs for chunk in job.prepared.chunks]
    return [chunk.full_text for chunk in chunks]
