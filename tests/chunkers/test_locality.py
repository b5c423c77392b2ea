"""An edit renames what is near it, and nothing across a heading."""

from __future__ import annotations

import random
from collections.abc import Callable
from statistics import median

import pytest

from florilege import chunkers
from florilege.interfaces.chunking import DocumentChunker
from florilege.model.chunk import Chunk
from florilege.model.document import Document
from florilege.model.hashing import mint_ids
from tests.chunkers.build import document, heading, part

_WORDS = ("value", "store", "query", "chunk", "vector", "index", "source", "page", "table", "row", "column", "reader")
_SECTIONS, _EACH, _EDITS = 12, 12, 200


def _paragraph(rng: random.Random) -> str:
    sentences = []
    for _ in range(rng.randint(1, 6)):
        words = rng.choices(_WORDS, k=rng.randint(5, 18))
        sentences.append(" ".join(words).capitalize() + ".")
    return " ".join(sentences)


def _document(paragraphs: list[list[str]]) -> Document:
    parts = [heading("# Title", 1, "Title")]
    for number, section in enumerate(paragraphs):
        path = ("Title", f"Section {number}")
        parts.append(heading(f"## Section {number}", 2, *path))
        parts += [part("text", body, heading_path=path) for body in section]
    return document(*parts, title="Title")


def _ids(chunks: tuple[Chunk, ...]) -> list[str]:
    return mint_ids("doc.md", [(chunk.content, chunk.context) for chunk in chunks])


def _section(chunk: Chunk, marks: list[int]) -> int:
    start = chunk.provenance.source_spans[0].start
    return max(1, sum(mark <= start for mark in marks))  # the title goes with the first section


@pytest.mark.parametrize(
    "make",
    [chunkers.structured, chunkers.text, chunkers.parent_child],
    ids=["structured", "text", "parent_child"],
)
def test_one_paragraph_edited_renames_few_chunks_and_none_in_other_sections(
    make: Callable[[], DocumentChunker],
) -> None:
    rng = random.Random(7)
    chunker = make()
    paragraphs = [[_paragraph(rng) for _ in range(_EACH)] for _ in range(_SECTIONS)]
    before = _document(paragraphs)
    known = set(_ids(chunker.chunk_document(before).chunks))
    minted = []
    for _ in range(_EDITS):
        section, place = rng.randrange(_SECTIONS), rng.randrange(_EACH)
        kept = paragraphs[section][place]
        paragraphs[section][place] = _paragraph(rng)
        after = _document(paragraphs)
        paragraphs[section][place] = kept
        marks = [item.span.start for item in after.parts if item.role == "heading" and item.level == 2]
        chunks = chunker.chunk_document(after).chunks
        new = [chunk for chunk, name in zip(chunks, _ids(chunks), strict=True) if name not in known]
        assert {_section(chunk, marks) for chunk in new} <= {section + 1}
        minted.append(len(new))
    assert median(minted) <= 2
    assert sorted(minted)[int(_EDITS * 0.95)] <= 5
