"""A write made ready outside every lock: validated, encoded, hashed, and compared with what the source has now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from florilege.interfaces.stores import ChunkVectors, SourceWrite
from florilege.model.chunk import Chunk, ParentChunk
from florilege.model.errors import ChunkingError, ConfigError
from florilege.model.hashing import digest, hexdigest
from florilege.stores import codecs


@dataclass(slots=True)
class Row:
    """One chunk, ready to store. ``carried`` is the row it already is, ``twin`` a row with the same text."""

    chunk: Chunk
    ordinal: int
    digest: bytes
    text_digest: bytes
    metadata: bytes
    parent: bytes | None
    provenance: bytes | None
    carried: int | None = None
    twin: int | None = None


@dataclass(slots=True)
class Prepared:
    """A :class:`SourceWrite` as rows. ``base`` is the generation it was compared with, ``base_rows`` its rows."""

    write: SourceWrite
    base: int | None
    base_rows: list[int]
    metadata: dict[bytes, str] = field(default_factory=dict)
    source_metadata: bytes = b""
    rows: list[Row] = field(default_factory=list)
    parents: list[tuple[str, str, int, str, str | None, str | None, bytes, bytes | None]] = field(default_factory=list)
    document: tuple[bytes, bytes] | None = None
    facts: bytes | None = None

    @property
    def source_id(self) -> str:
        return self.write.record.source_id

    @property
    def vectors(self) -> list[ChunkVectors]:
        """What the write says of vectors; keys stand at the rows' ordinals."""
        return [vectors for vectors in (self.write.vectors, self.write.sparse) if vectors is not None]


def prepare(
    namespace: str, write: SourceWrite, base: int | None, known: Sequence[tuple[int, bytes, bytes]]
) -> Prepared:
    """Everything about ``write`` that needs no lock.

    ``base`` is the source's active generation, ``known`` its rows with their digests and text digests. Raises
    :class:`ChunkingError` for chunks that cannot be kept and :class:`ConfigError` for values that cannot.
    """
    _check(namespace, write)
    prepared = Prepared(write, base, [pk for pk, _, _ in known])
    record = write.record
    encode = _MetadataEncoder(prepared.metadata, title=record.title, media_type=record.media_type)
    prepared.source_metadata = encode(record.metadata, ())
    carried = {row_digest: pk for pk, row_digest, _ in known}
    twins = {text_digest: pk for pk, _, text_digest in known}
    for ordinal, chunk in enumerate(write.chunks):
        metadata = encode(chunk.metadata, chunk.provenance.pages)
        parent = codecs.encode_parent(chunk.parent)
        text_digest = digest(chunk.content, chunk.context)
        row_digest = digest(chunk.chunk_id or "", text_digest, metadata, parent or b"")
        prepared.rows.append(
            Row(
                chunk,
                ordinal,
                row_digest,
                text_digest,
                metadata,
                parent,
                codecs.encode_provenance(chunk.provenance),
                carried.get(row_digest),
                twins.get(text_digest),
            )
        )
    prepared.parents = [_parent(parent, ordinal, encode) for ordinal, parent in enumerate(write.parents)]
    if write.document is not None:
        prepared.document = codecs.encode_document(write.document)
        prepared.facts = codecs.encode_facts(write.document)
    return prepared


def parent_key(source_id: str, parent: ParentChunk) -> str:
    """What a parent is read by: its own key, else one made from source id and parent id."""
    return parent.key if parent.key is not None else hexdigest(source_id, parent.parent_id)


class _MetadataEncoder:
    """Encodes metadata of one source once, however many of its chunks hold the same values.

    Only values that are the same objects count as the same: ``1 == True``, and they are not.
    """

    def __init__(self, kept: dict[bytes, str], *, title: str | None, media_type: str | None) -> None:
        self._kept = kept
        self._facts = {key: fact for key, fact in (("$title", title), ("$media_type", media_type)) if fact is not None}
        self._seen: dict[tuple[Any, ...], bytes] = {}

    def __call__(self, metadata: Mapping[str, Any], pages: tuple[int, ...]) -> bytes:
        # The write holds what a dict holds; another mapping may make its values as it is asked.
        held = (*metadata, *map(id, metadata.values())) if type(metadata) is dict else (id(metadata),)
        known = (held, pages)
        found = self._seen.get(known)
        if found is None:
            facts = {**self._facts, "$page": pages[0]} if pages else self._facts
            text = codecs.encode_metadata(metadata, facts)
            found = self._seen[known] = digest(text)
            self._kept[found] = text
        return found


def _parent(
    parent: ParentChunk, ordinal: int, encode: _MetadataEncoder
) -> tuple[str, str, int, str, str | None, str | None, bytes, bytes | None]:
    return (
        parent.parent_id,
        parent_key(parent.source_id, parent),
        ordinal,
        parent.content,
        parent.title,
        parent.summary,
        encode(parent.metadata, parent.provenance.pages),
        codecs.encode_provenance(parent.provenance),
    )


def _check(namespace: str, write: SourceWrite) -> None:
    source_id = write.record.source_id
    if write.record.namespace != namespace:
        raise ConfigError(f"record of {source_id!r} names namespace {write.record.namespace!r}, not {namespace!r}")
    for vectors, sparse in ((write.vectors, False), (write.sparse, True)):
        if vectors is not None and len(vectors.keys) != len(write.chunks):
            raise ConfigError(f"{source_id!r}: {len(vectors.keys)} vector keys for {len(write.chunks)} chunks")
        if vectors is not None and vectors.space.sparse is not sparse:
            raise ConfigError(f"{source_id!r}: space {vectors.space.identity} is not of the leg it was given for")
    seen: set[str] = set()
    for chunk in write.chunks:
        problem = None
        if chunk.source_id != source_id:
            problem = f"names source {chunk.source_id!r}"
        elif chunk.namespace not in (None, namespace):
            problem = f"names namespace {chunk.namespace!r}"
        elif not chunk.chunk_id:
            problem = "has no id"
        elif chunk.chunk_id in seen:
            problem = "has an id another chunk has"
        if problem:
            raise ChunkingError(f"chunk {chunk.chunk_id!r} of {source_id!r} {problem}", source_id=source_id)
        seen.add(chunk.chunk_id or "")
    for parent in write.parents:
        if parent.source_id != source_id:
            raise ChunkingError(
                f"parent {parent.parent_id!r} of {source_id!r} names source {parent.source_id!r}", source_id=source_id
            )
