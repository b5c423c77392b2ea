"""The ledger's records and the results of indexing calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from florilege.model.chunk import Chunk, ParentChunk
from florilege.model.document import IngestWarning

StageKind = Literal["parser", "document_transform", "chunker", "chunk_transform", "embedding", "promotion", "sync"]
StageStatus = Literal["pending", "success", "failed", "skipped"]
CacheUse = Literal["hit", "miss", "write", "refresh", "bypass"]
SourceStatus = Literal["indexed", "failed", "deleted"]
Action = Literal["added", "changed", "unchanged", "skipped", "failed", "stale", "deleted"]


class Version(NamedTuple):
    """What a writer compares before it publishes: a source's generation and its revision."""

    generation: int
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """One stage of a source's last run through the pipeline."""

    name: str
    kind: StageKind
    version: str = "1"
    status: StageStatus = "success"
    cache: CacheUse | None = None
    input_hash: str | None = None
    output_hash: str | None = None
    duration_seconds: float | None = None
    chunk_count: int | None = None
    parent_count: int | None = None
    error: Mapping[str, Any] | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecord:
    """A source's ledger row.

    ``index_hash`` maps each part of the indexing fingerprint ("chunker", "transform:normalize", "embedder", ...) to
    its hash, so a sync can say why a source changed. ``corpus_id`` None: written by an indexer alone.
    ``run_id`` is the last run that published or failed this source; sources merely seen are not rewritten.
    """

    namespace: str
    source_id: str
    status: SourceStatus = "indexed"
    corpus_id: str | None = None
    version: Version | None = None
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    media_type: str | None = None
    uri: str | None = None
    source_hash: str | None = None
    content_hash: str | None = None
    metadata_hash: str | None = None
    index_hash: Mapping[str, str] = field(default_factory=dict)
    revision: str | None = None
    reader: str | None = None
    held_hash: str | None = None
    chunk_count: int = 0
    parent_count: int = 0
    first_seen_at: datetime | None = None
    last_seen_at: datetime | None = None
    indexed_at: datetime | None = None
    failed_at: datetime | None = None
    deleted_at: datetime | None = None
    run_id: int | None = None
    error: Mapping[str, Any] | None = None
    errors: tuple[Mapping[str, Any], ...] = ()
    stages: tuple[StageRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRecord:
    """One generation of a source, as :meth:`history` lists it."""

    generation: int
    revision: int
    state: Literal["active", "retired"]
    chunk_count: int
    content_hash: str | None
    published_at: datetime
    retired_at: datetime | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an embedder or model consumed: texts and tokens sent, calls made, money in ``currency`` where priced."""

    texts: int = 0
    tokens: int = 0
    calls: int = 0
    windowed: int = 0
    cost: float | None = None
    currency: str | None = None

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None and other.cost is None else (self.cost or 0.0) + (other.cost or 0.0)
        return Usage(
            texts=self.texts + other.texts,
            tokens=self.tokens + other.tokens,
            calls=self.calls + other.calls,
            windowed=self.windowed + other.windowed,
            cost=cost,
            currency=self.currency or other.currency,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexResult:
    """What an Indexer verb did, or (``dry_run``) would do; ``chunks`` and ``parents`` are filled on a dry run."""

    namespace: str
    operation: str
    dry_run: bool = False
    source_count: int = 0
    chunk_count: int = 0
    parent_count: int = 0
    dense_count: int = 0
    sparse_count: int = 0
    reused_count: int = 0
    chunks: tuple[Chunk, ...] = ()
    parents: tuple[ParentChunk, ...] = ()
    stages: Mapping[str, tuple[StageRecord, ...]] = field(default_factory=dict)
    generations: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = Usage()
    duration_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResult:
    """What a sync did with one source. ``error`` has ``code``, ``message`` and perhaps ``stack``.

    ``warnings`` are those of reading it: the source is indexed, and something of it may be missing.
    """

    source_id: str
    action: Action
    reason: str | None = None
    chunk_count: int = 0
    stages: tuple[StageRecord, ...] = ()
    error: Mapping[str, Any] | None = None
    warnings: tuple[IngestWarning, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """What a sync did. Each source has one action; the counters are sums of actions.

    ``embedded`` counts texts sent to an embedder, ``reused`` chunk vectors taken from the store, ``pending`` vectors
    that chunks searchable by words still wait for, ``uncovered`` chunks that get none because the embedder does not
    know their language. ``incomplete``: the deadline passed or the call was
    cancelled; nothing was deleted and the next sync goes on from here. On a dry run ``embedded``, ``reused`` and
    ``usage`` are what the run would cost.
    """

    corpus_id: str
    namespace: str
    mode: str
    source_set: str
    stale_policy: str
    dry_run: bool = False
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    stale: int = 0
    skipped: int = 0
    deleted: int = 0
    failed: int = 0
    chunk_count: int = 0
    embedded: int = 0
    reused: int = 0
    pending: int = 0
    uncovered: int = 0
    usage: Usage = Usage()
    incomplete: bool = False
    duration_seconds: float = 0.0
    run_id: int | None = None
    sources: tuple[SourceResult, ...] = ()
