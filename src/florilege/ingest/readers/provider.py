"""The shipped readers, declared the way anybody else's are."""

from __future__ import annotations

from florilege.ingest.reading import BUILTIN_READERS, OPTIONAL_READERS, NamedReader
from florilege.interfaces.chunking import CapabilityDescriptor, CapabilityId
from florilege.interfaces.sources import Reader


class Provider:
    """Offers every shipped reader under its id."""

    def descriptors(self) -> tuple[CapabilityDescriptor, ...]:
        """All readers; none is imported."""
        return tuple(
            CapabilityDescriptor(
                id=CapabilityId(reader.id),
                kind="reader",
                media_types=reader.media_types,
                version=reader.version,
                options={"note": note} if (note := _note(reader)) else {},
            )
            for reader in (*BUILTIN_READERS, *OPTIONAL_READERS)
        )

    def create(self, capability_id: CapabilityId) -> Reader:
        """Make a reader; ValueError for an id that was not declared."""
        for reader in (*BUILTIN_READERS, *OPTIONAL_READERS):
            if reader.id == capability_id:
                return reader.load()
        raise ValueError(f"no shipped reader is called {capability_id!r}")


def _note(reader: NamedReader) -> str:
    """What keeps a reader from reading: that it has to be named, that its extra is not there."""
    named = "asked for by name" if reader in OPTIONAL_READERS else ""
    missing = "" if reader.is_installed else f"needs the extra {reader.extra}"
    return ", ".join(filter(None, (named, missing)))
