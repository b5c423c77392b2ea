"""What a store is made of: the parts that do the work behind the verbs of :mod:`florilege.stores.verbs`.

Each method does what the verb of :class:`florilege.interfaces.stores.DataStore` says that has it for its name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import Fence, PendingVector, RunRecord, SourceWrite, VectorLeg, WriteOutcome
from florilege.model.ledger import GenerationRecord, SourceRecord, Version


class Writing(Protocol):
    """Publishes, retires and collects generations."""

    def replace(self, namespace: str, writes: Sequence[SourceWrite], fence: Fence | None) -> list[WriteOutcome]: ...

    def delete(
        self,
        namespace: str,
        expected: Mapping[str, Version | None],
        fence: Fence | None,
        forget: bool,
        run_id: int | None,
    ) -> list[WriteOutcome]: ...

    def repair(self, namespace: str) -> list[str]: ...

    def collect(
        self, namespace: str, keep_generations: int, retention: float, vector_age: float, fence: Fence | None
    ) -> dict[str, int]: ...


class LedgerKeeping(Protocol):
    """Keeps the ledger rows and tells what there is."""

    def get(self, namespace: str, source_ids: Sequence[str]) -> dict[str, SourceRecord]: ...

    def page(
        self, namespace: str, corpus_id: str | None, status: Sequence[str] | None, limit: int | None, cursor: str | None
    ) -> tuple[list[SourceRecord], str | None]: ...

    def record(self, namespace: str, records: Sequence[SourceRecord], fence: Fence | None) -> None: ...

    def history(self, namespace: str, source_id: str) -> list[GenerationRecord]: ...

    def pin(self, namespace: str, source_id: str, generation: int, pinned: bool) -> None: ...

    def stats(self, namespace: str | None) -> dict[str, Any]: ...

    def namespaces(self) -> list[str]: ...


class LeaseKeeping(Protocol):
    """Keeps leases and the rows of runs."""

    def begin_run(self) -> int: ...

    def end_run(self, run: RunRecord, fence: Fence | None) -> None: ...

    def runs(self, namespace: str, corpus_id: str | None, limit: int) -> list[RunRecord]: ...

    def acquire(self, namespace: str, corpus_id: str, holder: str, wait: float) -> Fence: ...

    def renew(self, fence: Fence) -> None: ...

    def release(self, fence: Fence) -> None: ...


class VectorKeeping(Protocol):
    """Keeps vectors by content key, and the queue of chunks that wait for one."""

    def bind(self, namespace: str, space: EmbeddingSpace, leg: VectorLeg) -> None: ...

    def bound(self, namespace: str, leg: VectorLeg) -> str | None: ...

    def missing(self, space: EmbeddingSpace, keys: Sequence[bytes]) -> set[bytes]: ...

    def put(self, space: EmbeddingSpace, keys: Sequence[bytes], vectors: Any) -> None: ...

    def pending(self, namespace: str, space: EmbeddingSpace, after: int, limit: int) -> list[PendingVector]: ...

    def count_pending(self, namespace: str, space: EmbeddingSpace) -> int: ...

    def fill(
        self,
        namespace: str,
        space: EmbeddingSpace,
        pending: Sequence[PendingVector],
        vectors: Any,
        fence: Fence | None,
    ) -> int: ...


class SpaceMoving(Protocol):
    """Moves a namespace from one embedding space to another."""

    def unembedded(self, namespace: str, space: EmbeddingSpace, after: int, limit: int) -> list[PendingVector]: ...

    def enqueue(
        self, namespace: str, space: EmbeddingSpace, pending: Sequence[PendingVector], fence: Fence | None
    ) -> None: ...

    def switch(
        self, namespace: str, space: EmbeddingSpace, leg: VectorLeg, but: Collection[int], fence: Fence | None
    ) -> int: ...


class StageKeeping(Protocol):
    """Keeps stage results by key, with a limit on their sum."""

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]: ...

    def put(self, items: Mapping[bytes, bytes]) -> None: ...
