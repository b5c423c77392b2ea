"""Chunkers out of splitters and functions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from florilege import chunkers
from florilege.model.chunk import Chunk, Chunking
from florilege.model.document import Document, Span
from florilege.model.errors import ChunkingError, ConfigError
from florilege.split import MarkdownChunker, RecursiveChunker, SentenceChunker, TextSplitter, TokenChunker
from tests.chunkers.build import document, heading, part

MADE = document(
    heading("# A", 1, "A"),
    part("page", "Words of the first page. More of them.", heading_path=("A",), page=1),
    part("page", "Words of the second page.", page=2),
    metadata={"k": 1},
)


@pytest.mark.parametrize("splitter", [SentenceChunker, RecursiveChunker, TokenChunker])
@pytest.mark.parametrize("by_section", [False, True])
def test_token_splitters_are_lifted_with_their_places(splitter: Any, by_section: bool) -> None:
    chunks = chunkers.from_splitter(splitter(chunk_size=8), by_section=by_section).chunk_document(MADE).chunks
    assert len(chunks) > 2
    for chunk in chunks:
        (span,) = chunk.provenance.source_spans
        assert chunk.content == MADE.content[span.start : span.end]
        assert chunk.metadata == {"k": 1}
        assert len(chunk.provenance.pages) <= 1 or not by_section
    assert chunks[0].provenance.headings == ("A",)
    assert chunks[-1].provenance.pages == (2,)


def test_pieces_that_are_no_slices_are_derived_and_their_context_is_kept() -> None:
    pieces = [
        SimpleNamespace(text="told", start_index=0, end_index=3, context="where"),
        SimpleNamespace(text=" ", start_index=3, end_index=4),
    ]
    splitter = SimpleNamespace(split=lambda text: pieces)
    (chunk,) = chunkers.from_splitter(splitter, name="mine").chunk_document(MADE).chunks
    assert (chunk.content, chunk.context, chunk.provenance.confidence) == ("told", "where", "derived")
    pieces[0].end_index = 10**6
    with pytest.raises(ChunkingError, match=r"'mine': piece 0 of 'doc\.md' lies outside"):
        chunkers.from_splitter(splitter, name="mine").chunk_document(MADE)


def test_a_splitter_is_known_by_its_options() -> None:
    prints = [
        chunkers.from_splitter(splitter, by_section=flag).fingerprint()
        for splitter in (
            TextSplitter(10, 0),
            TextSplitter(11, 0),
            SentenceChunker(chunk_size=8),
            SentenceChunker(chunk_size=9),
        )
        for flag in (False, True)
    ]
    assert len(set(prints)) == len(prints)
    assert chunkers.from_splitter(TextSplitter(10, 0)).fingerprint() == prints[0]
    with pytest.raises(ConfigError, match="a int has no split"):
        chunkers.from_splitter(3)  # type: ignore[arg-type]


def test_a_function_may_return_texts_spans_or_chunks() -> None:
    made = Document(source_id="a", content="one two two", metadata={"k": 1})
    texts = chunkers.from_function(lambda given: given.content.split(), name="words").chunk_document(made).chunks
    assert [chunk.provenance.source_spans for chunk in texts] == [(Span(0, 3),), (Span(4, 7),), (Span(8, 11),)]
    assert texts[2].metadata == {"k": 1}
    (span,) = chunkers.from_function(lambda given: [(4, 11)], name="spans").chunk_document(made).chunks
    assert (span.content, span.provenance.confidence) == ("two two", "exact")
    (elsewhere,) = chunkers.from_function(lambda given: ["summary"], name="s").chunk_document(made).chunks
    assert elsewhere.provenance.confidence == "derived"
    own = Chunk(source_id="a", content="mine", chunk_id="slug")
    for answer in ([own], Chunking((own,))):
        assert chunkers.from_function(lambda given, it=answer: it, name="own").chunk_document(made).chunks == (own,)


@pytest.mark.parametrize("answer", [[7], [(3, 3)], [(0, 99)], [None]])
def test_anything_else_is_refused(answer: Any) -> None:
    with pytest.raises(ChunkingError, match="item 0 for 'a' is no chunk, text or span"):
        chunkers.from_function(lambda given: answer, name="f").chunk_document(Document(source_id="a", content="abc"))


def test_a_function_is_known_by_name_version_and_options() -> None:
    def cut(given: Document) -> list[str]:
        return [given.content]

    prints = {
        chunkers.from_function(cut, name=name, version=version, options=options).fingerprint()
        for name, version, options in [("a", "1", {}), ("b", "1", {}), ("a", "2", {}), ("a", "1", {"size": 3})]
    }
    assert len(prints) == 4
    with pytest.raises(ConfigError, match=r"options.size: a object"):
        chunkers.from_function(cut, name="a", options={"size": object()})


def test_parents_from_one_splitter_are_cut_by_another() -> None:
    text = "# A\n\n" + "Some words of the first part. " * 9 + "\n\n| a | b |\n| - | - |\n" + "| one | two |\n" * 5
    made = document(part("text", text, heading_path=("A",)), metadata={"k": 1})
    for tables in ("keep", "text"):
        outer = MarkdownChunker(chunk_size=40, tables=tables)
        chunker = chunkers.from_splitter(SentenceChunker(chunk_size=12), parents=outer)
        chunking = chunker.chunk_document(made)
        assert [parent.content for parent in chunking.parents] == [piece.text for piece in outer.split(text)]
        assert [chunk.ordinal for chunk in chunking.chunks] == list(range(len(chunking.chunks)))
        parents = {parent.parent_id: parent for parent in chunking.parents}
        for chunk in chunking.chunks:
            assert chunk.parent is not None
            assert chunk.content in parents[chunk.parent.parent_id].content
            (span,) = chunk.provenance.source_spans
            assert (chunk.provenance.confidence == "exact") == (made.content[span.start : span.end] == chunk.content)
            assert chunk.metadata == {"k": 1}
        assert chunker.fingerprint() != chunkers.from_splitter(SentenceChunker(chunk_size=12)).fingerprint()
    with pytest.raises(ConfigError, match="parents: a int has no split"):
        chunkers.from_splitter(SentenceChunker(), parents=3)  # type: ignore[arg-type]
