"""The laws, for every token splitter."""

from __future__ import annotations

from typing import Any

from florilege.split.fixed import TokenChunker
from florilege.split.recursive import RecursiveChunker
from florilege.split.sentence import SentenceChunker
from florilege.testing.splitters import SplitterTests


class TestTokenChunker(SplitterTests):
    def make_splitter(self, size: int, overlap: int) -> Any:
        return TokenChunker(chunk_size=size, chunk_overlap=overlap)


class TestSentenceChunker(SplitterTests):
    def make_splitter(self, size: int, overlap: int) -> Any:
        return SentenceChunker(chunk_size=size, chunk_overlap=overlap)


class TestRecursiveChunker(SplitterTests):
    def make_splitter(self, size: int, overlap: int) -> Any:
        return RecursiveChunker(chunk_size=size, chunk_overlap=overlap)
