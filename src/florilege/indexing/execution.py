"""A pipeline at work: several documents through every stage together, each failing alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from florilege.indexing.pipeline import Pipeline, Prepared
from florilege.indexing.prepare import checked_chunks, checked_document, minted
from florilege.indexing.stages import (
    StageCache,
    decode_chunking,
    decode_transformed,
    document_hash,
    encode_chunking,
    encode_transformed,
    stage_key,
)
from florilege.indexing.transform import Transform
from florilege.model.chunk import Chunk, Chunking, ParentChunk
from florilege.model.document import Document
from florilege.model.errors import ChunkingError, ConfigError, Corrupt, FlorilegeError, TransformError
from florilege.model.hashing import digest
from florilege.model.ledger import CacheUse, StageKind, StageRecord


@dataclass(slots=True)
class _Work:
    """One document on its way: what it is now, or the error that ended it."""

    document: Document
    chunks: tuple[Chunk, ...] = ()
    parents: tuple[ParentChunk, ...] = ()
    stages: list[StageRecord] = field(default_factory=list)
    error: FlorilegeError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """A stage as the loop sees it: its identity, the hash of its input, how to run it and how to keep its result."""

    kind: StageKind
    name: str
    version: str
    fingerprint: str
    input_hash: Callable[[_Work], bytes]
    run: Callable[[list[_Work]], list[Any]]
    accept: Callable[[_Work, Any], None]
    encode: Callable[[_Work], bytes]
    decode: Callable[[_Work, bytes], Any]


class Execution:
    """Runs a pipeline for one namespace, with or without a stage cache."""

    def __init__(self, pipeline: Pipeline, namespace: str, cache: StageCache | None = None) -> None:
        self.namespace = namespace
        self._cache = cache
        self._stages = [_document_stage(item) for item in pipeline.documents]
        self._stages.append(_chunker_stage(pipeline))
        self._stages += [_chunk_stage(item) for item in pipeline.chunks]

    def run(self, document: Document) -> Prepared:
        """Take one document through; raises what made it fail."""
        (result,) = self.run_many([document])
        if isinstance(result, FlorilegeError):
            raise result
        return result

    def run_many(self, documents: Sequence[Document]) -> list[Prepared | FlorilegeError]:
        """Take documents through stage by stage; a result or the error of its own for each, in order.

        Raises ConfigError at once for a document of another namespace.
        """
        works = [_Work(checked_document(document, self.namespace)) for document in documents]
        for stage in self._stages:
            self._through(stage, [work for work in works if work.error is None])
        return [work.error or _prepared(work) for work in works]

    def _through(self, stage: _Stage, works: list[_Work]) -> None:
        started = time.perf_counter()
        keys: list[bytes] = []
        found: dict[bytes, bytes] = {}
        if self._cache is not None:
            keys = [self._key(stage, work) for work in works]
            found = self._cache.read(keys)
        todo = []
        for index, work in enumerate(works):
            value = found.get(keys[index]) if keys else None
            if value is None or not _revive(stage, work, value):
                todo.append(index)
        outputs = stage.run([works[index] for index in todo])
        seconds = (time.perf_counter() - started) / max(1, len(works))
        made: dict[bytes, bytes] = {}
        for index, output in zip(todo, outputs, strict=True):
            work = works[index]
            try:
                if isinstance(output, FlorilegeError):
                    raise output
                stage.accept(work, output)
            except FlorilegeError as error:
                work.error = error
                continue
            if keys:
                made[keys[index]] = stage.encode(work)
        if self._cache is not None:
            self._cache.write(made)
        computed = set(todo)
        for index, work in enumerate(works):
            if work.error is None:
                self._record(stage, work, hit=index not in computed, seconds=seconds)

    def _key(self, stage: _Stage, work: _Work) -> bytes:
        return stage_key(stage.kind, stage.name, stage.version, stage.fingerprint, stage.input_hash(work))

    def _record(self, stage: _Stage, work: _Work, *, hit: bool, seconds: float) -> None:
        use: CacheUse | None = None
        if self._cache is not None:
            use = "hit" if hit else {"use": "write", "refresh": "refresh", "bypass": "bypass"}[self._cache.mode]  # type: ignore[assignment]
        cut = stage.kind != "document_transform"
        work.stages.append(
            StageRecord(
                name=stage.name,
                kind=stage.kind,
                version=stage.version,
                cache=use,
                duration_seconds=seconds,
                chunk_count=len(work.chunks) if cut else None,
                parent_count=len(work.parents) if cut else None,
            )
        )


def _prepared(work: _Work) -> Prepared:
    return Prepared(document=work.document, chunks=minted(work.chunks), parents=work.parents, stages=tuple(work.stages))


def _revive(stage: _Stage, work: _Work, value: bytes) -> bool:
    try:
        stage.accept(work, stage.decode(work, value))
    except (Corrupt, ChunkingError, TransformError, ConfigError, KeyError, TypeError, ValueError):
        return False
    return True


def _document_stage(item: Transform) -> _Stage:
    metadata = "metadata" in item.reads

    def accept(work: _Work, output: Any) -> None:
        if not isinstance(output, Document):
            raise TransformError(
                f"document transform {item.name!r} returned a {type(output).__name__}, not a Document",
                source_id=work.document.source_id,
                stage=item.name,
            )
        before = work.document
        work.document = checked_document(output, before.namespace or "", before=before, stage=item.name)

    return _Stage(
        kind="document_transform",
        name=item.name,
        version=item.version,
        fingerprint=item.fingerprint(),
        input_hash=lambda work: document_hash(work.document, metadata=metadata),
        run=lambda works: item.apply([w.document for w in works], [w.document.source_id for w in works]),
        accept=accept,
        encode=lambda work: encode_transformed(work.document),
        decode=lambda work, data: decode_transformed(data, work.document, metadata=metadata),
    )


def _chunker_stage(pipeline: Pipeline) -> _Stage:
    chunker = pipeline.chunker

    def run(works: list[_Work]) -> list[Any]:
        return [_chunked(pipeline, work.document) for work in works]

    def accept(work: _Work, output: Chunking) -> None:
        work.chunks, work.parents = checked_chunks(work.document, output, stage=chunker.name)

    return _Stage(
        kind="chunker",
        name=chunker.name,
        version=chunker.version,
        fingerprint=chunker.fingerprint(),
        input_hash=lambda work: document_hash(work.document),
        run=run,
        accept=accept,
        encode=_encoded,
        decode=lambda work, data: decode_chunking(data, work.document),
    )


def _chunk_stage(item: Transform) -> _Stage:
    def accept(work: _Work, output: Any) -> None:
        chunking = output if isinstance(output, Chunking) else Chunking(tuple(output), work.parents)
        work.chunks, work.parents = checked_chunks(work.document, chunking, stage=item.name, before=work.chunks)

    return _Stage(
        kind="chunk_transform",
        name=item.name,
        version=item.version,
        fingerprint=item.fingerprint(),
        input_hash=lambda work: digest(document_hash(work.document), _encoded(work)),
        run=lambda works: item.apply([w.chunks for w in works], [w.document.source_id for w in works]),
        accept=accept,
        encode=_encoded,
        decode=lambda work, data: decode_chunking(data, work.document),
    )


def _encoded(work: _Work) -> bytes:
    return encode_chunking(Chunking(work.chunks, work.parents))


def _chunked(pipeline: Pipeline, document: Document) -> Chunking | FlorilegeError:
    name = pipeline.chunker.name
    try:
        return pipeline.chunker.chunk_document(document)
    except FlorilegeError as error:
        return error
    except Exception as error:  # noqa: BLE001 a chunker may be user code; its source fails, the others go on
        return ChunkingError(
            f"chunker {name!r} failed on {document.source_id!r}: {type(error).__name__}: {error}",
            source_id=document.source_id,
            stage=name,
        )
