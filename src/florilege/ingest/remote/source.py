"""A source that lies elsewhere: whatever would read it can only be told once its bytes are here."""

from __future__ import annotations

from functools import cached_property

from florilege.ingest.containers import Inside, may_hold
from florilege.ingest.sniff import by_name
from florilege.ingest.source import ByteSource
from florilege.model.errors import LoadError


class RemoteSource(ByteSource):
    """Looked into only when its name is that of a container; read again when any reader changes."""

    transport: str

    @property
    def reader(self) -> str:
        """The way it comes here, and all readers there are."""
        return f"{self.transport}/1+{self.reading.digest}"

    @property
    def is_container(self) -> bool:
        """Whether its name is that of a container."""
        named = self.reading.media_type or by_name(self.name)
        return named is not None and may_hold(named, self.known_size)

    @property
    def known_size(self) -> int | None:
        """Its size in bytes where that is known without fetching it."""
        return None

    @cached_property
    def inside(self) -> Inside | None:
        """How to look inside. Raises :class:`LoadError`."""
        return super().inside if self.is_container else None

    def _is_readable(self) -> None:
        if self.known_size is not None and self.known_size > self.reading.max_bytes and not self.is_container:
            limit = self.reading.max_bytes
            raise LoadError(f"{self.known_size:,} bytes exceed the limit of {limit:,} (max_bytes=)", code="too_large")
