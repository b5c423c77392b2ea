"""A reader, a page chunker and an observer, offered to Florilege through the entry point in pyproject.toml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from florilege.interfaces import (
    CapabilityDescriptor,
    CapabilityId,
    Chunker,
    ChunkPiece,
    PageChunks,
    PageOutput,
    ReadResult,
    SourceFacts,
    SourceObserver,
)
from florilege.model.document import Part, Span

VERSE = "text/vnd.example.verse"


class VerseReader:
    """Reads poems: the first line is the title, stanzas are separated by blank lines."""

    id = "example.verse"
    version = "1"
    media_types = (VERSE,)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """One part a stanza, in a content that is the poem without its title."""
        title, _, body = content.decode("utf-8", "replace").partition("\n")
        stanzas = [stanza.strip("\n") for stanza in body.split("\n\n") if stanza.strip()]
        parts = []
        start = 0
        for number, stanza in enumerate(stanzas, 1):
            span = Span(start, start + len(stanza))
            parts.append(Part(part_id=f"text:{number}", kind="text", text=stanza, span=span, role="stanza"))
            start = span.end + 2
        return ReadResult(content="\n\n".join(stanzas), parts=tuple(parts), title=title.strip() or None)


class ParagraphChunker:
    """Cuts plain text at its blank lines."""

    def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> tuple[PageChunks, ...]:
        """Nothing for any other type: those pages go to the next in line."""
        if media_type != "text/plain":
            return ()
        return tuple(
            PageChunks(
                page=output.page,
                pieces=tuple(
                    ChunkPiece(text=paragraph.strip()) for paragraph in output.text.split("\n\n") if paragraph.strip()
                ),
            )
            for output in outputs
            if output.text
        )


class SizeObserver:
    """Notes how large a source is."""

    def observe(self, facts: SourceFacts) -> Mapping[str, Any] | None:
        """The size in bytes, for filters: ``file_bytes < 1000``."""
        return {"file_bytes": facts.size}


class Provider:
    """What the entry point names; made without arguments."""

    def descriptors(self) -> tuple[CapabilityDescriptor, ...]:
        """The reader. Chunkers and observers name no capability."""
        return (
            CapabilityDescriptor(
                id=CapabilityId(VerseReader.id),
                kind="reader",
                media_types=VerseReader.media_types,
                version=VerseReader.version,
                options={"suffixes": [".verse"]},
            ),
        )

    def create(self, capability_id: CapabilityId) -> Any:
        """Make the reader."""
        if capability_id == VerseReader.id:
            return VerseReader()
        raise ValueError(f"this provider declares no capability {capability_id!r}")

    def chunkers(self) -> tuple[Chunker, ...]:
        """The page chunkers."""
        return (ParagraphChunker(),)

    def observers(self) -> tuple[SourceObserver, ...]:
        """The observers."""
        return (SizeObserver(),)
