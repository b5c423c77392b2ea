"""Hits and sources for tests of recipes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from florilege import Hit, Retriever, Span
from florilege.model.hit import HitProvenance
from florilege.retrieval import FunctionRetriever


def make_hit(name: str, content: str | None = None, score: float = 1.0, **changes: Any) -> Hit:
    """A hit ``source#chunk``, or one whose chunk is named like its source; its content is a slice of the source."""
    source_id, _, chunk_id = name.partition("#")
    content = f"text of {name}" if content is None else content
    provenance = changes.pop("provenance", HitProvenance(source_spans=(Span(100, 100 + len(content)),)))
    return Hit(
        **{
            "namespace": "default",
            "source_id": source_id,
            "chunk_id": chunk_id or source_id,
            "content": content,
            "score": score,
            "provenance": provenance,
            **changes,
        }
    )


def make_source(id: str, hits: Sequence[Hit]) -> FunctionRetriever:
    """A retriever that always finds ``hits``, whatever is asked."""
    return Retriever.from_function(id=id, fn=lambda query: list(hits), limit=100)


def names(hits: Sequence[Hit]) -> list[str]:
    """The chunk ids, in order."""
    return [hit.chunk_id for hit in hits]
