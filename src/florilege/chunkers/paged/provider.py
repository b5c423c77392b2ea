"""The shipped page chunkers, declared the way anybody else's are."""

from __future__ import annotations

from typing import Any

from florilege.chunkers.paged.asking import PageFloor
from florilege.chunkers.paged.lines import PdfLineChunker
from florilege.interfaces.chunking import CapabilityDescriptor, CapabilityId, Chunker


class Provider:
    """Offers the chunkers that :func:`florilege.chunkers.pages` asks last."""

    def descriptors(self) -> tuple[CapabilityDescriptor, ...]:
        """Nothing: page chunkers name no capability."""
        return ()

    def create(self, capability_id: CapabilityId) -> Any:
        """Nothing can be made."""
        raise ValueError(f"no capability is called {capability_id!r}")

    def chunkers(self) -> tuple[Chunker, ...]:
        """The PDF line chunker and the floor."""
        return PdfLineChunker(), PageFloor()
