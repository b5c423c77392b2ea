"""What cuts documents, and the page-plugin protocol that third parties speak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NewType, Protocol, runtime_checkable

from florilege.interfaces.sources import SourceObserver
from florilege.model.chunk import Chunking
from florilege.model.document import BBox, Block, Document

CapabilityId = NewType("CapabilityId", str)


@runtime_checkable
class DocumentChunker(Protocol):
    """Cuts a document into chunks, and parents where it makes them.

    ``fingerprint()`` is a hash over name, version and every option that can change a cut; two chunkers with one
    fingerprint cut alike. ``chunk_document`` must be thread-safe and must not change namespace or source id. A
    ``chunk_id`` of None is minted by the indexer.
    """

    @property
    def name(self) -> str:
        """What it is called in stage records."""
        ...

    @property
    def version(self) -> str:
        """Raised when the same options cut differently."""
        ...

    def fingerprint(self) -> str:
        """The identity of this chunker with its options."""
        ...

    def chunk_document(self, document: Document) -> Chunking:
        """Cut ``document``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOutput:
    """One page as a reader gave it: 1-based ``page``, its text, its blocks in reading order."""

    page: int
    text: str | None = None
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPiece:
    """Non-empty text with the box it came from, when known."""

    text: str
    bbox: BBox | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageChunks:
    """A page chunker's claim on one page: its pieces in reading order."""

    page: int
    pieces: tuple[ChunkPiece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityDescriptor:
    """What a provider can make, cheap to list.

    ``kind`` is "reader" for what reads ``media_types``; its ``options`` may name ``suffixes`` of file names that mean
    the first of them, and a ``note`` for whoever lists it. A new ``version`` reads every source again.
    """

    id: CapabilityId
    kind: str
    media_types: tuple[str, ...] = ()
    version: str = "1"
    options: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Chunker(Protocol):
    """Cuts pages. Answers with nothing for bytes it has no boundary for; pages nobody claims go to the next in line."""

    def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> tuple[PageChunks, ...]:
        """Claim pages, at most once each."""
        ...


@runtime_checkable
class Provider(Protocol):
    """What a distribution offers under the entry-point group ``florilege.providers``."""

    def descriptors(self) -> tuple[CapabilityDescriptor, ...]:
        """Everything :meth:`create` can make; cheap, imports nothing heavy."""
        ...

    def create(self, capability_id: CapabilityId) -> Any:
        """Make the capability; ValueError for an id that was not declared."""
        ...


@runtime_checkable
class ChunkerProvider(Protocol):
    """A provider that also draws page boundaries."""

    def chunkers(self) -> tuple[Chunker, ...]:
        """The page chunkers, in the order they want to be asked."""
        ...


@runtime_checkable
class SourceObserverProvider(Protocol):
    """A provider that also watches sources go by."""

    def observers(self) -> tuple[SourceObserver, ...]:
        """The observers."""
        ...
