"""A pipeline: document transforms, a chunker, chunk transforms; and what one document becomes in it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from florilege.indexing.prepare import checked_chunks, checked_document, minted
from florilege.indexing.transform import Transform
from florilege.interfaces.chunking import DocumentChunker
from florilege.model.chunk import Chunk, Chunking, ParentChunk
from florilege.model.document import Document
from florilege.model.errors import ChunkingError, ConfigError, FlorilegeError, TransformError
from florilege.model.ledger import StageKind, StageRecord


def _structured() -> DocumentChunker:
    from florilege import chunkers

    return chunkers.structured()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A document that has been through the pipeline: chunks with ids, parents with keys, stage records."""

    document: Document
    chunks: tuple[Chunk, ...]
    parents: tuple[ParentChunk, ...]
    stages: tuple[StageRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The processing order from document to chunks, as one frozen value.

    ``documents`` run in order before the ``chunker`` (default: ``chunkers.structured()``), ``chunks`` after it.
    """

    documents: Sequence[Transform] = ()
    chunker: DocumentChunker = field(default_factory=_structured)
    chunks: Sequence[Transform] = ()

    def __post_init__(self) -> None:
        for kind, option in (("document", "documents"), ("chunk", "chunks")):
            names: set[str] = set()
            for item in getattr(self, option):
                if not isinstance(item, Transform) or item.kind != kind:
                    raise ConfigError(f"pipeline {option}: {item!r} is not a {kind} transform")
                if item.name in names:
                    raise ConfigError(f"pipeline {option}: two transforms are named {item.name!r}")
                names.add(item.name)
        if not isinstance(self.chunker, DocumentChunker):
            raise ConfigError(f"pipeline chunker: {self.chunker!r} has no name, version, fingerprint, chunk_document")

    def with_chunking(self, chunking: Mapping[str, Any] | None) -> Pipeline:
        """This pipeline with other sizes for its chunker; ConfigError for an option the chunker lacks."""
        if not chunking:
            return self
        chunker: Any = self.chunker
        known = {item.name for item in fields(chunker)} if is_dataclass(chunker) else set()
        for option in chunking:
            if option not in known:
                raise ConfigError(f"chunking: chunker {self.chunker.name!r} has no option {option!r}")
        return replace(self, chunker=replace(chunker, **chunking))

    def hashes(self) -> dict[str, str]:
        """The fingerprint in parts, so that a change can be named: one hash for each transform and the chunker."""
        order = [f"document_transform:{item.name}" for item in self.documents]
        order += ["chunker", *(f"chunk_transform:{item.name}" for item in self.chunks)]
        prints = [item.fingerprint() for item in self.documents]
        prints += [self.chunker.fingerprint(), *(item.fingerprint() for item in self.chunks)]
        hashes = dict(zip(order, prints, strict=True))
        if self.documents or self.chunks:
            hashes["order"] = " ".join(order)
        return hashes

    def run(self, document: Document, namespace: str) -> Prepared:
        """Take ``document`` through every stage.

        Raises TransformError or ChunkingError (with ``source_id`` and ``stage``) for a stage that fails or breaks its
        contract, ConfigError for a namespace that is not ``namespace``.
        """
        document = checked_document(document, namespace)
        stages: list[StageRecord] = []
        for item in self.documents:
            document = self._transform_document(item, document, stages)
        started = time.perf_counter()
        chunking = self._chunk(document)
        chunks, parents = checked_chunks(document, chunking, stage=self.chunker.name)
        stages.append(_stage(self.chunker.name, "chunker", self.chunker.version, started, chunks, parents))
        for item in self.chunks:
            started = time.perf_counter()
            changed = _guarded(item, chunks, document.source_id)
            chunks, parents = checked_chunks(
                document, Chunking(tuple(changed), parents), stage=item.name, before=chunks
            )
            stages.append(_stage(item.name, "chunk_transform", item.version, started, chunks, parents))
        return Prepared(document=document, chunks=minted(chunks), parents=parents, stages=tuple(stages))

    def _transform_document(self, item: Transform, document: Document, stages: list[StageRecord]) -> Document:
        started = time.perf_counter()
        result = _guarded(item, document, document.source_id)
        if not isinstance(result, Document):
            raise TransformError(
                f"document transform {item.name!r} returned a {type(result).__name__}, not a Document",
                source_id=document.source_id,
                stage=item.name,
            )
        result = checked_document(result, document.namespace or "", before=document, stage=item.name)
        stages.append(_stage(item.name, "document_transform", item.version, started))
        return result

    def _chunk(self, document: Document) -> Chunking:
        try:
            return self.chunker.chunk_document(document)
        except FlorilegeError:
            raise
        except Exception as error:
            raise ChunkingError(
                f"chunker {self.chunker.name!r} failed on {document.source_id!r}: {type(error).__name__}: {error}",
                source_id=document.source_id,
                stage=self.chunker.name,
            ) from error


def _guarded(item: Transform, value: Any, source_id: str) -> Any:
    try:
        return item(value)
    except FlorilegeError:
        raise
    except Exception as error:
        raise TransformError(
            f"{item.kind} transform {item.name!r} failed on {source_id!r}: {type(error).__name__}: {error}",
            source_id=source_id,
            stage=item.name,
        ) from error


def _stage(
    name: str,
    kind: StageKind,
    version: str,
    started: float,
    chunks: Sequence[Chunk] | None = None,
    parents: Sequence[ParentChunk] | None = None,
) -> StageRecord:
    return StageRecord(
        name=name,
        kind=kind,
        version=version,
        duration_seconds=time.perf_counter() - started,
        chunk_count=None if chunks is None else len(chunks),
        parent_count=None if parents is None else len(parents),
    )
