"""What finds and reads sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from florilege.model.document import Failed, IngestWarning, Loaded, Part


@runtime_checkable
class Source(Protocol):
    """A source that has been found and not yet read.

    ``revision`` is a cheap mark of its bytes (None: unknown, always read); ``reader`` the id and version of what
    would read it. A sync skips :meth:`read` when both equal what the ledger holds.
    """

    @property
    def source_id(self) -> str:
        """Its identity in the namespace."""
        ...

    @property
    def revision(self) -> str | None:
        """The cheap mark."""
        ...

    @property
    def reader(self) -> str:
        """What would read it; may look at its first bytes."""
        ...

    def read(self) -> Loaded | Failed:
        """Fetch and read it. Never raises for a bad source: that is a :class:`Failed`."""
        ...


@runtime_checkable
class Conditional(Protocol):
    """A source without a mark of its own that can ask whether its bytes still have an earlier one."""

    def read_since(self, revision: str, reader: str) -> Loaded | Failed | None:
        """As :meth:`Source.read`; None when the bytes have that mark still and ``reader`` is what would read them."""
        ...


@runtime_checkable
class Container(Protocol):
    """A source that may hold others, which then have its id, ``#`` and more as theirs.

    Its ``reader`` covers whatever could read a child, and the metadata of its document count them as ``children``, so
    that a sync need not look inside a container that it knows.
    """

    @property
    def is_container(self) -> bool:
        """Whether it holds other sources; may look at its first bytes."""
        ...

    def children(self) -> Iterator[Source | Failed]:
        """What lies inside, unread; nothing when it cannot be looked into, which reading it then tells."""
        ...


@runtime_checkable
class Listing(Protocol):
    """A lazy listing of sources, in a stable order; iterating it directly reads each one.

    ``complete_for(source_id)`` says whether an id that was *not* listed lies inside what was listed (so that, in a
    complete sync, it is stale). ``error`` is set once listing has ended badly: then nothing may be called stale.
    """

    @property
    def error(self) -> Failed | None:
        """Why the listing ended badly, None while and when it did not."""
        ...

    def sources(self) -> Iterator[Source | Failed]:
        """The sources, unread, without what lies inside them; a Failed stands for one that could not be looked at."""
        ...

    def __iter__(self) -> Iterator[Loaded | Failed]:
        """The sources, read."""
        ...

    def complete_for(self, source_id: str) -> bool:
        """Whether an unlisted ``source_id`` belongs to what was listed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """What an observer is told of a source that was read: ``size`` in bytes, a hash of them, how long reading took."""

    source_id: str
    size: int
    content_hash: str
    media_type: str
    reader: str
    read_seconds: float


@runtime_checkable
class SourceObserver(Protocol):
    """Sees sources go by beside their reading. May add to a document's metadata, never to its text."""

    def observe(self, facts: SourceFacts) -> Mapping[str, Any] | None:
        """Metadata to add (JSON values), or nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """What a reader makes of bytes: content with parts whose spans slice back into it."""

    content: str
    parts: tuple[Part, ...] = ()
    title: str | None = None
    metadata: dict[str, Any] | None = None
    warnings: tuple[IngestWarning, ...] = ()
    media_type: str | None = None


@runtime_checkable
class Reader(Protocol):
    """Understands the bytes of some media types.

    ``id`` and ``version`` enter the ledger: a new version reads every source again. :meth:`read` raises
    :class:`florilege.ReadError` with a code ("encrypted", "damaged", "empty", "too_large", ...).
    """

    id: str
    version: str
    media_types: tuple[str, ...]

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``."""
        ...
