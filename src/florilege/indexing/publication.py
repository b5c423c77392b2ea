"""From prepared sources to published generations: embed across a batch of them, then publish the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from florilege.indexing.embedding import Embedding, Filled
from florilege.indexing.ledger import Decision
from florilege.indexing.pipeline import Prepared
from florilege.interfaces.stores import ChunkVectors, DataStore, Fence, SourceWrite, WriteOutcome
from florilege.model.chunk import Chunk
from florilege.model.document import Document
from florilege.model.errors import EmbeddingError
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
    error: EmbeddingError | None = None
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
        embedding: Embedding | None,
        report: Callable[[Done], None],
        *,
        when: EmbedWhen = "before",
        fence: Fence | None = None,
        keep_content: bool = True,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._embedding = embedding
        self._report = report
        self._when = when
        self._fence = fence
        self._keep_content = keep_content
        self._jobs: list[Job] = []
        self._chunks = 0
        self.usage = Usage()
        self.embedded = 0
        self.reused = 0

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
        keys, failed = self._embed(jobs)
        ready = [job for job in jobs if job.record.source_id not in failed]
        writes = [self._write(job, keys.get(job.record.source_id)) for job in ready]
        outcomes = self._store.replace(self._namespace, writes, fence=self._fence) if writes else []
        done = {job.record.source_id: Done(job=job, error=failed.get(job.record.source_id)) for job in jobs}
        for job, write, outcome in zip(ready, writes, outcomes, strict=True):
            done[job.record.source_id] = Done(job=job, outcome=outcome, stages=write.record.stages)
        for item in done.values():
            self._report(item)

    def _embed(self, jobs: list[Job]) -> tuple[dict[str, list[bytes]], dict[str, EmbeddingError]]:
        if self._embedding is None:
            return {}, {}
        keys = {job.record.source_id: self._embedding.keys(job.prepared.chunks) for job in jobs}
        every = [key for some in keys.values() for key in some]
        filled = Filled()
        if self._when == "before":
            filled = self._embedding.fill(dict(zip(every, _texts(jobs), strict=True)))
            self.reused += len(every) - filled.embedded
        else:
            self.reused += len(every) - len(self._embedding.missing(every))
        self.usage += filled.usage
        self.embedded += filled.embedded
        return keys, {
            source_id: next(filled.failures[key] for key in some if key in filled.failures)
            for source_id, some in keys.items()
            if not filled.failures.keys().isdisjoint(some)
        }

    def _write(self, job: Job, keys: list[bytes] | None) -> SourceWrite:
        prepared = job.prepared
        vectors = None
        stages = prepared.stages
        if self._embedding is not None and keys is not None:
            vectors = ChunkVectors(self._embedding.space, keys)
            stages += (
                StageRecord(
                    name=self._embedding.space.name,
                    kind="embedding",
                    version=self._embedding.space.preparation,
                    status="success" if self._when == "before" else "pending",
                    chunk_count=len(keys),
                ),
            )
        document = prepared.document if self._keep_content else None
        return SourceWrite(
            record=replace(job.record, stages=stages),
            chunks=prepared.chunks,
            parents=prepared.parents,
            document=document,
            vectors=vectors,
            expected=job.expected,
            keep_generation=job.decision.keep_generation,
        )


def _texts(jobs: list[Job]) -> list[str]:
    chunks: list[Chunk] = [chunk for job in jobs for chunk in job.prepared.chunks]
    return [chunk.full_text for chunk in chunks]
