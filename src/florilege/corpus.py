"""The corpus: one namespace of a store with its indexer, its ledger and its retrievers."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from florilege.indexing.care import (
    Diff,
    Embedded,
    Migration,
    Repair,
    Verification,
    diff,
    embed_waiting,
    hold,
    migrate,
    repair,
    rollback,
    verify,
)
from florilege.indexing.indexer import Indexer
from florilege.indexing.publication import EmbedWhen
from florilege.indexing.stages import CacheMode
from florilege.indexing.sync import Cancel, SyncOptions, SyncPlan, SyncRun
from florilege.indexing.sync.lease import Lease
from florilege.indexing.sync.stale import own_sources
from florilege.interfaces.embedding import Embedder, SparseEmbedder
from florilege.interfaces.stores import DataStore
from florilege.model.chunk import Chunk
from florilege.model.errors import ConfigError, NotFound
from florilege.model.events import Event, Subscriber, emit
from florilege.model.filters import Filter
from florilege.model.hit import Hit, Mode, Query
from florilege.model.ledger import GenerationRecord, SourceRecord, SyncResult
from florilege.retrieval.retriever import Retriever

CLOSE_SECONDS = 30.0
"""How long closing waits for a sync of another thread to stop."""


class _Any:
    """Set when one of its events is."""

    def __init__(self, *events: Cancel | None) -> None:
        self._events = [event for event in events if event is not None]

    def is_set(self) -> bool:
        return any(event.is_set() for event in self._events)


class Corpus:
    """Keeps a namespace in step with its sources, and answers questions over it.

    Sources a sync has indexed belong to the corpus ``id``; another corpus of the namespace leaves them alone.
    ``volatile_metadata`` names keys that may change without making a source changed (a fetch time, say).
    A corpus made by :func:`florilege.open` closes its store; one made by hand leaves it to you.
    """

    def __init__(
        self,
        *,
        id: str,
        data: DataStore,
        indexer: Indexer,
        namespace: str | None = None,
        volatile_metadata: Sequence[str] = (),
        on_event: Subscriber | None = None,
        owns_store: bool = False,
    ) -> None:
        if not isinstance(id, str) or not id.strip():
            raise ConfigError(f"Corpus id: must be a non-empty string, not {id!r}")
        if indexer.data is not data:
            raise ConfigError("Corpus data: must be the store its indexer writes to")
        if namespace is not None and namespace != indexer.namespace:
            raise ConfigError(f"Corpus namespace: {namespace!r} is not the indexer's, {indexer.namespace!r}")
        self.id = id
        self.namespace = indexer.namespace
        self.data = data
        self.indexer = indexer
        self.volatile_metadata = tuple(volatile_metadata)
        self.on_event = on_event
        self._owns_store = owns_store
        self._closing = threading.Event()
        self._running: dict[threading.Event, int] = {}
        self._retriever: Retriever | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the indexer, and the store when this corpus opened it.

        Syncs of other threads are cancelled and waited for, so that none leaves its lease behind.
        """
        self._closing.set()
        mine = threading.get_ident()
        for done, thread in list(self._running.items()):
            if thread != mine:
                done.wait(CLOSE_SECONDS)
        self.indexer.close()
        if self._owns_store:
            self.data.close()

    def sync(
        self,
        documents: object,
        *,
        mode: str = "replace_changed",
        source_set: str = "partial",
        stale: str = "keep",
        dry_run: bool = False,
        max_delete_fraction: float = 0.5,
        allow_mass_delete: bool = False,
        embed: EmbedWhen | None = None,
        cache: CacheMode | None = None,
        chunking: Mapping[str, Any] | None = None,
        concurrency: int | None = None,
        plan: SyncPlan | None = None,
        deadline: float | None = None,
        cancel: Cancel | None = None,
        on_event: Subscriber | None = None,
    ) -> SyncResult:
        """Bring the corpus in step with ``documents``: an iterable of documents, load results or source handles.

        New sources are indexed, changed ones re-indexed (``mode="append_only"``: skipped), unchanged ones left; a
        source that fails is recorded and never stops the rest. ``source_set="complete"`` says that the input is
        everything, so sources it lacks are stale; ``stale="delete"`` deletes them once everything else is
        published. A delete of more than ``max_delete_fraction`` of the corpus (beyond 20 sources), or after an empty
        listing, is refused with IndexingError (code ``mass_delete``) unless ``allow_mass_delete``.

        ``embed="before"`` (default) publishes a source with its vectors; "after" publishes at once for the lexical
        leg and embeds at the end, resumably. Chunks still waiting from an earlier run are embedded too.
        ``cache`` overrides the indexer's stage cache for this call: "use", "refresh" or "bypass".
        ``dry_run`` tells the same actions and chunk counts, and neither writes nor embeds; its ``embedded``,
        ``reused`` and ``usage`` are what the run would cost.
        ``plan`` (from :meth:`plan`) does only what was planned, with the plan's modes: Conflict (code ``plan_stale``)
        when the corpus has moved on, and sources that are not as planned are skipped.
        ``deadline`` is in seconds from now, ``cancel`` anything with ``is_set()``: past either the result is
        ``incomplete`` and nothing is deleted.

        Raises Conflict when another sync of this corpus is running.
        """
        options = SyncOptions(
            mode=mode,  # type: ignore[arg-type]  # checked by SyncOptions
            source_set=source_set,  # type: ignore[arg-type]
            stale=stale,  # type: ignore[arg-type]
            dry_run=dry_run,
            max_delete_fraction=max_delete_fraction,
            allow_mass_delete=allow_mass_delete,
            embed=embed or "before",
            cache=cache,
            chunking=None if chunking is None else dict(chunking),
            concurrency=2 if concurrency is None else concurrency,
            deadline=deadline,
            cancel=_Any(self._closing, cancel),
        )
        done = threading.Event()
        self._running[done] = threading.get_ident()
        try:
            return self._sync_run(options, plan=plan, on_event=on_event).run(documents)
        finally:
            done.set()
            self._running.pop(done)

    def plan(
        self,
        documents: object,
        *,
        mode: str = "replace_changed",
        source_set: str = "partial",
        stale: str = "keep",
        max_delete_fraction: float = 0.5,
        allow_mass_delete: bool = False,
        chunking: Mapping[str, Any] | None = None,
        concurrency: int | None = None,
        on_event: Subscriber | None = None,
    ) -> SyncPlan:
        """What :meth:`sync` would do with ``documents``, to be saved, looked at, and given to it later.

        Nothing is written and no embedder is called. Options as in :meth:`sync`.
        """
        options = SyncOptions(
            mode=mode,  # type: ignore[arg-type]  # checked by SyncOptions
            source_set=source_set,  # type: ignore[arg-type]
            stale=stale,  # type: ignore[arg-type]
            dry_run=True,
            max_delete_fraction=max_delete_fraction,
            allow_mass_delete=allow_mass_delete,
            chunking=None if chunking is None else dict(chunking),
            concurrency=2 if concurrency is None else concurrency,
        )
        return self._sync_run(options, on_event=on_event).planned(documents)

    def _sync_run(
        self, options: SyncOptions, *, plan: SyncPlan | None = None, on_event: Subscriber | None = None
    ) -> SyncRun:
        return SyncRun(
            self.indexer,
            self.id,
            options,
            volatile=self.volatile_metadata,
            plan=plan,
            on_event=on_event or self.on_event,
        )

    def retriever(self, id: str | None = None, **options: Any) -> Retriever:
        """A retriever over this namespace; ``options`` as in :class:`florilege.Retriever`."""
        return Retriever(
            id=id or self.id,
            namespace=self.namespace,
            data=self.data,
            **{"dense": self.indexer.dense, "sparse": self.indexer.sparse, **options},
        )

    def retrieve(
        self,
        query: str | Query,
        *,
        limit: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        mode: Mode | None = None,
    ) -> list[Hit]:
        """The best hits for ``query`` with the default retriever; see :meth:`florilege.Retriever.retrieve`."""
        if self._retriever is None:
            self._retriever = self.retriever()
        return self._retriever.retrieve(query, limit=limit, filter=filter, mode=mode)

    def chunks(self, source_id: str, *, vectors: bool = False) -> list[Chunk]:
        """The active chunks of a source in order; NotFound for a source that is not there."""
        with self.data.snapshot(self.namespace) as snapshot:
            chunks = snapshot.chunks(source_id, vectors=vectors)
        if not chunks:
            self.get_source(source_id)
        return chunks

    def get_source(self, source_id: str) -> SourceRecord:
        """The ledger row of a source; NotFound when there is none."""
        row = self.data.get_sources(self.namespace, [source_id]).get(source_id)
        if row is None:
            raise NotFound(f"no source {source_id!r} in namespace {self.namespace!r}", source_id=source_id)
        return self._seen([row])[0]

    def list_sources(
        self,
        *,
        status: str | Sequence[str] | None = None,
        include_deleted: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[list[SourceRecord], str | None]:
        """This corpus's ledger rows by source id, and the cursor of the next page (None: no more)."""
        wanted = (status,) if isinstance(status, str) else status
        if wanted is None:
            wanted = ("indexed", "failed", "deleted") if include_deleted else ("indexed", "failed")
        rows, cursor = self.data.list_sources(
            self.namespace, corpus_id=self.id, status=wanted, limit=limit, cursor=cursor
        )
        return self._seen(rows), cursor

    def history(self, source_id: str) -> list[GenerationRecord]:
        """The generations of a source that are still kept, newest first."""
        return self.data.history(self.namespace, source_id)

    def diff(self, source_id: str, old: int | None = None, new: int | None = None) -> Diff:
        """What changed between two generations that are kept; by default from the newest retired to the active one.

        NotFound when there are not two, or one of those named is not kept any more.
        """
        kept = sorted({item.generation for item in self.history(source_id)})
        row = self.get_source(source_id)
        active = row.version.generation if row.version is not None else None
        new = new if new is not None else active
        old = old if old is not None else max((item for item in kept if item != new), default=None)
        if old is None or new is None:
            raise NotFound(f"source {source_id!r} has no two generations to compare", source_id=source_id)
        return diff(self.indexer, source_id, old, new)

    def rollback(self, source_id: str, generation: int) -> int:
        """Go back to an earlier generation without chunking or embedding; returns the new generation's number.

        The content that is rejected is held: a sync that brings it again skips the source, one that brings another
        content indexes it. NotFound for a generation that is not kept any more (code ``collected``) or is the active
        one (``active``).
        """
        return rollback(self.indexer, self.id, source_id, generation)

    def pin(self, source_id: str, generation: int, *, pinned: bool = True) -> None:
        """Keep a generation from :meth:`gc`, or let it go again."""
        self.data.pin(self.namespace, source_id, generation, pinned=pinned)

    def hold(self, source_id: str, *, held: bool = True) -> None:
        """Keep syncs away from a source whatever its content, or let them at it again."""
        hold(self.indexer, self.id, source_id, held=held)

    def gc(self, *, keep_generations: int = 1, retention: float = 600.0) -> dict[str, int]:
        """Remove generations nobody can ask for any more and what only they used; counts by kind of thing.

        A source keeps its active generation, the newest ``keep_generations`` others, pinned ones, and all that was
        retired less than ``retention`` seconds ago. Vectors stay a week, in case their text comes back.
        """
        if keep_generations < 0 or retention < 600.0:
            raise ConfigError("gc: keep_generations must be at least 0 and retention at least 600 seconds")
        with Lease(self.data, self.namespace, self.id) as lease:
            return self.data.collect(
                self.namespace, keep_generations=keep_generations, retention=retention, fence=lease.fence
            )

    def verify(self) -> Verification:
        """Hold ledger, chunks, vectors and words against one another; reads everything, changes nothing."""
        return verify(self.indexer, self.id)

    def repair(self) -> Repair:
        """Mend what :meth:`verify` finds: derived data anew, damaged sources from their kept content.

        Only what is missing is embedded. Sources whose content was not kept are named; the next sync reads them.
        """
        return repair(self.indexer, self.id)

    def embed(self, *, on_event: Subscriber | None = None) -> Embedded:
        """Embed the chunks that a stopped sync left waiting, without listing or reading a source.

        May be stopped at any point and run again. Raises ConfigError without an embedder, Conflict while a sync runs.
        """
        return embed_waiting(self.indexer, self.id, on_event or self.on_event)

    def migrate_embeddings(
        self,
        embedder: Embedder | SparseEmbedder,
        *,
        queries: Sequence[str] = (),
        top_k: int = 10,
        dry_run: bool = False,
        on_event: Subscriber | None = None,
    ) -> Migration:
        """Move the namespace to another embedding space: embed beside the old one, compare, switch at once.

        ``queries`` are samples whose top hits in both spaces are compared (``overlap``); with ``dry_run`` it stops
        before the switch, keeping the new vectors. Afterwards this corpus uses ``embedder`` for the leg it is of.
        """
        migration = migrate(
            self.indexer,
            self.id,
            embedder,
            queries=queries,
            top_k=top_k,
            dry_run=dry_run,
            on_event=on_event or self.on_event,
        )
        if migration.switched:
            self.indexer.use(embedder)
            self._retriever = None
        return migration

    def delete_source(self, source_id: str) -> int:
        """Delete a source and leave a ``deleted`` ledger row; the number of chunks that were active, 0 if unknown."""
        row = self.data.get_sources(self.namespace, [source_id]).get(source_id)
        return 0 if row is None or row.status == "deleted" else self._delete([row])

    def clear_sources(self) -> int:
        """Delete every source of this corpus, leaving ``deleted`` rows; the number of chunks that were active."""
        return self._delete(own_sources(self.data, self.namespace, self.id))

    def stats(self) -> dict[str, Any]:
        """Sizes and counts of the namespace and its store."""
        return self.data.stats(self.namespace)

    def _delete(self, rows: Sequence[SourceRecord]) -> int:
        outcomes = self.data.delete_sources(self.namespace, {row.source_id: None for row in rows})
        for outcome in outcomes:
            counts = {"chunks": outcome.chunk_count}
            event = Event(
                kind="corpus.source.deleted", namespace=self.namespace, source_id=outcome.source_id, counts=counts
            )
            emit(self.on_event, event)
        return sum(outcome.chunk_count for outcome in outcomes)

    def _seen(self, rows: Sequence[SourceRecord]) -> list[SourceRecord]:
        """``rows`` with ``last_seen_at`` raised to the last run that listed everything and did not miss them."""
        for run in self.data.runs(self.namespace, self.id):
            if run.facts.get("source_set") == "complete" and not run.facts.get("incomplete"):
                missed = set(run.facts.get("stale", ()))
                return [
                    row
                    if row.status == "deleted" or row.source_id in missed or row.last_seen_at is None
                    else replace(row, last_seen_at=max(row.last_seen_at, run.started_at))
                    for row in rows
                ]
        return list(rows)
