"""Objects as sources: one object, everything below a prefix, or what a pattern matches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from florilege.ingest.containers.limits import MAX_STREAMED
from florilege.ingest.containers.region import Region, Spool
from florilege.ingest.files import Walk
from florilege.ingest.ignore import DEFAULT_PATTERNS, IgnoreRules, glob_regex, is_taken
from florilege.ingest.paths import normal
from florilege.ingest.reading import Reading, failed
from florilege.ingest.remote.buckets import Bucket, Entry
from florilege.ingest.remote.source import RemoteSource
from florilege.model.document import Failed
from florilege.model.errors import LoadError

_PATTERN = re.compile(r"[*?\[]")


class ObjectSource(RemoteSource):
    """An object. Its revision comes from the listing; its bytes come through a temporary file."""

    transport = "object"

    def __init__(self, bucket: Bucket, base: str, entry: Entry, reading: Reading) -> None:
        super().__init__(base + normal(entry.key), reading, name=entry.key)
        self.uri = self.source_id
        self.revision: str | None = entry.revision
        self._bucket = bucket
        self._key = entry.key
        self._size = entry.size
        self._came: tuple[str | None, Region] | None = None

    @property
    def known_size(self) -> int | None:
        """Its size as listed."""
        return self._size

    @property
    def read_revision(self) -> str | None:
        """The revision of the bytes that came."""
        return self._came[0] if self._came else self.revision

    def region(self) -> Region:
        """Its bytes, fetched once."""
        if self._came is None:
            limit = MAX_STREAMED if self.is_container else self.reading.max_bytes
            revision, pieces = self._bucket.stream(self._key)
            self._came = revision, _spooled(pieces, limit)
        return self._came[1]

    def fetch(self) -> bytes:
        """All its bytes."""
        region = self.region()
        if region.size > self.reading.max_bytes:
            raise _too_large(self.reading.max_bytes)
        return region.read()


@dataclass(slots=True)
class ObjectListing:
    """What lies in ``bucket`` at and below ``key``, or matches it when it is a pattern (``**`` crosses slashes)."""

    bucket: Bucket
    base: str
    key: str
    reading: Reading
    walk: Walk
    error: Failed | None = None
    _rules: IgnoreRules = field(init=False)
    _include: IgnoreRules = field(init=False)
    _pattern: re.Pattern[str] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._rules = IgnoreRules([*DEFAULT_PATTERNS, *self.walk.ignore])
        self._include = IgnoreRules(self.walk.include)
        if _PATTERN.search(self.key):
            self._pattern = glob_regex(self.key)

    def sources(self) -> Iterator[ObjectSource | Failed]:
        """The objects in the order the storage lists them, unread."""
        self.error = None
        count = 0
        try:
            for entry in self.bucket.entries(self._prefix()):
                if self._is_wanted(entry.key):
                    count += 1
                    yield ObjectSource(self.bucket, self.base, entry, self.reading)
            if not count and self._pattern is None and self.key and not self.key.endswith("/"):
                raise LoadError("there is no such object", code="not_found", retryable=True)
        except LoadError as error:
            self.error = failed(self.base + self.key, error)
            yield self.error

    def complete_for(self, source_id: str) -> bool:
        """Whether this listing would have shown ``source_id`` if it still existed."""
        if self.error is not None or not source_id.startswith(self.base):
            return False
        key = source_id[len(self.base) :]
        return any(self._is_wanted(name) for name in (key, key.split("#", 1)[0]))

    def _prefix(self) -> str:
        if self._pattern is None:
            return self.key.rstrip("/")
        fixed = self.key[: _PATTERN.search(self.key).start()]  # type: ignore[union-attr]  # it is a pattern
        return fixed.rpartition("/")[0]

    def _is_wanted(self, key: str) -> bool:
        top = self._prefix()
        if top and key != top and not key.startswith(f"{top}/"):
            return False
        if self._pattern is not None and not self._pattern.match(key):
            return False
        if key == top:
            return True
        relative = key[len(top) :].lstrip("/")
        if key.endswith("/") or not is_taken(relative, self._rules, hidden=self.walk.hidden):
            return False
        return not self._include or self._include.decide(relative, is_folder=False) is True


def _spooled(pieces: Iterator[bytes], limit: int) -> Region:
    spool = Spool()
    spool.begin()
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        spool.write(piece)
    return spool.end()[0]


def _too_large(limit: int) -> LoadError:
    return LoadError(f"it is larger than the limit of {limit:,} bytes (max_bytes=)", code="too_large")
