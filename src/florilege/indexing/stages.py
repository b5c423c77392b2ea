"""The stage cache: what a stage made of an input, kept by everything that decides it.

A key covers the stage's kind, name, version and fingerprint and a hash of its whole input, so a hit is the very
result the stage would give again. Values carry their own hash and are checked when read; a value that cannot be read
is a miss, and a value that cannot be written a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol

import msgspec

from florilege.codec import decode, encode
from florilege.model.chunk import Chunk, Chunking, ParentChunk, ParentRef, Provenance
from florilege.model.document import Document, IngestWarning, Part
from florilege.model.errors import Corrupt, FlorilegeError
from florilege.model.hashing import digest, plain, revive

CacheMode = Literal["use", "refresh", "bypass"]
_log = logging.getLogger("florilege.indexing")
_FORMAT = "1"


class CacheStore(Protocol):
    """The two verbs of a store that the cache needs."""

    def get_cached(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values there are."""
        ...

    def put_cached(self, items: Mapping[bytes, bytes]) -> None:
        """Keep values; the oldest give way when there are too many."""
        ...


class StageCache:
    """Reads and writes stage results; see the module's text."""

    def __init__(self, store: CacheStore, mode: CacheMode = "use", *, read_only: bool = False) -> None:
        self._store = store
        self._read_only = read_only
        self.mode = mode

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The sound results there are under these keys; nothing unless the mode is "use"."""
        if self.mode != "use" or not keys:
            return {}
        found = self._store.get_cached(keys)
        return {key: value[16:] for key, value in found.items() if digest(key, value[16:]) == value[:16]}

    def write(self, items: Mapping[bytes, bytes]) -> None:
        """Keep results; a failure is logged and costs nothing but the next run's time."""
        if self.mode == "bypass" or self._read_only or not items:
            return
        try:
            self._store.put_cached({key: digest(key, value) + value for key, value in items.items()})
        except FlorilegeError as error:
            _log.warning("the stage cache could not be written: %s", error.message)


def stage_key(kind: str, name: str, version: str, fingerprint: str, input_hash: bytes) -> bytes:
    """The key of a stage's result on an input."""
    return digest(_FORMAT, kind, name, version, fingerprint, input_hash)


def document_hash(document: Document, *, metadata: bool = True) -> bytes:
    """A hash over everything a stage may see of a document (without ``metadata`` when it does not look there)."""
    return digest(encode_document(document), encode(plain(document.metadata)) if metadata else b"")


def encode_document(document: Document) -> bytes:
    """What a document transform may change, without metadata."""
    return encode(
        {
            "namespace": document.namespace,
            "source_id": document.source_id,
            "content": document.content,
            "title": document.title,
            "media_type": document.media_type,
            "uri": document.uri,
            "parts": document.parts,
            "warnings": document.warnings,
        }
    )


def encode_transformed(document: Document) -> bytes:
    """A document transform's result."""
    return encode([encode_document(document).decode(), plain(document.metadata)])


def decode_transformed(data: bytes, given: Document, *, metadata: bool) -> Document:
    """The inverse, on the document that was given; its own metadata stays when ``metadata`` is False."""
    text, stored = decode(list[Any], data, what="cached document")
    fields = decode(dict[str, Any], text, what="cached document")
    return replace(
        given,
        content=fields["content"],
        title=fields["title"],
        media_type=fields["media_type"],
        uri=fields["uri"],
        parts=tuple(_convert(list[Part], fields["parts"])),
        warnings=tuple(_convert(list[IngestWarning], fields["warnings"])),
        metadata=revive(stored) if metadata else given.metadata,
    )


def encode_chunking(chunking: Chunking) -> bytes:
    """Chunks and parents as bytes."""
    return encode([[_record(chunk) for chunk in chunking.chunks], [_record(parent) for parent in chunking.parents]])


def decode_chunking(data: bytes, document: Document) -> Chunking:
    """The inverse of :func:`encode_chunking`, for ``document``."""
    chunks, parents = decode(list[Any], data, what="cached chunks")
    identity: dict[str, Any] = {"source_id": document.source_id, "namespace": document.namespace}
    return Chunking(
        tuple(Chunk(**identity, **_fields(item)) for item in chunks),
        tuple(ParentChunk(**identity, **_fields(item)) for item in parents),
    )


_KEPT = ("chunk_id", "ordinal", "content", "context", "parent_id", "title", "summary")


def _record(item: Chunk | ParentChunk) -> dict[str, Any]:
    record = {name: getattr(item, name) for name in _KEPT if hasattr(item, name)}
    record["metadata"] = plain(item.metadata)
    record["provenance"] = item.provenance
    if isinstance(item, Chunk) and item.parent is not None:
        record["parent"] = item.parent
    return record


def _fields(record: dict[str, Any]) -> dict[str, Any]:
    fields = dict(record)
    fields["metadata"] = revive(fields["metadata"])
    fields["provenance"] = _convert(Provenance, fields["provenance"])
    if "parent" in fields:
        fields["parent"] = _convert(ParentRef, fields["parent"])
    return fields


def _convert(kind: Any, value: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise Corrupt(f"cached stage result cannot be decoded: {error}") from error
