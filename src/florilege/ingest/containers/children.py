"""Sources inside a source: ids, bytes, and how they are handed out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from florilege.ingest.containers.limits import Budget
from florilege.ingest.containers.region import Region, Spool
from florilege.ingest.paths import normal
from florilege.ingest.source import ByteSource
from florilege.interfaces.sources import Source
from florilege.model.document import Document, Failed
from florilege.model.errors import ReadError
from florilege.model.hashing import hexdigest
from florilege.text.clean import clean_text

_STRANGE = re.compile(r"[^\w.-]+")
_SHOWN = 60


class ChildSource(ByteSource):
    """A source inside ``parent``: its id is the parent's, ``#`` and ``fragment``; its revision a hash of its bytes."""

    def __init__(
        self,
        parent: ByteSource,
        fragment: str,
        region: Region,
        content_hash: str,
        *,
        name: str | None,
        facts: dict[str, Any],
        budget: Budget,
    ) -> None:
        super().__init__(f"{parent.source_id}#{fragment}", parent.reading, name=name)
        self.revision = f"sha256:{content_hash}"
        self.uri = None if parent.uri is None else f"{parent.uri}#{fragment}"
        self.above = parent.above + 1
        self.budget = budget
        self._region = region
        self._facts = facts

    def region(self) -> Region:
        """Its bytes in the parent, or in the temporary file they were unpacked to."""
        return self._region

    def fetch(self) -> bytes:
        """All its bytes."""
        limit = self.reading.max_bytes
        if self._region.size > limit:
            raise ReadError(f"{self._region.size:,} bytes exceed the limit of {limit:,} (max_bytes=)", code="too_large")
        return self._region.read()

    def _document(self) -> Document:
        document = super()._document()
        return replace(document, metadata={**document.metadata, **self._facts})


class Collector:
    """Takes what comes out of a container, entry by entry, into a temporary file within the container's budget."""

    def __init__(self, parent: ByteSource, fact: str) -> None:
        self.budget = parent.budget if isinstance(parent, ChildSource) else Budget()
        self.children: list[Source | Failed] = []
        self._parent = parent
        self._fact = fact
        self._spool = Spool()
        self._names: Counter[str] = Counter()

    def entry(self, name: str, pieces: Iterable[bytes]) -> None:
        """Take one entry. When it cannot be unpacked it is a failed source; the limits fail the container."""
        shown = clean_text(normal(name.replace("\\", "/")))
        fragment = self._fragment(shown)
        self.budget.entry()
        self._spool.begin()
        try:
            for piece in pieces:
                self.budget.unpacked(len(piece))
                self._spool.write(piece)
        except ReadError as error:
            if error.code == "too_large":
                raise
            identity, revision = f"{self._parent.source_id}#{fragment}", self._parent.revision
            self.children.append(Failed(identity, error.code, error.message, revision=revision, reader="none/1"))
            return
        region, content_hash = self._spool.end()
        self.children.append(
            ChildSource(
                self._parent,
                fragment,
                region,
                content_hash,
                name=shown.rsplit("/", 1)[-1] or None,
                facts={self._fact: shown},
                budget=self.budget,
            )
        )

    def _fragment(self, name: str) -> str:
        """An id of ours: what the name ends in, made harmless; a hash of the name and its number among equal ones."""
        number = self._names[name]
        self._names[name] += 1
        shown = _STRANGE.sub("-", name.rsplit("/", 1)[-1])[-_SHOWN:].strip("-.") or "entry"
        return f"{shown}~{hexdigest(name, str(number))[:12]}"


def blocks(stream: Any, size: int = 1 << 16) -> Iterator[bytes]:
    """What ``stream.read(size)`` gives until it gives nothing."""
    while data := stream.read(size):
        yield data
