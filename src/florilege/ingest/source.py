"""Sources with bytes behind them: told apart, read, and looked into when they hold other sources."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO

from florilege.ingest.containers.region import Region
from florilege.ingest.reading import Reading, failed
from florilege.interfaces.sources import Source
from florilege.model.document import Document, Failed, Loaded
from florilege.model.errors import FlorilegeError, LoadError, ReadError

if TYPE_CHECKING:
    from florilege.ingest.containers import Inside


class ByteSource(ABC):
    """A source whose bytes can be fetched whole or looked at in place.

    A container (an archive, a mail with attachments, a text too large for one document) has :meth:`children`, and
    reading it gives a document of its own whose metadata count them. ``above`` is how many containers it lies in.
    """

    source_id: str
    revision: str | None
    uri: str | None = None
    above = 0

    def __init__(self, source_id: str, reading: Reading, *, name: str | None) -> None:
        self.source_id = source_id
        self.name = name
        self.reading = reading
        self._lock = threading.Lock()
        self._found: list[Source | Failed] | FlorilegeError | None = None

    @abstractmethod
    def region(self) -> Region:
        """Its bytes where they are. Raises :class:`LoadError`."""

    @abstractmethod
    def fetch(self) -> bytes:
        """All its bytes. Raises :class:`LoadError`, :class:`ReadError` (``too_large``)."""

    @property
    def read_revision(self) -> str | None:
        """The mark of the bytes that were read, None when it cannot be trusted."""
        return self.revision

    @cached_property
    def media_type(self) -> str:
        """What it is, told by its first bytes and its name. Raises :class:`LoadError`."""
        if self.reading.media_type is not None:
            return self.reading.media_type
        with self._opened() as stream:
            return self.reading.kind(stream, self.name)

    @cached_property
    def inside(self) -> Inside | None:
        """How to look inside; None when there is nothing inside. Raises :class:`LoadError`."""
        from florilege.ingest.containers import inside

        return inside(self)

    @property
    def reader(self) -> str:
        """The id and version of what would read it. For a container they cover whatever reads its children."""
        try:
            if self.inside is None:
                return self.reading.mark(self.media_type)
            return f"{self.inside.mark}+{self.reading.digest}"
        except LoadError:
            return "none/1"

    @property
    def is_container(self) -> bool:
        """Whether it holds other sources; looks at its first bytes."""
        try:
            return self.inside is not None
        except LoadError:
            return False

    def children(self) -> Iterator[Source | Failed]:
        """What lies inside, unread. Nothing when it cannot be looked into: :meth:`read` tells why."""
        try:
            found = self._contents() if self.inside is not None else []
        except (LoadError, ReadError):
            return
        yield from found

    def read(self) -> Loaded | Failed:
        """Read it. Never raises for a bad source."""
        try:
            found = self._contents() if self.inside is not None else []
            document = self._document()
        except (LoadError, ReadError) as error:
            return failed(self.source_id, error, revision=self.read_revision, reader=self.reader)
        if found:
            document = replace(document, metadata={**document.metadata, "children": len(found)})
        return Loaded(replace(document, reader=self.reader))

    def _document(self) -> Document:
        if self.inside is not None and not self.inside.has_text:
            return Document(
                source_id=self.source_id,
                namespace=self.reading.namespace,
                content="",
                media_type=self.media_type,
                uri=self.uri,
                revision=self.read_revision,
            )
        data = self.fetch()
        return self.reading.document(
            data,
            source_id=self.source_id,
            name=self.name,
            uri=self.uri,
            revision=self.read_revision,
            opener=self._opener(),
        )

    def _opener(self) -> Callable[[], bytes]:
        return self.fetch

    def _contents(self) -> list[Source | Failed]:
        with self._lock:
            if self._found is None:
                assert self.inside is not None
                try:
                    self._found = self.inside.open(self)
                except (LoadError, ReadError) as error:
                    self._found = error
            if isinstance(self._found, FlorilegeError):
                raise self._found
            return self._found

    def _opened(self) -> BinaryIO:
        return self.region().open()
