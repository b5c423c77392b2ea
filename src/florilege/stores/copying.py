"""A corpus moved from one store to another, of whichever kinds, without embedding anything again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, cast

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.paging import source_pages
from florilege.interfaces.stores import ChunkVectors, DataStore, Snapshot, SourceWrite, VectorLeg
from florilege.model.chunk import Chunk
from florilege.model.document import Document
from florilege.model.errors import ConfigError, Conflict, NotFound
from florilege.model.ledger import SourceRecord

PAGE_SOURCES = 200
_RUNS = 10_000
_LEGS: tuple[VectorLeg, ...] = ("dense", "sparse")
_IDENTITY = re.compile(r"(.+)/(\d+)/(cosine|dot)/(.*)", re.DOTALL)


class Copied(NamedTuple):
    """What a copy of one namespace moved; ``kept`` sources were in the target as they should be already."""

    namespace: str
    sources: int
    kept: int
    chunks: int
    vectors: int


def copy_store(
    source: DataStore,
    target: DataStore,
    namespaces: Iterable[str] | None = None,
    on_page: Callable[[Copied], object] | None = None,
) -> list[Copied]:
    """Copy the active generation of every source, its vectors and its ledger row; the source store stays as it is.

    ``namespaces`` defaults to all. Chunk ids, contents, metadata, provenance, parents, documents, vectors and the
    queue of chunks that wait for one are the same afterwards, so the next sync finds nothing changed. Generations
    count from the target's own numbers, and earlier ones stay behind, as do stage results. An interrupted copy goes on
    when it is run again. ``on_page`` is told how far the namespace is.

    Raises ConfigError when a namespace of the target is bound to another space, NotFound for a namespace that is not
    there, and Conflict when a source of the target changes meanwhile.
    """
    there = source.namespaces()
    wanted = there if namespaces is None else list(namespaces)
    if missing := [name for name in wanted if name not in there]:
        raise NotFound(f"there is no namespace {missing[0]!r} to copy", code="no_namespace")
    return [_copy(source, target, name, on_page) for name in wanted]


def space_of(identity: str) -> EmbeddingSpace:
    """The space an identity names. ConfigError for something else."""
    found = _IDENTITY.fullmatch(identity)
    if found is None:
        raise ConfigError(f"{identity!r} names no embedding space", code="bad_space")
    name, dimensions, metric, preparation = found.groups()
    return EmbeddingSpace(
        name=name,
        dimensions=int(dimensions),
        metric=cast(Literal["cosine", "dot"], metric),
        preparation=preparation,
    )


def _copy(source: DataStore, target: DataStore, namespace: str, on_page: Callable[[Copied], object] | None) -> Copied:
    spaces: dict[VectorLeg, EmbeddingSpace] = {}
    for leg in _LEGS:
        identity = source.bound_space(namespace, leg=leg)
        if identity is not None:
            spaces[leg] = space_of(identity)
            target.bind_space(namespace, spaces[leg], leg=leg)
    copied = Copied(namespace, 0, 0, 0, 0)
    with source.snapshot(namespace) as snapshot:
        for page in source_pages(source, namespace, limit=PAGE_SOURCES):
            known = target.get_sources(namespace, [record.source_id for record in page])
            new = [record for record in page if not _same(record, known.get(record.source_id))]
            writes = [
                _write(snapshot, record, known.get(record.source_id), spaces)
                for record in new
                if record.version is not None
            ]
            vectors = _put_vectors(target, writes)
            for outcome in target.replace(namespace, writes):
                if outcome.conflict:
                    raise Conflict(f"the target changed while it was copied to: {outcome.conflict}")
            target.record(namespace, [record for record in new if record.version is None])
            copied = Copied(
                namespace,
                copied.sources + len(new),
                copied.kept + len(page) - len(new),
                copied.chunks + sum(len(write.chunks) for write in writes),
                copied.vectors + vectors,
            )
            if on_page is not None:
                on_page(copied)
    for run in reversed(source.runs(namespace, limit=_RUNS)):
        target.end_run(run)
    return copied


def _same(record: SourceRecord, known: SourceRecord | None) -> bool:
    """Whether the target has this source already, with the same content indexed the same way."""
    if known is None or record.content_hash is None:
        return False
    fields = ("status", "content_hash", "metadata_hash", "index_hash", "source_hash", "corpus_id", "chunk_count")
    return (known.version is None) == (record.version is None) and all(
        getattr(known, name) == getattr(record, name) for name in fields
    )


def _write(
    snapshot: Snapshot,
    record: SourceRecord,
    known: SourceRecord | None,
    spaces: dict[VectorLeg, EmbeddingSpace],
) -> SourceWrite:
    chunks = snapshot.chunks(record.source_id, vectors=True)
    keyed: dict[VectorLeg, ChunkVectors] = {}
    for leg, space in spaces.items():
        keys = snapshot.vector_keys(record.source_id, space)
        keyed[leg] = ChunkVectors(space, [keys.get(chunk.chunk_id or "") for chunk in chunks])
    return SourceWrite(
        record=record,
        chunks=chunks,
        parents=snapshot.source_parents(record.source_id),
        document=_document(snapshot, record.source_id),
        vectors=keyed.get("dense"),
        sparse=keyed.get("sparse"),
        expected=known.version if known else None,
    )


def _document(snapshot: Snapshot, source_id: str) -> Document | None:
    try:
        return snapshot.document(source_id)
    except NotFound as error:
        if error.code != "content_not_kept":
            raise
        return None


def _put_vectors(target: DataStore, writes: Sequence[SourceWrite]) -> int:
    """Put the vectors these writes bring and the target lacks; returns how many."""
    count = 0
    for leg in _LEGS:
        made: dict[EmbeddingSpace, dict[bytes, Chunk]] = {}
        for write in writes:
            vectors = write.vectors if leg == "dense" else write.sparse
            for key, chunk in zip(vectors.keys, write.chunks, strict=True) if vectors else ():
                value = chunk.embedding if leg == "dense" else chunk.sparse_embedding
                if vectors is not None and key is not None and value is not None:
                    made.setdefault(vectors.space, {})[key] = chunk
        for space, chunks in made.items():
            new = sorted(target.missing_vectors(space, list(chunks)))
            if not new:
                continue
            if leg == "dense":
                target.put_vectors(space, new, [chunks[key].embedding for key in new])
            else:
                target.put_sparse(space, new, [dict(chunks[key].sparse_embedding or {}) for key in new])
            count += len(new)
    return count
