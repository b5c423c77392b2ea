"""The write path: documents or ready-made chunks into published generations."""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from types import TracebackType
from typing import Any, Self

from florilege.concurrency import pulled
from florilege.indexing.embedding import Embedding
from florilege.indexing.execution import Execution
from florilege.indexing.ledger import EMBEDDERS, Decision, Hashes, indexed_row
from florilege.indexing.pipeline import Pipeline, Prepared
from florilege.indexing.prepare import checked_chunks, minted
from florilege.indexing.publication import Done, Job, Publication
from florilege.indexing.stages import CacheMode, StageCache
from florilege.interfaces.embedding import Embedder, SparseEmbedder
from florilege.interfaces.paging import batches, source_pages
from florilege.interfaces.stores import DataStore
from florilege.model.chunk import Chunk, Chunking
from florilege.model.document import Document, Loaded
from florilege.model.errors import ChunkingError, ConfigError, Conflict, FlorilegeError
from florilege.model.events import Event, Subscriber, emit
from florilege.model.hashing import hexdigest
from florilege.model.ledger import IndexResult, SourceRecord, StageRecord
from florilege.text.clean import clean_text

Documents = Document | Iterable[Document] | AsyncIterable[Document]

WINDOW = 32
"""Documents taken through the pipeline together."""


class Indexer:
    """Owns write-time preparation for one namespace: transforms, chunking, embedding, replacement.

    ``data`` is the store; ``vectors`` may be omitted or must be the same object. ``dense`` and ``sparse`` make vectors
    of the two kinds; without either only words are indexed, and vectors can be added later without chunking again.
    ``cache=True`` keeps what transforms and the chunker made in the store, so an equal input is not worked on twice.
    ``pipeline`` defaults to the structured chunker. ``index_version`` is yours to raise when everything should be
    indexed anew. Use it as a context manager or call :meth:`close`; the store stays the caller's.
    """

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
        for option, value in (("id", id), ("namespace", namespace), ("index_version", index_version)):
            if not isinstance(value, str) or not value.strip():
                raise ConfigError(f"Indexer {option}: must be a non-empty string, not {value!r}")
        if vectors is not None and vectors is not data:
            raise ConfigError("Indexer vectors: must be the same store as data; two stores share no transaction")
        for leg, embedder in (("dense", dense), ("sparse", sparse)):
            if embedder is not None and (
                not isinstance(embedder, Embedder | SparseEmbedder) or embedder.space.leg != leg
            ):
                raise ConfigError(f"Indexer {leg}: {embedder!r} is not an embedder of that kind")
        self.id = id
        if clean_text(namespace) != namespace:
            raise ConfigError(f"Indexer namespace: {namespace!r} holds NUL or half a character")
        self.namespace = namespace
        self.data = data
        self.dense: Embedder | None = dense
        self.sparse: SparseEmbedder | None = sparse
        self.cache = cache
        self._pipeline = pipeline
        self.index_version = index_version
        self.keep_content = keep_content
        self.share_cache = share_cache
        self.on_event = on_event

    @property
    def pipeline(self) -> Pipeline:
        """What documents go through; the default one is made when it is asked for, since a search never does."""
        if self._pipeline is None:
            self._pipeline = Pipeline()
        return self._pipeline

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the embedders' resources, where they hold any."""
        for embedder in self.embedders:
            close = getattr(embedder, "close", None)
            if close is not None:
                close()

    @property
    def embedders(self) -> tuple[Embedder | SparseEmbedder, ...]:
        """The dense and the sparse embedder, those there are."""
        return tuple(embedder for embedder in (self.dense, self.sparse) if embedder is not None)

    def use(self, embedder: Embedder | SparseEmbedder) -> None:
        """From now on make the vectors of its kind with ``embedder``."""
        setattr(self, embedder.space.leg, embedder)

    def hashes(self, chunking: Mapping[str, Any] | None = None) -> dict[str, str]:
        """The indexing fingerprint in parts: what is compared to say why a source is indexed anew."""
        parts = {"indexer": hexdigest(self.id, self.namespace, self.index_version)}
        parts.update(self.pipeline.with_chunking(chunking).hashes())
        for embedder in self.embedders:
            parts[EMBEDDERS[embedder.space.leg]] = embedder.space.identity
        return parts

    def fingerprint(self, chunking: Mapping[str, Any] | None = None) -> str:
        """One hash over everything that decides what a document becomes; stable across processes."""
        return hexdigest(*(field for pair in sorted(self.hashes(chunking).items()) for field in pair))

    def embeddings(self, *, bind: bool = True, **options: Any) -> list[Embedding]:
        """The embedders with the store; raises ConfigError when the namespace is bound to another space.

        ``bind=False`` leaves a namespace without a space as it is.
        """
        found = []
        for embedder in self.embedders:
            embedding = Embedding(self.data, self.namespace, embedder, share_cache=self.share_cache, **options)
            if bind or self.data.bound_space(self.namespace, leg=embedding.leg) is not None:
                self.data.bind_space(self.namespace, embedder.space, leg=embedding.leg)
            found.append(embedding)
        return found

    def execution(
        self, chunking: Mapping[str, Any] | None = None, cache: CacheMode | None = None, *, dry_run: bool = False
    ) -> Execution:
        """The pipeline ready to run. ``cache``: "use" | "refresh" | "bypass"; None: "use" if the indexer caches.

        A dry run reads the cache and does not write it.
        """
        if cache not in (None, "use", "refresh", "bypass"):
            raise ConfigError(f"cache: {cache!r} is not one of use, refresh, bypass")
        mode = cache or ("use" if self.cache else None)
        stages = None if mode is None else StageCache(self.data, mode, read_only=dry_run)
        return Execution(self.pipeline.with_chunking(chunking), self.namespace, stages)

    def chunk(
        self,
        documents: Documents,
        chunking: Mapping[str, Any] | None = None,
        cache: CacheMode | None = None,
    ) -> Iterator[Chunking]:
        """Run transforms and chunker on documents, a window at a time; nothing but the stage cache is written."""
        for prepared in self._prepared(documents, self.execution(chunking, cache)):
            yield Chunking(prepared.chunks, prepared.parents)

    def _prepared(self, documents: Documents, execution: Execution) -> Iterator[Prepared]:
        for batch in batches(_documents(documents), WINDOW):
            for result in execution.run_many(batch):
                if isinstance(result, FlorilegeError):
                    raise result
                yield result

    def index_documents(
        self,
        documents: Documents,
        *,
        replace_sources: bool = True,
        chunking: Mapping[str, Any] | None = None,
        cache: CacheMode | None = None,
        dry_run: bool = False,
    ) -> IndexResult:
        """Index documents, each replacing its source's active generation (a document without chunks: with none).

        ``replace_sources=False`` adds the new chunks to the active generation instead, equal chunk ids replaced.
        The first document that fails raises; those before it stay published.
        """
        prepared = self._prepared(documents, self.execution(chunking, cache, dry_run=dry_run))
        return self._index("index_documents", prepared, self.hashes(chunking), replace_sources, dry_run)

    def index_chunks(
        self, chunks: Iterable[Chunk], *, replace_sources: bool = False, dry_run: bool = False
    ) -> IndexResult:
        """Index chunks cut elsewhere, grouped by source id; their ids are kept, missing ones minted.

        ``replace_sources=False``: each source's new generation is its active chunks plus these, equal ids replaced.
        Every chunk received is stored, or the call raises naming the one at fault before anything is written.
        """
        groups: dict[str, list[Chunk]] = {}
        for number, chunk in enumerate(chunks):
            if not isinstance(chunk, Chunk):
                raise ChunkingError(f"index_chunks: item {number} is a {type(chunk).__name__}, not a Chunk")
            groups.setdefault(chunk.source_id, []).append(chunk)
        prepared = [self._ready_made(source_id, some) for source_id, some in groups.items()]
        return self._index("index_chunks", prepared, self.hashes(), replace_sources, dry_run)

    def delete_source(self, source_id: str) -> int:
        """Delete every generation of exactly this source; returns the number of chunks that were active."""
        return self._delete("delete_source", [source_id])

    def clear(self) -> int:
        """Delete every source of the namespace; returns the number of chunks that were active. Caches stay."""
        rows = chain.from_iterable(source_pages(self.data, self.namespace))
        return self._delete("clear", [row.source_id for row in rows])

    def _ready_made(self, source_id: str, chunks: list[Chunk]) -> Prepared:
        document = Document(source_id=source_id, content="", namespace=self.namespace)
        checked, _ = checked_chunks(document, Chunking(tuple(chunks)), stage="index_chunks")
        stage = StageRecord(name="index_chunks", kind="chunker", chunk_count=len(checked))
        return Prepared(document=document, chunks=minted(checked), parents=(), stages=(stage,))

    def _index(
        self,
        operation: str,
        prepared: Iterable[Prepared],
        hashes: Mapping[str, str],
        replace_sources: bool,
        dry_run: bool,
    ) -> IndexResult:
        started = time.perf_counter()
        emit(self.on_event, Event(kind="index.start", namespace=self.namespace, operation=operation))
        tally = _Tally(dry_run=dry_run)
        publication = Publication(
            self.data,
            self.namespace,
            [] if dry_run else self.embeddings(),
            tally.report,
            keep_content=self.keep_content,
        )
        for batch in batches(prepared, 64):
            rows = self.data.get_sources(self.namespace, [item.document.source_id for item in batch])
            for item in batch:
                merged = item if replace_sources else self._merged(item)
                tally.count(merged)
                if not dry_run:
                    publication.add(self._job(merged, rows.get(item.document.source_id), hashes))
        publication.flush()
        result = IndexResult(
            namespace=self.namespace,
            operation=operation,
            dry_run=dry_run,
            source_count=tally.sources,
            chunk_count=tally.chunks,
            parent_count=tally.parents,
            dense_count=publication.counts["dense"],
            sparse_count=publication.counts["sparse"],
            reused_count=publication.reused,
            chunks=tuple(chunk for item in tally.prepared for chunk in item.chunks),
            parents=tuple(parent for item in tally.prepared for parent in item.parents),
            stages=tally.stages,
            generations=tally.generations,
            usage=publication.usage,
            duration_seconds=time.perf_counter() - started,
        )
        self._ended(operation, result.source_count, result.chunk_count, chain.from_iterable(tally.stages.values()))
        return result

    def _ended(self, operation: str, sources: int, chunks: int, stages: Iterable[StageRecord] = ()) -> None:
        counts = {"sources": sources, "chunks": chunks}
        event = Event(
            kind="index.end", namespace=self.namespace, operation=operation, counts=counts, stages=tuple(stages)
        )
        emit(self.on_event, event)

    def _merged(self, item: Prepared) -> Prepared:
        with self.data.snapshot(self.namespace) as snapshot:
            active = snapshot.chunks(item.document.source_id)
        given = {chunk.chunk_id: chunk for chunk in item.chunks}
        chunks = [given.pop(chunk.chunk_id, chunk) for chunk in active] + list(given.values())
        dense = tuple(replace(chunk, ordinal=number) for number, chunk in enumerate(chunks))
        return replace(item, chunks=dense)

    def _job(self, item: Prepared, row: SourceRecord | None, hashes: Mapping[str, str]) -> Job:
        document = item.document
        record = indexed_row(
            row, document, Hashes.of(document), hashes, namespace=self.namespace, corpus_id=None, run_id=None
        )
        return Job(
            read=document,
            prepared=item,
            record=record,
            expected=None if row is None else row.version,
            decision=Decision(action="changed" if row else "added"),
        )

    def _delete(self, operation: str, source_ids: list[str]) -> int:
        emit(self.on_event, Event(kind="index.start", namespace=self.namespace, operation=operation))
        outcomes = self.data.delete_sources(self.namespace, dict.fromkeys(source_ids), forget=True)
        count = sum(outcome.chunk_count for outcome in outcomes)
        self._ended(operation, len(source_ids), count)
        return count


class _Tally:
    """Sums an indexing call into its result; the first source that was not published raises."""

    def __init__(self, *, dry_run: bool) -> None:
        self.dry_run = dry_run
        self.sources = self.chunks = self.parents = 0
        self.prepared: list[Prepared] = []
        self.stages: dict[str, tuple[StageRecord, ...]] = {}
        self.generations: dict[str, int] = {}

    def count(self, item: Prepared) -> None:
        self.sources += 1
        self.chunks += len(item.chunks)
        self.parents += len(item.parents)
        self.stages[item.document.source_id] = item.stages
        if self.dry_run:
            self.prepared.append(item)

    def report(self, done: Done) -> None:
        source_id = done.job.record.source_id
        if done.error is not None:
            raise done.error
        outcome = done.outcome
        if outcome is None or outcome.version is None:
            reason = "it was not written" if outcome is None else outcome.conflict
            raise Conflict(f"source {source_id!r}: {reason}", source_id=source_id)
        self.generations[source_id] = outcome.version.generation
        self.stages[source_id] = done.stages


def _documents(documents: Documents) -> Iterator[Document]:
    if isinstance(documents, Document):
        yield documents
        return
    for item in pulled(documents) if isinstance(documents, AsyncIterable) else documents:
        if isinstance(item, Loaded):
            yield item.document
        elif isinstance(item, Document):
            yield item
        else:
            raise FlorilegeError(f"expected a Document, got a {type(item).__name__}", code="not_a_document")
