"""Providers of every temper, offered to the tests as if distributions had installed them."""

from __future__ import annotations

import os
import time
from typing import Any

from florilege.interfaces import CapabilityDescriptor, CapabilityId, ChunkPiece, PageChunks, PageOutput, ReadResult


class ParagraphChunker:
    def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> tuple[PageChunks, ...]:
        # Nothing is how a chunker says "not mine".
        if media_type != "text/plain":
            return ()
        return tuple(
            PageChunks(
                page=output.page,
                pieces=tuple(
                    ChunkPiece(text=paragraph) for paragraph in output.text.split("\n\n") if paragraph.strip()
                ),
            )
            for output in outputs
            if output.text
        )


class Faulty:
    """Does what the text says."""

    def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> Any:
        if b"hang" in content:
            time.sleep(60)
        if b"raise" in content:
            raise KeyError("mine, and broken")
        if b"exit" in content:
            os._exit(3)
        if b"nonsense" in content:
            return ("no claim",)
        if b"wrong type" in content:
            return (PageChunks(page=1, pieces=(ChunkPiece(text=5),)),)  # type: ignore[arg-type]
        if b"outside" in content:
            return (PageChunks(page=9, pieces=(ChunkPiece(text="x"),)),)
        return ()


class Last(ParagraphChunker):
    fallback = True


class Bare:
    """Draws no boundary and reads nothing."""

    def descriptors(self) -> tuple[CapabilityDescriptor, ...]:
        return ()

    def create(self, capability_id: CapabilityId) -> Any:
        raise ValueError(f"this provider declares no capabilities, so not {capability_id}")


class Paragraphs(Bare):
    def chunkers(self) -> tuple[Any, ...]:
        return (ParagraphChunker(),)


class Hostile(Bare):
    def chunkers(self) -> tuple[Any, ...]:
        return (Faulty(), Last())


class Moody(Bare):
    def chunkers(self) -> tuple[Any, ...]:
        raise RuntimeError("not today")

    def observers(self) -> tuple[Any, ...]:
        raise RuntimeError("not today either")


class ShoutingReader:
    id, version, media_types = "sample.shout", "3", ("text/vnd.shout", "text/csv")

    def read(self, content: bytes, media_type: str) -> ReadResult:
        if content == b"crash":
            os._exit(9)
        return ReadResult(content=f"{media_type} {content.decode().upper()}", metadata={"reader_pid": os.getpid()})


class Reading(Bare):
    version = "3"

    def descriptors(self) -> tuple[CapabilityDescriptor, ...]:
        return (
            CapabilityDescriptor(
                id=CapabilityId("sample.shout"),
                kind="reader",
                media_types=ShoutingReader.media_types,
                version=self.version,
                options={"suffixes": [".shout"]},
            ),
        )

    def create(self, capability_id: CapabilityId) -> Any:
        return ShoutingReader()


class Renewed(Reading):
    version = "4"


class Watching(Bare):
    def observers(self) -> tuple[Any, ...]:
        return (Adding(), Failing(), Odd())


class Adding:
    def observe(self, facts: Any) -> dict[str, Any]:
        return {"size": facts.size, "hash": facts.content_hash, "kind": facts.media_type, "by": facts.reader}


class Failing:
    def observe(self, facts: Any) -> dict[str, Any]:
        raise OSError("disk full")


class Odd:
    def observe(self, facts: Any) -> Any:
        return {"callable": print}


class Duplicate(Bare):
    def descriptors(self) -> tuple[CapabilityDescriptor, ...]:
        return (CapabilityDescriptor(id=CapabilityId("pdf"), kind="reader", media_types=("application/pdf",)),)


class Lying(Bare):
    def descriptors(self) -> Any:
        return ("pdf",)


def make_embedder(size: int = 8) -> Any:
    from florilege.testing import CountingEmbedder

    return CountingEmbedder(dimensions=size, name="from-plugin")


def make_store(url: str, **options: Any) -> Any:
    from florilege.stores import SQLiteStore

    return SQLiteStore(url.removeprefix("entry0://"), **options)


def make_model(name: str, **options: Any) -> Any:
    return lambda messages: f"{name} says so"


def make_step(limit: int = 1) -> Any:
    from florilege.retrieval import retrieval_step

    return retrieval_step(id="firsts", kind="firsts", phase=("hits", "hits"))(lambda hits: hits[:limit])
