"""Markdown: what is seen of its structure, and what the pieces say of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege.model.errors import ConfigError
from florilege.split import MarkdownChunker
from florilege.split.markdown.outline import outline
from florilege.testing.strategies import nasty_texts
from florilege.text.markdown import scan

BLOCKS = [
    "# Title one",
    "## Second ##",
    "### Third *level*",
    "Setext one\n===",
    "Two lines\nof a title\n---",
    "A paragraph. With two sentences.",
    "A paragraph\nof three lines\nwith #hash and ```ticks``` in it",
    "```python\n# no heading\n\ndef f():\n    pass\n```",
    "````\n```\n# still code\n```\n````",
    "~~~\n# code\n~~~",
    "    # indented code",
    "- item\n- item two\n\n  # heading in an item\n\n  more",
    "1. one\n\n   ```\n   # code in an item\n   ```\n2. two",
    "> # heading in a quote\n> text",
    "| a | b |\n|---|:-:|\n| 1 |  |\n| x \\| y | 2 |",
    "a | b\n--|--\n1 | 2",
    "<!-- comment\n\n# not a heading\n-->",
    "<div>\n# not a heading\n</div>",
    "<pre>\n\n# not a heading\n</pre>",
    "***",
    "---",
]


@st.composite
def documents(draw: st.DrawFn) -> str:
    blocks = draw(st.lists(st.sampled_from(BLOCKS), max_size=12))
    front = draw(st.sampled_from(["", "---\ntitle: x\n# comment\n---\n\n"]))
    text = front + "\n\n".join(blocks) + draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@given(documents())
def test_the_outline_is_that_of_the_whole_scanner(text: str) -> None:
    found = outline(text)
    blocks = list(scan(text))
    headings = [block for block in blocks if block.kind == "heading"]
    assert [heading[:4] for heading in found.headings] == [(b.start, b.end, b.level, b.title) for b in headings]
    for heading, block in zip(found.headings, headings, strict=True):
        parent = found.headings[heading.parent] if heading.parent >= 0 else None
        above = block.headings[-1] if block.headings else None
        assert (parent and (parent.level, parent.title)) == (above and (above.level, above.title))
    regions = {(region.kind, region.start, region.end) for region in found.regions}
    kinds = ("fence", "table", "front_matter")
    assert {(b.kind, b.start, b.end) for b in blocks if b.kind in kinds} <= regions
    assert [r.rows for r in found.regions if r.kind == "table"] == [b.rows for b in blocks if b.kind == "table"]


GUIDE = """# Guide

Intro text of the guide.

## Install

Run the installer. It asks three questions.

```sh
# not a heading
make install
```

<page_break page=3>

| Name | Age | City |
|------|:---:|---|
| Ann | 3 |  |
| Bob \\| Jr | 4 | Rome |

## Use

Call it. <PAGE_BREAK page="4"/> And again.
"""


def test_pieces_know_their_page_headings_and_context() -> None:
    pieces = MarkdownChunker().chunk(GUIDE, 46, prefix="Manual", page_break_tags=True)
    assert [(piece.page, piece.heading_path) for piece in pieces] == [
        (1, ("Guide",)),
        (3, ("Guide", "Install")),
        (3, ("Guide", "Use")),
        (4, ("Guide", "Use")),
    ]
    assert pieces[0].text.startswith("# Guide\n\nIntro")
    assert pieces[0].context == "<!-- page 1 -->\n\nManual"
    assert pieces[1].context == "<!-- page 3 -->\n\n# Guide\n## Install\n\nManual"
    assert pieces[1].text == "1. Name: Ann; Age: 3; City: \n2. Name: Bob | Jr; Age: 4; City: Rome"
    assert not pieces[1].verbatim
    assert GUIDE[pieces[1].start_index : pieces[1].end_index].startswith("| Name")
    assert pieces[2].text == "## Use\n\nCall it."
    assert pieces[2].context == "<!-- page 3 -->\n\n# Guide\n\nManual"
    assert pieces[3].text == "And again."
    assert not any("page_break" in piece.text.lower() for piece in pieces)
    for piece in pieces:
        assert piece.token_count == MarkdownChunker().tokenizer.count(piece.full_text) <= 46
        if piece.verbatim:
            assert GUIDE[piece.start_index : piece.end_index] == piece.text


def test_without_tags_every_piece_is_on_page_one() -> None:
    assert {piece.page for piece in MarkdownChunker()("# A\n\ntext\n\n# B\n\nmore")} == {1}


def test_tables_become_numbered_rows() -> None:
    chunker = MarkdownChunker()
    table = "Before\n\n| a | | c |\n|:--|:-:|--:|\n| 1 | 2 | \\| |\n| only |\n| 1 | 2 | 3 | 4 |\n\nAfter"
    assert chunker.convert_tables_to_text(table) == (
        "Before\n\n1. a: 1; Column 2: 2; c: |\n2. a: only; Column 2: ; c: \n"
        "3. a: 1; Column 2: 2; c: 3; Column 4: 4\n\nAfter"
    )
    code = "```\n| a |\n|---|\n| 1 |\n```"
    assert chunker.convert_tables_to_text(code) == code
    empty = "| a | b |\n|---|---|"
    assert chunker.convert_tables_to_text(empty) == empty


def test_kept_tables_repeat_their_header_as_context() -> None:
    rows = "\n".join(f"| row {n} | value {n} |" for n in range(40))
    text = f"# T\n\n| key | value |\n|---|---|\n{rows}\n"
    pieces = MarkdownChunker(chunk_size=60, tables="keep")(text)
    assert len(pieces) > 4
    for piece in pieces:
        assert text[piece.start_index : piece.end_index] == piece.text
        assert "| key | value |\n|---|---|" in piece.full_text
        assert all(line.startswith("| ") and line.endswith(" |") for line in piece.text.splitlines()[-1:])
        assert piece.token_count <= 60


def test_a_hash_line_in_a_fence_is_code_and_a_fence_stays_whole() -> None:
    code = "```\n" + "".join(f"# step {n}\nrun {n}\n\n" for n in range(6)) + "```"
    text = f"# Real\n\nSome words before the code block.\n\n{code}\n\nSome words behind it.\n"
    pieces = MarkdownChunker(chunk_size=64)(text)
    assert code in [piece.text for piece in pieces]
    assert {piece.heading_path for piece in pieces} == {("Real",)}


def test_an_atomic_block_may_exceed_the_size_where_that_is_allowed() -> None:
    code = "```\n" + "".join(f"line {n} of code\n" for n in range(9)) + "```"
    text = f"Words.\n\n{code}\n\nLast words."
    sizes = [piece.token_count for piece in MarkdownChunker(chunk_size=48)(text)]
    assert max(sizes) <= 48
    whole = MarkdownChunker(chunk_size=48, atomic_overflow=1.5)(text)
    assert [piece.text for piece in whole] == ["Words.", code, "Last words."]
    assert max(piece.token_count for piece in whole) <= 72
    diagram = "<diagram>\nA -> B\n\nB -> C\n</diagram>"
    assert diagram in [piece.text for piece in MarkdownChunker(chunk_size=16)(f"Words here.\n\n{diagram}\n\nWords.")]


def test_a_heading_stays_with_what_follows() -> None:
    text = "".join(f"## Part {n}\n\n{'Words of the part. ' * 6}\n\n" for n in range(8))
    for piece in MarkdownChunker(chunk_size=40)(text):
        assert not piece.text.splitlines()[-1].startswith("#")


def test_sections_are_packed_whole() -> None:
    text = "".join(f"## S{n}\n\nshort.\n\n" for n in range(12))
    pieces = MarkdownChunker(chunk_size=30)(text)
    assert len(pieces) < 8
    assert all(piece.text.startswith("## ") for piece in pieces)


@given(nasty_texts(), st.integers(1, 60), st.sampled_from(["text", "keep"]), st.sampled_from([None, "P"]))
def test_no_text_makes_a_piece_too_large_or_loses_a_word(text: str, size: int, tables: Any, prefix: str | None) -> None:
    chunker = MarkdownChunker(tokenizer="word", tables=tables)
    if prefix and size == 1:
        with pytest.raises(ConfigError, match="prefix"):
            chunker.chunk(text, size, prefix)
        return
    pieces = chunker.chunk(text, size, prefix)
    covered = 0
    for piece in pieces:
        assert piece.text.strip()
        assert piece.token_count == len(piece.full_text.split()) <= size
        assert piece.verbatim == (text[piece.start_index : piece.end_index] == piece.text) or not piece.verbatim
        assert piece.start_index <= covered or _outside(text[covered : piece.start_index])
        covered = max(covered, piece.end_index)
    assert _outside(text[covered:])


def _outside(text: str) -> bool:
    return not text.lower().replace('<page_break page="2"/>', "").strip()


@pytest.mark.parametrize(
    "options",
    [
        {"chunk_size": 0},
        {"tables": "drop"},
        {"atomic_overflow": 0.5},
        {"atomic_overflow": float("nan")},
        {"tokenizer": 1},
    ],
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        MarkdownChunker(**options)


def test_options_of_a_call_are_checked() -> None:
    chunker = MarkdownChunker()
    for wrong in ({"chunk_size": 0}, {"chunk_size": True}, {"prefix": 3}, {"page_break_tags": "yes"}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            chunker.chunk("text", **wrong)  # type: ignore[arg-type]
