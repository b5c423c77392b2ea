"""Items as documents, and an operation as the chunker of those documents."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from florilege.chunkers.items import ChunkerOperation, ChunkerUtils, ItemStorage, checked_response
from florilege.concurrency import resolve
from florilege.model.chunk import Chunk, Chunking, Provenance
from florilege.model.document import Document, Span
from florilege.model.errors import LoadError
from florilege.model.hashing import fingerprint

_GAP = "\n\n"
_log = logging.getLogger(__name__)


class NoStorage:
    """Stands where a context has no storage."""

    def read(self, key: str) -> bytes:
        """Refuse."""
        raise LoadError(f"key {key!r} cannot be read: the context has no storage", code="no_storage")


@dataclass(slots=True)
class Utils:
    """What an operation may use besides the item."""

    storage: ItemStorage


def document_of(item: Mapping[str, Any], namespace: str) -> Document:
    """A checked item as a document: its name and its text are the content, its other fields the metadata.

    The text is the item's content, else its description; between name and text stands a blank line.
    """
    name, body = item["name"] or "", item["content"] or item["description"] or ""
    metadata = {key: value for key, value in item.items() if key not in ("id", "content") and value is not None}
    return Document(
        source_id=item["id"],
        namespace=namespace,
        content=_GAP.join(text for text in (name, body) if text.strip()),
        title=name or None,
        metadata=metadata,
    )


def item_of(document: Document) -> dict[str, Any]:
    """The item a document was made of."""
    metadata = dict(document.metadata)
    name, description = metadata.pop("name", None), metadata.pop("description", None)
    body = document.content
    if name and name.strip():
        body = body.removeprefix(name).removeprefix(_GAP)
    content = None if not body or body == description else body
    return {"id": document.source_id, "name": name, "content": content, "description": description, **metadata}


@dataclass(frozen=True, slots=True)
class OperationChunker:
    """Runs a :class:`ChunkerOperation` on the item a document was made of, sync or async.

    A chunk that stands in the document is exact, any other derived from it. ``version`` is to be raised when the
    operation cuts differently.
    """

    operation: ChunkerOperation
    max_chunk_size: int
    utils: ChunkerUtils
    version: str = "1"
    name: str = field(default="context")

    def fingerprint(self) -> str:
        """A hash over the operation's name, its version and the budget."""
        kind = self.operation if hasattr(self.operation, "__qualname__") else type(self.operation)
        named = f"{kind.__module__}.{kind.__qualname__}"
        return fingerprint(self.name, self.version, {"operation": named, "max_chunk_size": self.max_chunk_size})

    def chunk_document(self, document: Document) -> Chunking:
        """Cut the item. Raises :class:`ChunkingError` for an answer that cannot be used."""
        item = item_of(document)
        response = checked_response(resolve(self.operation(item, self.max_chunk_size, self.utils)), item)
        for warning in response.warnings:
            _log.warning("item %s: %s", document.source_id, warning.message)
        chunks = []
        cursor = 0
        for entry in response.chunks:
            at = document.content.find(entry.content, cursor)
            placed = at >= 0
            cursor = at + 1 if placed else cursor
            span = (Span(at, at + len(entry.content)),) if placed else ()
            chunks.append(
                Chunk(
                    source_id=document.source_id,
                    namespace=document.namespace,
                    content=entry.content,
                    ordinal=entry.index,
                    metadata={**document.metadata, **(entry.metadata or {})},
                    provenance=Provenance(source_spans=span, confidence="exact" if placed else "derived"),
                )
            )
        return Chunking(tuple(chunks))
