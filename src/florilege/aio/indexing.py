"""Awaitable twins of synchronous classes. Written by ``scripts/generate_aio.py``; change that, not this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from florilege.aio.bridge import Opening, Twin, hop, iterate, unwrapped
from florilege.aio.retrieval import Retriever
from florilege.corpus import Corpus as _Corpus
from florilege.indexing.indexer import Indexer as _Indexer
from florilege.opening import open as _open

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Any, Literal, Self

    from florilege.indexing.care import Diff, Embedded, Migration, Repair, Verification
    from florilege.indexing.indexer import Documents
    from florilege.indexing.pipeline import Pipeline
    from florilege.indexing.publication import EmbedWhen
    from florilege.indexing.stages import CacheMode
    from florilege.indexing.sync import Cancel, SyncPlan
    from florilege.interfaces.embedding import Embedder, SparseEmbedder
    from florilege.interfaces.stores import DataStore
    from florilege.model.chunk import Chunk, Chunking
    from florilege.model.events import Subscriber
    from florilege.model.filters import Filter
    from florilege.model.hit import Hit, Mode, Query
    from florilege.model.ledger import GenerationRecord, IndexResult, SourceRecord, SyncResult


class Indexer(Twin):
    """Owns write-time preparation for one namespace: transforms, chunking, embedding, replacement."""

    inner: _Indexer

    def __init__(
        self,
        *,
        id: str,
        data: DataStore,
        namespace: str = "default",
        vectors: object | None = None,
        dense: Embedder | None = None,
        sparse: SparseEmbedder | None = None,
        cache: bool = False,
        pipeline: Pipeline | None = None,
        index_version: str = "1",
        keep_content: bool = True,
        share_cache: bool = False,
        on_event: Subscriber | None = None,
    ) -> None:
        self.inner = _Indexer(
            id=unwrapped(id),
            data=unwrapped(data),
            namespace=unwrapped(namespace),
            vectors=unwrapped(vectors),
            dense=unwrapped(dense),
            sparse=unwrapped(sparse),
            cache=unwrapped(cache),
            pipeline=unwrapped(pipeline),
            index_version=unwrapped(index_version),
            keep_content=unwrapped(keep_content),
            share_cache=unwrapped(share_cache),
            on_event=unwrapped(on_event),
        )

    @property
    def id(self) -> str:
        """As of the Indexer it speaks for."""
        return self.inner.id

    @property
    def namespace(self) -> str:
        """As of the Indexer it speaks for."""
        return self.inner.namespace

    @property
    def pipeline(self) -> Pipeline:
        """What documents go through; the default one is made when it is asked for, since a search never does."""
        return self.inner.pipeline

    async def close(self) -> None:
        """Let go of the embedders' resources, where they hold any."""
        await hop(self.inner.close)

    @property
    def embedders(self) -> tuple[Embedder | SparseEmbedder, ...]:
        """The dense and the sparse embedder, those there are."""
        return self.inner.embedders

    def use(self, embedder: Embedder | SparseEmbedder) -> None:
        """From now on make the vectors of its kind with ``embedder``."""
        return self.inner.use(unwrapped(embedder))

    def hashes(self, chunking: Mapping[str, Any] | None = None) -> dict[str, str]:
        """The indexing fingerprint in parts: what is compared to say why a source is indexed anew."""
        return self.inner.hashes(unwrapped(chunking))

    def fingerprint(self, chunking: Mapping[str, Any] | None = None) -> str:
        """One hash over everything that decides what a document becomes; stable across processes."""
        return self.inner.fingerprint(unwrapped(chunking))

    def chunk(
        self, documents: Documents, chunking: Mapping[str, Any] | None = None, cache: CacheMode | None = None
    ) -> AsyncIterator[Chunking]:
        """Run transforms and chunker on documents, a window at a time; nothing but the stage cache is written."""
        return iterate(self.inner.chunk, documents, chunking, cache)

    async def index_documents(
        self,
        documents: Documents,
        *,
        replace_sources: bool = True,
        chunking: Mapping[str, Any] | None = None,
        cache: CacheMode | None = None,
        dry_run: bool = False,
    ) -> IndexResult:
        """Index documents, each replacing its source's active generation (a document without chunks: with none)."""
        return await hop(
            self.inner.index_documents,
            documents,
            replace_sources=replace_sources,
            chunking=chunking,
            cache=cache,
            dry_run=dry_run,
        )

    async def index_chunks(
        self, chunks: Iterable[Chunk], *, replace_sources: bool = False, dry_run: bool = False
    ) -> IndexResult:
        """Index chunks cut elsewhere, grouped by source id; their ids are kept, missing ones minted."""
        return await hop(self.inner.index_chunks, chunks, replace_sources=replace_sources, dry_run=dry_run)

    async def delete_source(self, source_id: str) -> int:
        """Delete every generation of exactly this source; returns the number of chunks that were active."""
        return await hop(self.inner.delete_source, source_id)

    async def clear(self) -> int:
        """Delete every source of the namespace; returns the number of chunks that were active. Caches stay."""
        return await hop(self.inner.clear)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Corpus(Twin):
    """Keeps a namespace in step with its sources, and answers questions over it."""

    inner: _Corpus

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
        self.inner = _Corpus(
            id=unwrapped(id),
            data=unwrapped(data),
            indexer=unwrapped(indexer),
            namespace=unwrapped(namespace),
            volatile_metadata=unwrapped(volatile_metadata),
            on_event=unwrapped(on_event),
            owns_store=unwrapped(owns_store),
        )

    @property
    def id(self) -> str:
        """As of the Corpus it speaks for."""
        return self.inner.id

    @property
    def namespace(self) -> str:
        """As of the Corpus it speaks for."""
        return self.inner.namespace

    @property
    def indexer(self) -> Indexer:
        """As of the Corpus it speaks for."""
        return Indexer.of(self.inner.indexer)

    async def close(self) -> None:
        """Close the indexer, and the store when this corpus opened it."""
        await hop(self.inner.close)

    async def sync(
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
        """Bring the corpus in step with ``documents``: an iterable of documents, load results or source handles."""
        return await hop(
            self.inner.sync,
            documents,
            mode=mode,
            source_set=source_set,
            stale=stale,
            dry_run=dry_run,
            max_delete_fraction=max_delete_fraction,
            allow_mass_delete=allow_mass_delete,
            embed=embed,
            cache=cache,
            chunking=chunking,
            concurrency=concurrency,
            plan=plan,
            deadline=deadline,
            cancel=cancel,
            on_event=on_event,
        )

    async def plan(
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
        """What :meth:`sync` would do with ``documents``, to be saved, looked at, and given to it later."""
        return await hop(
            self.inner.plan,
            documents,
            mode=mode,
            source_set=source_set,
            stale=stale,
            max_delete_fraction=max_delete_fraction,
            allow_mass_delete=allow_mass_delete,
            chunking=chunking,
            concurrency=concurrency,
            on_event=on_event,
        )

    def retriever(self, id: str | None = None, **options: Any) -> Retriever:
        """A retriever over this namespace; ``options`` as in :class:`florilege.Retriever`."""
        return Retriever.of(self.inner.retriever(unwrapped(id), **unwrapped(options)))

    async def retrieve(
        self,
        query: str | Query,
        *,
        limit: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        mode: Mode | None = None,
    ) -> list[Hit]:
        """The best hits for ``query`` with the default retriever; see :meth:`florilege.Retriever.retrieve`."""
        return await hop(self.inner.retrieve, query, limit=limit, filter=filter, mode=mode)

    async def chunks(self, source_id: str, *, vectors: bool = False) -> list[Chunk]:
        """The active chunks of a source in order; NotFound for a source that is not there."""
        return await hop(self.inner.chunks, source_id, vectors=vectors)

    async def get_source(self, source_id: str) -> SourceRecord:
        """The ledger row of a source; NotFound when there is none."""
        return await hop(self.inner.get_source, source_id)

    async def list_sources(
        self,
        *,
        status: str | Sequence[str] | None = None,
        include_deleted: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[list[SourceRecord], str | None]:
        """This corpus's ledger rows by source id, and the cursor of the next page (None: no more)."""
        return await hop(
            self.inner.list_sources, status=status, include_deleted=include_deleted, limit=limit, cursor=cursor
        )

    async def history(self, source_id: str) -> list[GenerationRecord]:
        """The generations of a source that are still kept, newest first."""
        return await hop(self.inner.history, source_id)

    async def diff(self, source_id: str, old: int | None = None, new: int | None = None) -> Diff:
        """What changed between two generations that are kept; by default from the newest retired to the active one."""
        return await hop(self.inner.diff, source_id, old, new)

    async def rollback(self, source_id: str, generation: int) -> int:
        """Go back to an earlier generation without chunking or embedding; returns the new generation's number."""
        return await hop(self.inner.rollback, source_id, generation)

    async def pin(self, source_id: str, generation: int, *, pinned: bool = True) -> None:
        """Keep a generation from :meth:`gc`, or let it go again."""
        await hop(self.inner.pin, source_id, generation, pinned=pinned)

    async def hold(self, source_id: str, *, held: bool = True) -> None:
        """Keep syncs away from a source whatever its content, or let them at it again."""
        await hop(self.inner.hold, source_id, held=held)

    async def gc(self, *, keep_generations: int = 1, retention: float = 600.0) -> dict[str, int]:
        """Remove generations nobody can ask for any more and what only they used; counts by kind of thing."""
        return await hop(self.inner.gc, keep_generations=keep_generations, retention=retention)

    async def verify(self) -> Verification:
        """Hold ledger, chunks, vectors and words against one another; reads everything, changes nothing."""
        return await hop(self.inner.verify)

    async def repair(self) -> Repair:
        """Mend what :meth:`verify` finds: derived data anew, damaged sources from their kept content."""
        return await hop(self.inner.repair)

    async def embed(self, *, on_event: Subscriber | None = None) -> Embedded:
        """Embed the chunks that a stopped sync left waiting, without listing or reading a source."""
        return await hop(self.inner.embed, on_event=on_event)

    async def migrate_embeddings(
        self,
        embedder: Embedder | SparseEmbedder,
        *,
        queries: Sequence[str] = (),
        top_k: int = 10,
        dry_run: bool = False,
        on_event: Subscriber | None = None,
    ) -> Migration:
        """Move the namespace to another embedding space: embed beside the old one, compare, switch at once."""
        return await hop(
            self.inner.migrate_embeddings, embedder, queries=queries, top_k=top_k, dry_run=dry_run, on_event=on_event
        )

    async def delete_source(self, source_id: str) -> int:
        """Delete a source and leave a ``deleted`` ledger row; the number of chunks that were active, 0 if unknown."""
        return await hop(self.inner.delete_source, source_id)

    async def clear_sources(self) -> int:
        """Delete every source of this corpus, leaving ``deleted`` rows; the number of chunks that were active."""
        return await hop(self.inner.clear_sources)

    async def stats(self) -> dict[str, Any]:
        """Sizes and counts of the namespace and its store."""
        return await hop(self.inner.stats)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def open(
    path: str | os.PathLike[str],
    namespace: str = "default",
    *,
    id: str = "corpus",
    dense: Embedder | Literal["default"] | None = "default",
    sparse: SparseEmbedder | None = None,
    cache: bool = False,
    pipeline: Pipeline | None = None,
    fields: Mapping[str, Any] | None = None,
    keep_content: bool = True,
    create: bool = True,
    read_only: bool = False,
    volatile_metadata: Sequence[str] = (),
    on_event: Subscriber | None = None,
) -> Opening[Corpus]:
    """Open the corpus in the store folder at ``path``, making it when it is not there (unless ``create=False``)."""

    async def opened() -> Corpus:
        return Corpus.of(
            await hop(
                _open,
                path,
                namespace,
                id=id,
                dense=dense,
                sparse=sparse,
                cache=cache,
                pipeline=pipeline,
                fields=fields,
                keep_content=keep_content,
                create=create,
                read_only=read_only,
                volatile_metadata=volatile_metadata,
                on_event=on_event,
            )
        )

    return Opening(opened)
