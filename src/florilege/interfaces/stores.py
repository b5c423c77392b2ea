"""What a store must do.

A store keeps, by namespace, the generations of sources: their chunks, parents, documents, vectors and words, with the
ledger beside them, and answers searches over exactly the generations that are active at one moment. All verbs are
batch verbs. Keys are structured; nothing is found by joined strings. Vectors cross as C-contiguous float32 buffers.

Rows are immutable. A generation is a manifest over rows; rows equal in chunk id, content, context and metadata are
carried from one generation to the next. Every publication, delete and vector fill takes the next number of one
sequence inside its own transaction; a :class:`Snapshot` pins a number and sees the store exactly as it was then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.model.chunk import Chunk, ParentChunk
from florilege.model.document import Document
from florilege.model.filters import Filter
from florilege.model.ledger import GenerationRecord, SourceRecord, Version

Leg = Literal["dense", "sparse", "lexical"]
VectorLeg = Literal["dense", "sparse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a store can do."""

    legs: frozenset[str]
    transactions: bool
    snapshots: bool
    concurrent_writers: bool
    filters: frozenset[str]


@dataclass(frozen=True, slots=True)
class Fence:
    """A held lease. ``token`` rises with each takeover; a write that brings a stale one is a Conflict."""

    namespace: str
    corpus_id: str
    token: int
    holder: str


class ChunkVectors(NamedTuple):
    """Vectors that travel with a write: ``keys[i]`` is the vector key of ``chunks[i]`` (None: no vector wanted).

    The vectors themselves are already in the store (see ``put_vectors`` and ``put_sparse``); keys the store lacks go to
    the embed queue.
    Rows carried over from the generation before take theirs too when they had none of this space.
    """

    space: EmbeddingSpace
    keys: Sequence[bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceWrite:
    """One source, prepared and ready to publish.

    ``expected`` is compared and set: None means the source must have no active generation, otherwise its generation
    and revision must be these. ``record`` is the ledger row as it shall stand after publication; the store fills
    version, chunk and parent counts and times. ``keep_generation``: publish as the next revision of the active
    generation (a metadata-only change) instead of a new generation.
    """

    record: SourceRecord
    chunks: Sequence[Chunk]
    parents: Sequence[ParentChunk] = ()
    document: Document | None = None
    vectors: ChunkVectors | None = None
    sparse: ChunkVectors | None = None
    expected: Version | None = None
    keep_generation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """What became of one :class:`SourceWrite` or delete.

    ``conflict`` names why nothing was written (the source moved on, or belongs to another corpus); otherwise
    ``version`` is what is now active. ``carried`` rows were kept from the generation before, ``queued`` vectors are
    waited for.
    """

    source_id: str
    version: Version | None = None
    conflict: str | None = None
    chunk_count: int = 0
    carried: int = 0
    queued: int = 0


class Findings(NamedTuple):
    """``problems``: what is damaged. ``notes``: what is worth knowing of a store that is sound."""

    problems: list[str]
    notes: list[str]


class PendingVector(NamedTuple):
    """A chunk that waits for a vector: ``row`` is opaque, ``text`` is what to embed."""

    row: int
    key: bytes
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One search over the visible rows of a snapshot's namespace.

    Legs run when their input is given: ``text`` the lexical leg, ``vector`` (with ``space``) the dense leg, ``sparse``
    (with ``sparse_space``) the sparse leg. ``filter`` is applied before top-k; ``depth`` results are wanted from each
    leg. ``deadline`` is how many seconds it may take (None: as many as it needs).
    """

    text: str | None = None
    vector: Any = None
    space: EmbeddingSpace | None = None
    sparse: Mapping[int, float] | None = None
    sparse_space: EmbeddingSpace | None = None
    filter: Filter | None = None
    depth: int = 200
    deadline: float | None = None


class Candidate(NamedTuple):
    """A row one leg found; ``row`` is opaque and good for this snapshot's :meth:`Snapshot.hydrate`.

    ``has_vector`` and ``has_sparse`` tell whether it has a vector of the spaces the request names.
    """

    row: int
    source_id: str
    chunk_id: str
    score: float
    has_vector: bool
    has_sparse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Per leg, candidates in total order (score descending, source id, chunk id), zero scores dropped.

    ``coverage`` is the share of visible, matching rows that have a vector of the asked space (1.0 when there are no
    rows); ``facts`` holds what a trace wants to tell: terms matched, rows matched, undeclared fields filtered.
    """

    legs: Mapping[str, Sequence[Candidate]]
    coverage: float = 1.0
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run of a sync."""

    run_id: int
    namespace: str
    corpus_id: str
    started_at: datetime
    ended_at: datetime | None
    counts: Mapping[str, int]
    facts: Mapping[str, Any]


@runtime_checkable
class Snapshot(Protocol):
    """A namespace as it stood at sequence number ``seq``. Cheap; holds no transaction between calls."""

    seq: int
    namespace: str

    def search(self, request: SearchRequest) -> SearchResult:
        """Search the visible rows. StoreError (code ``deadline``), at the next chance, when the deadline is over."""
        ...

    def hydrate(self, rows: Sequence[int]) -> list[Chunk]:
        """The chunks behind rows of this snapshot, in the order asked, in one query."""
        ...

    def titles(self, source_ids: Sequence[str]) -> dict[str, str | None]:
        """The titles of visible sources."""
        ...

    def chunks(self, source_id: str, *, generation: int | None = None, vectors: bool = False) -> list[Chunk]:
        """A source's active chunks by ordinal; empty for an unknown one.

        ``generation``: those of an earlier generation (its last revision) that is still kept, else NotFound (code
        ``collected``).
        """
        ...

    def vector_keys(self, source_id: str, space: EmbeddingSpace) -> dict[str, bytes]:
        """By chunk id, the keys of the vectors a source's active chunks have, or wait for, in this space."""
        ...

    def source_parents(self, source_id: str, *, generation: int | None = None) -> list[ParentChunk]:
        """A source's parents by ordinal; ``generation`` as in :meth:`chunks`."""
        ...

    def parents(self, keys: Sequence[str]) -> dict[str, ParentChunk]:
        """Visible parents by ``ParentChunk.key`` (what ``ParentRef.key`` of their children holds)."""
        ...

    def document(self, source_id: str, *, generation: int | None = None) -> Document:
        """The stored document; NotFound (code ``content_not_kept``) when its content was not kept.

        ``generation`` as in :meth:`chunks`.
        """
        ...


@runtime_checkable
class DataStore(Protocol):
    """Records, ledger, leases and vectors by content."""

    capabilities: Capabilities

    def snapshot(
        self, namespace: str, floor: Filter | None = None, *, at: int | None = None
    ) -> AbstractContextManager[Snapshot]:
        """Pin the newest sequence number; ``floor`` is intersected with every request's filter.

        ``at`` pins an earlier number instead: reading what has been collected since is NotFound (code ``collected``).
        """
        ...

    def get_sources(self, namespace: str, source_ids: Sequence[str]) -> dict[str, SourceRecord]:
        """The ledger rows there are for these ids, deleted ones included."""
        ...

    def list_sources(
        self,
        namespace: str,
        *,
        corpus_id: str | None = None,
        status: Sequence[str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[list[SourceRecord], str | None]:
        """Ledger rows by source id, and a cursor for the next page (None: no more). Statuses default to all.

        A cursor is a source id; rows behind it are listed.
        """
        ...

    def replace(
        self, namespace: str, writes: Sequence[SourceWrite], *, fence: Fence | None = None
    ) -> list[WriteOutcome]:
        """Publish sources. Large ones are staged in short transactions first; each source appears at once and whole."""
        ...

    def delete_sources(
        self,
        namespace: str,
        expected: Mapping[str, Version | None],
        *,
        fence: Fence | None = None,
        forget: bool = False,
        run_id: int | None = None,
    ) -> list[WriteOutcome]:
        """Retire every generation of these sources.

        A version given is compared first. ``forget`` drops the ledger row too.
        """
        ...

    def record(self, namespace: str, records: Sequence[SourceRecord], *, fence: Fence | None = None) -> None:
        """Write ledger rows without touching generations (failures, held and adopted sources)."""
        ...

    def begin_run(self, namespace: str, corpus_id: str) -> int:
        """A new run id, not yet written."""
        ...

    def end_run(self, run: RunRecord, *, fence: Fence | None = None) -> None:
        """Write the run's one row."""
        ...

    def runs(self, namespace: str, corpus_id: str | None = None, limit: int = 20) -> list[RunRecord]:
        """The newest runs first."""
        ...

    def acquire_lease(self, namespace: str, corpus_id: str, holder: str, *, wait: float = 0.0) -> Fence:
        """Take the corpus's lease (60 s, see :meth:`renew_lease`); Conflict names the holder after ``wait`` seconds."""
        ...

    def renew_lease(self, fence: Fence) -> None:
        """Hold it 60 s more; Conflict when it was taken over."""
        ...

    def release_lease(self, fence: Fence) -> None:
        """Give it back; nothing happens when it was taken over."""
        ...

    def bind_space(self, namespace: str, space: EmbeddingSpace, *, leg: VectorLeg = "dense") -> None:
        """Bind this leg of the namespace to this space.

        Raises ConfigError (code ``space_mismatch``) naming both when it has another.
        """
        ...

    def bound_space(self, namespace: str, *, leg: VectorLeg = "dense") -> str | None:
        """The identity of the space this leg of the namespace is bound to."""
        ...

    def missing_vectors(self, space: EmbeddingSpace, keys: Sequence[bytes]) -> set[bytes]:
        """Which of these keys the store has no vector for."""
        ...

    def put_vectors(self, space: EmbeddingSpace, keys: Sequence[bytes], vectors: Any) -> None:
        """Keep dense vectors by content key; keys that are there already are left as they are."""
        ...

    def put_sparse(self, space: EmbeddingSpace, keys: Sequence[bytes], vectors: Sequence[Mapping[int, float]]) -> None:
        """Keep sparse vectors by content key, weights as float32; keys that are there already are left as they are.

        Raises EmbeddingError (code ``bad_vector``) for an id outside the space or a weight that is not above 0 and
        finite. A vector without any id is a vector.
        """
        ...

    def pending_vectors(
        self, namespace: str, space: EmbeddingSpace, *, after: int = 0, limit: int = 64
    ) -> list[PendingVector]:
        """Visible chunks that wait for a vector, by row, from the one after ``after``."""
        ...

    def count_pending(self, namespace: str, space: EmbeddingSpace) -> int:
        """How many visible chunks wait for a vector."""
        ...

    def fill_vectors(
        self,
        namespace: str,
        space: EmbeddingSpace,
        pending: Sequence[PendingVector],
        vectors: Any = None,
        *,
        fence: Fence | None = None,
    ) -> int:
        """Give waiting chunks their vectors in one publication; returns how many rows took one.

        ``vectors`` are as for :meth:`put_vectors` or :meth:`put_sparse`, by the kind of space; None: they are in the
        store under their keys already.
        """
        ...

    def history(self, namespace: str, source_id: str) -> list[GenerationRecord]:
        """A source's generations, newest first."""
        ...

    def pin(self, namespace: str, source_id: str, generation: int, *, pinned: bool = True) -> None:
        """Keep a generation from collection, or let it go again; NotFound when it is not kept any more."""
        ...

    def collect(
        self, namespace: str, *, keep_generations: int = 1, retention: float = 600.0, fence: Fence | None = None
    ) -> dict[str, int]:
        """Remove what nobody can ask for any more; returns how many of each thing went.

        A source keeps its active generation, the newest ``keep_generations`` others, pinned ones, and all that was
        retired less than ``retention`` seconds ago.
        """
        ...

    def lost_chunks(self, namespace: str) -> int:
        """How many chunks the active generations should have and have not (0 in a sound store); cheap."""
        ...

    def check(self) -> Findings:
        """Read the whole store: what is damaged, and what is worth knowing."""
        ...

    def repair(self, namespace: str) -> list[str]:
        """Make what is derived anew and retire damaged generations; the ids of the sources to index again."""
        ...

    def get_cached(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Stage results by key, those there are."""
        ...

    def put_cached(self, items: Mapping[bytes, bytes]) -> None:
        """Keep stage results; beyond the store's limit the ones written longest ago give way."""
        ...

    def unembedded(
        self, namespace: str, space: EmbeddingSpace, *, after: int = 0, limit: int = 64
    ) -> list[PendingVector]:
        """Visible chunks without a vector of this space, by row, from the one after ``after``; their key is empty."""
        ...

    def enqueue_vectors(
        self, namespace: str, space: EmbeddingSpace, pending: Sequence[PendingVector], *, fence: Fence | None = None
    ) -> None:
        """Let these chunks wait for a vector of this space under the keys they bring."""
        ...

    def switch_space(
        self,
        namespace: str,
        space: EmbeddingSpace,
        *,
        leg: VectorLeg = "dense",
        but: Collection[int] = (),
        fence: Fence | None = None,
    ) -> int:
        """Bind this leg of the namespace to another space, if every visible chunk has a vector of it.

        Chunks in ``but`` (rows as :meth:`unembedded` names them) are to have none. Returns how many others lack one; 0
        means it was switched. Queue lines of the leg's old space go.
        """
        ...

    def stats(self, namespace: str | None = None) -> dict[str, Any]:
        """Sizes and counts."""
        ...

    def namespaces(self) -> list[str]:
        """The namespaces there are."""
        ...

    def close(self) -> None:
        """Close every handle; using the store afterwards is a StoreError."""
        ...


@runtime_checkable
class VectorStore(Protocol):
    """The search side; both shipped stores are one object for both protocols."""

    capabilities: Capabilities

    def snapshot(
        self, namespace: str, floor: Filter | None = None, *, at: int | None = None
    ) -> AbstractContextManager[Snapshot]:
        """See :meth:`DataStore.snapshot`."""
        ...
