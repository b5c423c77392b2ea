"""A dry run that can be kept, looked at, and carried out later as it was planned."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from florilege.codec import decode, encode
from florilege.discovery import snapshot
from florilege.indexing.embedding import Embedding
from florilege.indexing.sync.options import SyncOptions
from florilege.interfaces.paging import batches
from florilege.interfaces.stores import DataStore
from florilege.model.chunk import Chunk
from florilege.model.errors import ConfigError, Conflict, Corrupt
from florilege.model.ledger import Action, Usage, Version

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSource:
    """What is planned for one source, the content it was planned for, who read it, and the version it was planned
    against."""

    source_id: str
    action: Action
    reason: str | None = None
    chunk_count: int = 0
    source_hash: str | None = None
    expected: Version | None = None
    reader: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPlan:
    """What a sync would do. ``embedded``, ``reused`` and ``usage`` say what it would cost.

    ``hashes`` is the indexing fingerprint in parts; ``estimated`` says that chunk counts depend on an embedder that
    was not asked. ``capabilities`` are the versions of what could read, by id.
    """

    corpus_id: str
    namespace: str
    mode: Literal["replace_changed", "append_only"]
    source_set: Literal["partial", "complete"]
    stale_policy: Literal["keep", "delete"]
    made_at: datetime
    hashes: Mapping[str, str]
    sources: tuple[PlannedSource, ...]
    chunk_count: int = 0
    embedded: int = 0
    reused: int = 0
    usage: Usage = field(default_factory=Usage)
    estimated: bool = False
    capabilities: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON."""
        Path(path).write_bytes(encode(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SyncPlan:
        """Read a saved plan; ConfigError for a file that holds none this version can carry out."""
        try:
            plan = decode(cls, Path(path).read_bytes(), what="it")
        except (OSError, Corrupt) as error:
            why = error.strerror if isinstance(error, OSError) else error.message
            raise ConfigError(f"plan {os.fspath(path)}: {why}", code="bad_plan") from error
        if plan.format != FORMAT:
            raise ConfigError(f"plan {os.fspath(path)} has format {plan.format}, this is {FORMAT}", code="bad_plan")
        return plan

    def options(self, options: SyncOptions) -> SyncOptions:
        """``options`` with the modes the plan was made with."""
        from dataclasses import replace

        return replace(options, mode=self.mode, source_set=self.source_set, stale=self.stale_policy)

    def check(self, store: DataStore, corpus_id: str, hashes: Mapping[str, str]) -> None:
        """Raise Conflict when the corpus, the indexer or a planned source has moved on since the plan was made."""
        if corpus_id != self.corpus_id:
            raise Conflict(f"the plan is for corpus {self.corpus_id!r}, not {corpus_id!r}", code="plan_stale")
        if dict(hashes) != dict(self.hashes):
            changed = sorted(name for name in {*hashes, *self.hashes} if hashes.get(name) != self.hashes.get(name))
            raise Conflict(f"the indexer changed since the plan was made: {', '.join(changed)}", code="plan_stale")
        self._check_readers(snapshot().versions())
        for some in batches(self.sources, 500):
            rows = store.get_sources(self.namespace, [planned.source_id for planned in some])
            for planned in some:
                row = rows.get(planned.source_id)
                if (None if row is None else row.version) != planned.expected:
                    raise Conflict(
                        f"source {planned.source_id!r} changed since the plan was made; plan anew",
                        code="plan_stale",
                        source_id=planned.source_id,
                    )

    def _check_readers(self, current: Mapping[str, str]) -> None:
        """Raise Conflict when a reader the plan relies on changed; a mark that covers all readers relies on all."""
        for planned in self.sources:
            mark = planned.reader or ""
            name = mark.partition("/")[0]
            relied_on = {**self.capabilities, **current} if "+" in mark else [name]
            for capability in relied_on:
                if self.capabilities.get(capability) != current.get(capability):
                    raise Conflict(
                        f"reader {capability!r} changed since source {planned.source_id!r} was planned; plan anew",
                        code="plan_stale",
                        source_id=planned.source_id,
                    )

    def by_source(self) -> dict[str, PlannedSource]:
        """The planned sources by id."""
        return {planned.source_id: planned for planned in self.sources}


@dataclass(slots=True)
class Estimate:
    """What a dry run would embed, counted without asking the embedder."""

    embeddings: Sequence[Embedding]
    embedded: int = 0
    reused: int = 0
    usage: Usage = field(default_factory=Usage)
    uncovered: int = 0
    _seen: set[bytes] = field(default_factory=set)

    def add(self, chunks: tuple[Chunk, ...]) -> None:
        """Count a source's chunks."""
        for embedding in self.embeddings:
            keys = embedding.keys(chunks)
            wanted = [key for key in keys if key is not None]
            missing = embedding.missing(wanted) - self._seen
            texts = {key: chunk.full_text for key, chunk in zip(keys, chunks, strict=True) if key in missing}
            self._seen |= missing
            self.embedded += len(texts)
            self.reused += len(wanted) - len(texts)
            self.uncovered += len(keys) - len(wanted)
            self.usage += _estimated(embedding.embedder, texts.values())


def _estimated(embedder: object, texts: Collection[str]) -> Usage:
    count = getattr(embedder, "count_tokens", None)
    price = getattr(embedder, "price_per_million_tokens", None)
    tokens = 0 if count is None else sum(map(count, texts))
    return Usage(
        texts=len(texts),
        tokens=tokens,
        cost=None if price is None else tokens * price / 1_000_000,
        currency=None if price is None else getattr(embedder, "currency", "USD"),
    )
