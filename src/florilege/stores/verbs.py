"""The verbs every store of ours has, each handed to the part that does it."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Self

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import (
    Capabilities,
    Fence,
    PendingVector,
    RunRecord,
    SourceWrite,
    VectorLeg,
    WriteOutcome,
)
from florilege.model.filters import OPERATORS
from florilege.model.ledger import GenerationRecord, SourceRecord, Version
from florilege.stores.fields import Fields
from florilege.stores.parts import LeaseKeeping, LedgerKeeping, SpaceMoving, StageKeeping, VectorKeeping, Writing
from florilege.stores.rules import RETENTION_SECONDS, VECTOR_SECONDS


class Parts(NamedTuple):
    """What does the work of a store."""

    writer: Writing
    ledger: LedgerKeeping
    leases: LeaseKeeping
    vectors: VectorKeeping
    spaces: SpaceMoving
    cache: StageKeeping


class Verbs(ABC):
    """A :class:`~florilege.interfaces.DataStore` but for its snapshots and the care of it."""

    capabilities = Capabilities(
        legs=frozenset({"dense", "sparse", "lexical"}),
        transactions=True,
        snapshots=True,
        concurrent_writers=True,
        filters=OPERATORS,
    )

    def __init__(self, parts: Parts, fields: Fields) -> None:
        self._fields = fields
        self._writer = parts.writer
        self._ledger = parts.ledger
        self._leases = parts.leases
        self._vectors = parts.vectors
        self._spaces = parts.spaces
        self._cache = parts.cache

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close every handle; using the store afterwards is a StoreError."""

    # -- sources --------------------------------------------------------------------------------------------------

    def get_sources(self, namespace: str, source_ids: Sequence[str]) -> dict[str, SourceRecord]:
        """The ledger rows there are for these ids, deleted ones included."""
        return self._ledger.get(namespace, source_ids)

    def list_sources(
        self,
        namespace: str,
        *,
        corpus_id: str | None = None,
        status: Sequence[str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[list[SourceRecord], str | None]:
        """Ledger rows by source id, and a cursor for the next page (None: no more)."""
        return self._ledger.page(namespace, corpus_id, status, limit, cursor)

    def replace(
        self, namespace: str, writes: Sequence[SourceWrite], *, fence: Fence | None = None
    ) -> list[WriteOutcome]:
        """Publish sources, each at once and whole; see :meth:`florilege.interfaces.DataStore.replace`."""
        for write in writes if self._fields else ():
            for metadata in itertools.chain([write.record.metadata], (chunk.metadata for chunk in write.chunks)):
                self._fields.check(metadata, write.record.source_id)
        return self._writer.replace(namespace, writes, fence)

    def delete_sources(
        self,
        namespace: str,
        expected: Mapping[str, Version | None],
        *,
        fence: Fence | None = None,
        forget: bool = False,
        run_id: int | None = None,
    ) -> list[WriteOutcome]:
        """Retire every generation of these sources; ``forget`` drops the ledger row too."""
        return self._writer.delete(namespace, expected, fence, forget, run_id)

    def record(self, namespace: str, records: Sequence[SourceRecord], *, fence: Fence | None = None) -> None:
        """Write ledger rows without touching generations."""
        self._ledger.record(namespace, records, fence)

    def history(self, namespace: str, source_id: str) -> list[GenerationRecord]:
        """A source's generations, newest first."""
        return self._ledger.history(namespace, source_id)

    def pin(self, namespace: str, source_id: str, generation: int, *, pinned: bool = True) -> None:
        """Keep a generation from being collected, or let it go again."""
        self._ledger.pin(namespace, source_id, generation, pinned)

    def stats(self, namespace: str | None = None) -> dict[str, Any]:
        """Sizes and counts."""
        return self._ledger.stats(namespace)

    def namespaces(self) -> list[str]:
        """The namespaces there are."""
        return self._ledger.namespaces()

    # -- runs and leases ------------------------------------------------------------------------------------------

    def begin_run(self, namespace: str, corpus_id: str) -> int:
        """A new run id, not yet written."""
        return self._leases.begin_run()

    def end_run(self, run: RunRecord, *, fence: Fence | None = None) -> None:
        """Write the run's one row."""
        self._leases.end_run(run, fence)

    def runs(self, namespace: str, corpus_id: str | None = None, limit: int = 20) -> list[RunRecord]:
        """The newest runs first."""
        return self._leases.runs(namespace, corpus_id, limit)

    def acquire_lease(self, namespace: str, corpus_id: str, holder: str, *, wait: float = 0.0) -> Fence:
        """Take the corpus's lease; Conflict names the holder after ``wait`` seconds."""
        return self._leases.acquire(namespace, corpus_id, holder, wait)

    def renew_lease(self, fence: Fence) -> None:
        """Hold it 60 s more; Conflict when it was taken over."""
        self._leases.renew(fence)

    def release_lease(self, fence: Fence) -> None:
        """Give it back; nothing happens when it was taken over."""
        self._leases.release(fence)

    # -- vectors --------------------------------------------------------------------------------------------------

    def bind_space(self, namespace: str, space: EmbeddingSpace, *, leg: VectorLeg = "dense") -> None:
        """Bind this leg of the namespace to this space; ConfigError when it has another."""
        self._vectors.bind(namespace, space, leg)

    def bound_space(self, namespace: str, *, leg: VectorLeg = "dense") -> str | None:
        """The identity of the space this leg of the namespace is bound to."""
        return self._vectors.bound(namespace, leg)

    def missing_vectors(self, space: EmbeddingSpace, keys: Sequence[bytes]) -> set[bytes]:
        """Which of these keys the store has no vector for."""
        return self._vectors.missing(space, keys)

    def put_vectors(self, space: EmbeddingSpace, keys: Sequence[bytes], vectors: Any) -> None:
        """Keep dense vectors by content key; keys that are there already are left as they are."""
        self._vectors.put(space, keys, vectors)

    def put_sparse(self, space: EmbeddingSpace, keys: Sequence[bytes], vectors: Sequence[Mapping[int, float]]) -> None:
        """Keep sparse vectors by content key; keys that are there already are left as they are."""
        self._vectors.put(space, keys, vectors)

    def pending_vectors(
        self, namespace: str, space: EmbeddingSpace, *, after: int = 0, limit: int = 64
    ) -> list[PendingVector]:
        """Visible chunks that wait for a vector, by row, from the one after ``after``."""
        return self._vectors.pending(namespace, space, after, limit)

    def count_pending(self, namespace: str, space: EmbeddingSpace) -> int:
        """How many visible chunks wait for a vector."""
        return self._vectors.count_pending(namespace, space)

    def fill_vectors(
        self,
        namespace: str,
        space: EmbeddingSpace,
        pending: Sequence[PendingVector],
        vectors: Any = None,
        *,
        fence: Fence | None = None,
    ) -> int:
        """Give waiting chunks their vectors (None: those kept under their keys); returns how many rows took one."""
        return self._vectors.fill(namespace, space, pending, vectors, fence)

    def unembedded(
        self, namespace: str, space: EmbeddingSpace, *, after: int = 0, limit: int = 64
    ) -> list[PendingVector]:
        """Visible chunks without a vector of this space, by row, from the one after ``after``; their key is empty."""
        return self._spaces.unembedded(namespace, space, after, limit)

    def enqueue_vectors(
        self, namespace: str, space: EmbeddingSpace, pending: Sequence[PendingVector], *, fence: Fence | None = None
    ) -> None:
        """Let these chunks wait for a vector of this space under the keys they bring."""
        self._spaces.enqueue(namespace, space, pending, fence)

    def switch_space(
        self,
        namespace: str,
        space: EmbeddingSpace,
        *,
        leg: VectorLeg = "dense",
        but: Collection[int] = (),
        fence: Fence | None = None,
    ) -> int:
        """Bind the leg to another space unless visible chunks (not in ``but``) lack a vector of it; how many do."""
        return self._spaces.switch(namespace, space, leg, but, fence)

    # -- stage results --------------------------------------------------------------------------------------------

    def get_cached(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Stage results by key, those there are."""
        return self._cache.get(keys)

    def put_cached(self, items: Mapping[bytes, bytes]) -> None:
        """Keep stage results; beyond 512 MB the ones written longest ago give way."""
        self._cache.put(items)

    # -- care -----------------------------------------------------------------------------------------------------

    def collect(
        self,
        namespace: str,
        *,
        keep_generations: int = 1,
        retention: float = RETENTION_SECONDS,
        vector_age: float = VECTOR_SECONDS,
        fence: Fence | None = None,
    ) -> dict[str, int]:
        """Remove what nobody can ask for any more; returns how many of each thing went.

        A source keeps its active generation, the newest ``keep_generations`` others (a deleted source none), pinned
        ones, and all that was retired less than ``retention`` seconds ago. Then go documents, metadata, forgotten
        sources and, past ``vector_age`` seconds, vectors nothing refers to. Snapshots from before raise NotFound
        (code ``collected``).
        """
        return self._writer.collect(namespace, keep_generations, retention, vector_age, fence)

    def repair(self, namespace: str) -> list[str]:
        """Make what is derived anew and retire what cannot be trusted; the ids of the sources to index again."""
        return self._writer.repair(namespace)
