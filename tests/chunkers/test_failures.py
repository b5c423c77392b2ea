"""Failures published about other chunkers, each with what is right."""

from __future__ import annotations

from itertools import pairwise

import pytest

from florilege import chunkers
from florilege.model.chunk import Chunk
from florilege.model.document import Document
from tests.chunkers.build import document, heading, part, table
from tests.chunkers.fakes import HashEmbedder


def text(content: str, max_chars: int, overlap: int = 0) -> tuple[Chunk, ...]:
    return chunkers.text(max_chars, overlap).chunk_document(Document(source_id="a", content=content)).chunks


def starts(chunks: tuple[Chunk, ...]) -> list[int]:
    return [chunk.provenance.source_spans[0].start for chunk in chunks]


def test_equal_sentences_have_starts_of_their_own() -> None:
    sentence = "The same sentence again. "
    assert starts(text(sentence * 6, 30)) == [25 * n for n in range(6)]


def test_the_start_of_a_repeated_word_is_its_own() -> None:
    assert starts(text("chunk chunk", 5)) == [0, 6]


def test_a_sentence_longer_than_the_cap_is_cut() -> None:
    chunks = text("One two three. Four five six. Seven.", 10)
    assert all(len(chunk.content) <= 10 for chunk in chunks)
    assert " ".join(chunk.content for chunk in chunks) == "One two three. Four five six. Seven."


def test_lines_shorter_than_any_least_size_are_kept() -> None:
    assert [chunk.content for chunk in text("a\nb\nc\n", 3)] == ["a\nb", "c"]


def test_every_window_of_a_table_with_its_separator_line_has_it() -> None:
    header = "| a | b |\n|---|---|"
    rows = [f"| {n} | x |" for n in range(6)]
    content = "\n".join([header, *rows])
    made = document(part("table", content, columns=("a", "b"), rows=tuple((str(n), "x") for n in range(6)), table="t"))
    for chunk in chunkers.structured(45, 0).chunk_document(made).chunks:
        assert chunk.content.startswith(header)


def test_text_without_sentence_ends_is_cut() -> None:
    content = "key:\n  - value one\n  - value two\n" * 200
    assert max(len(chunk.content) for chunk in text(content, 200)) <= 200


def test_tabs_and_no_break_spaces_inside_code_are_kept() -> None:
    code = "```\n\tif\u00a0x:\n\t\treturn\n```"
    made = document(part("text", "Before."), part("code", code))
    (chunk,) = chunkers.structured().chunk_document(made).chunks
    assert chunk.content == f"Before.\n\n{code}"


def test_indentation_of_code_is_kept_at_every_cut() -> None:
    code = "def f():\n" + "".join(f"    line_{n} = {n}\n" for n in range(20))
    chunks = chunkers.structured(60, 0).chunk_document(document(part("code", code.rstrip()))).chunks
    assert "\n".join(chunk.content for chunk in chunks) == code.rstrip()


def test_nothing_but_the_source_is_in_a_chunk() -> None:
    content = "word\\s+word \\n\\n (.*) $1 \\g<0>"
    assert "".join(chunk.content for chunk in text(content, 6)).replace(" ", "") == content.replace(" ", "")


def test_a_heading_like_a_path_is_one_heading() -> None:
    made = document(part("text", "Call us.", heading_path=("Help", "24/7 Support", "A > B")))
    (chunk,) = chunkers.structured().chunk_document(made).chunks
    assert chunk.provenance.headings == ("Help", "24/7 Support", "A > B")


def test_a_deeper_heading_does_not_outlive_a_higher_one() -> None:
    from florilege.ingest.readers.markdown import MarkdownReader

    read = MarkdownReader().read(b"# One\n\n### Three ###\n\ndeep\n\n## Two\n\nbody", "text/markdown")
    made = Document(source_id="a.md", content=read.content, parts=read.parts)
    trails = [chunk.provenance.headings for chunk in chunkers.structured().chunk_document(made).chunks]
    assert trails == [("One", "Three"), ("One", "Two")]


def test_pieces_that_fit_still_overlap() -> None:
    chunks = text("aaa bbb ccc ddd eee fff ggg", 11, 4)
    spans = [chunk.provenance.source_spans[0] for chunk in chunks]
    assert all(0 < before.end - after.start <= 4 for before, after in pairwise(spans))


def test_overlap_never_makes_a_piece_too_long() -> None:
    chunks = text("a  b  c  d  e  f  g", 4, 2)
    assert all(len(chunk.content) <= 4 for chunk in chunks)


def test_a_semantic_chunk_is_bounded() -> None:
    listing = Document(source_id="a", content="\n".join(f"path/to/file_{n}.txt" for n in range(500)))
    chunker = chunkers.semantic(dense=HashEmbedder(lambda text: [1.0, 1.0]), max_chars=400)
    assert max(len(chunk.content) for chunk in chunker.chunk_document(listing).chunks) <= 400


def test_a_full_stop_of_an_ideographic_sentence_stays_with_it() -> None:
    assert [chunk.content for chunk in text("这是第一句。这是第二句。", 8)] == ["这是第一句。", "这是第二句。"]


def test_headings_longer_than_the_budget_lose_no_text() -> None:
    made = document(heading("# " + "H" * 80, 1, "H" * 80), part("text", "The paragraph.", heading_path=("H" * 80,)))
    chunks = chunkers.structured(60, 0).chunk_document(made).chunks
    assert " ".join(chunk.content for chunk in chunks).endswith("The paragraph.")
    assert all(len(chunk.full_text) <= 60 for chunk in chunks)


def test_the_tokens_of_a_tables_headings_count() -> None:
    made = document(table(["k"], [["v" * 10] for _ in range(8)], heading_path=("A long heading here",)))
    assert all(len(chunk.full_text) <= 50 for chunk in chunkers.structured(50, 0).chunk_document(made).chunks)


def test_one_line_of_sixty_thousand_characters_is_many_chunks() -> None:
    chunks = text("x" * 60_000, 1200, 150)
    assert len(chunks) > 50
    assert all(len(chunk.content) <= 1200 for chunk in chunks)


@pytest.mark.parametrize("content", ["👩\u200d🚀", "🚀"])
def test_one_cluster_longer_than_the_cap_ends(content: str) -> None:
    assert "".join(chunk.content for chunk in text(content, 1)) == content


def test_children_name_the_parent_they_lie_in() -> None:
    made = document(*(part("page", f"Page {n}. " * 20, page=n) for n in range(1, 5)))
    chunks, parents = chunkers.parent_child(400, 60, 0).chunk_document(made)
    pages = {parent.parent_id: parent.provenance.pages for parent in parents}
    assert {chunk.parent and pages[chunk.parent.parent_id] == chunk.provenance.pages for chunk in chunks} == {True}
    assert len({chunk.parent and chunk.parent.parent_id for chunk in chunks}) == 4


def test_special_tokens_are_plain_text() -> None:
    assert [chunk.content for chunk in text("a <|endoftext|> b", 100)] == ["a <|endoftext|> b"]
