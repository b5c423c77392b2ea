"""Every shipped chunker keeps the laws."""

from __future__ import annotations

from typing import Any

from florilege import chunkers
from florilege.interfaces.chunking import DocumentChunker
from florilege.split import RecursiveChunker
from florilege.split.characters import TextSplitter
from florilege.testing.chunkers import ChunkerTests
from tests.chunkers.fakes import HashEmbedder


class TestText(ChunkerTests):
    def make(self, max_chars: int) -> DocumentChunker:
        return chunkers.text(max_chars, max_chars // 8)


class TestTextWithHeavyOverlap(ChunkerTests):
    def make(self, max_chars: int) -> DocumentChunker:
        return chunkers.text(max_chars, max_chars - 1)


class TestStructured(ChunkerTests):
    def make(self, max_chars: int) -> DocumentChunker:
        return chunkers.structured(max_chars, max_chars // 8, 3)


class TestStructuredMergingPages(ChunkerTests):
    def make(self, max_chars: int) -> DocumentChunker:
        return chunkers.structured(max_chars, 0, merge_pages=True)


class TestParentChild(ChunkerTests):
    def make(self, max_chars: int) -> DocumentChunker:
        return chunkers.parent_child(max_chars * 4, max_chars, max_chars // 8)


class TestLiftedWithParents(ChunkerTests):
    def make(self, max_chars: int) -> DocumentChunker:
        inner = RecursiveChunker("character", max_chars, min_characters_per_chunk=1)
        return chunkers.from_splitter(inner, parents=RecursiveChunker("character", 4 * max_chars))


class TestSemantic(ChunkerTests):
    def make(self, max_chars: int) -> DocumentChunker:
        return chunkers.semantic(dense=HashEmbedder(), min_chars=max_chars // 4, max_chars=max_chars)


class TestSemanticPercentile(ChunkerTests):
    def make(self, max_chars: int) -> DocumentChunker:
        return chunkers.semantic(dense=HashEmbedder(), min_chars=0, max_chars=max_chars, threshold="percentile")


class TestSemanticCustom(ChunkerTests):
    def make(self, max_chars: int) -> DocumentChunker:
        return chunkers.semantic("custom", segment=_every_third, min_chars=0, max_chars=max_chars)


class TestPages(ChunkerTests):
    capped = False

    def make(self, max_chars: int) -> DocumentChunker:
        return chunkers.pages(max_chars=max_chars)


class TestLiftedSplitter(ChunkerTests):
    def make(self, max_chars: int) -> DocumentChunker:
        return chunkers.from_splitter(TextSplitter(max_chars, max_chars // 8))


class TestLiftedSplitterBySection(ChunkerTests):
    def make(self, max_chars: int) -> DocumentChunker:
        return chunkers.from_splitter(TextSplitter(max_chars, 0), by_section=True)


def _every_third(given: Any) -> list[dict[str, Any]]:
    return [{"start": segment.start, "end": segment.end} for segment in given.segments[::3]]
