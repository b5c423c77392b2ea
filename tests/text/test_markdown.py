"""The Markdown block scanner: known documents, a real parser as oracle, spans, and time on hostile input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from florilege.testing.timing import assert_linear
from florilege.text.markdown import MarkdownBlock, scan, split_row

_ORACLE_KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "code",
    "table_open": "table",
    "bullet_list_open": "item",
    "ordered_list_open": "item",
    "blockquote_open": "quote",
    "html_block": "html",
    "hr": "break",
}


def oracle(text: str) -> list[tuple[str, int]]:
    """(kind, first line) of each top-level block, list items one by one, as markdown-it-py sees them."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "list_item_open" and token.level == 1:
            found.append(("item", token.map[0]))
        elif token.level == 0 and token.type in _ORACLE_KINDS and not token.type.endswith("list_open"):
            found.append((_ORACLE_KINDS[token.type], token.map[0]))
    return found


def ours(text: str) -> list[tuple[str, int]]:
    return [(block.kind, text.count("\n", 0, block.start)) for block in scan(text)]


def slices(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in scan(text)]


def assert_spans(text: str, blocks: list[MarkdownBlock]) -> None:
    previous = 0
    for block in blocks:
        assert previous <= block.start <= block.body_start <= block.body_end <= block.end
        assert not text[previous : block.start].strip()
        previous = block.end
    assert not text[previous:].strip()


def test_a_document_of_every_kind_is_read_as_its_author_meant_it() -> None:
    text = (
        "---\ntitle: Leave\n---\n# Leave policy #\nFirst\nparagraph.\n\n- one\n  ```\n  # code\n  ```\n- two\n\n"
        "Setext\nheading\n---\n\n| a | b |\n| :-- | --: |\n| 1 | x \\| y |\n| | z |\nafter\n\n> quoted\nlazily\n\n"
        "```python title\n# not a heading\n\n```\n<div>\n*html*\n</div>\n\n    indented\n\n    code\n***\n### Deep\n"
    )
    assert slices(text) == [
        ("front_matter", "---\ntitle: Leave\n---"),
        ("heading", "# Leave policy #"),
        ("paragraph", "First\nparagraph."),
        ("item", "- one\n  ```\n  # code\n  ```"),
        ("item", "- two"),
        ("heading", "Setext\nheading\n---"),
        ("table", "| a | b |\n| :-- | --: |\n| 1 | x \\| y |\n| | z |\nafter"),
        ("quote", "> quoted\nlazily"),
        ("fence", "```python title\n# not a heading\n\n```"),
        ("html", "<div>\n*html*\n</div>"),
        ("code", "    indented\n\n    code"),
        ("break", "***"),
        ("heading", "### Deep"),
    ]
    blocks = list(scan(text))
    assert [(h.level, h.title) for h in blocks[-2].headings] == [(1, "Leave policy"), (2, "Setext heading")]
    table = blocks[6]
    assert table.header is not None
    assert table.header.cells == ("a", "b")
    assert table.align == ("left", "right")
    assert [row.cells for row in table.rows] == [("1", "x | y"), ("", "z"), ("after",)]
    assert [text[row.start : row.end] for row in table.rows] == ["| 1 | x \\| y |", "| | z |", "after"]
    fence = blocks[8]
    assert (fence.info, fence.language) == ("python title", "python")
    assert text[fence.body_start : fence.body_end] == "# not a heading\n\n"
    assert text[blocks[0].body_start : blocks[0].body_end] == "title: Leave\n"


def test_the_heading_stack_is_ordered_by_level() -> None:
    trails = [[h.title for h in b.headings] + [b.title] for b in scan("## a\n# b\n### c\n## d\n### e\n# f")]
    assert trails == [["a"], ["b"], ["b", "c"], ["b", "d"], ["b", "d", "e"], ["f"]]


@pytest.mark.parametrize(
    ("line", "title"),
    [("# a#", "a#"), ("#  a ##  ", "a"), ("# #", ""), ("#", ""), ("# a \\#", "a \\#"), ("######\tx", "x")],
)
def test_atx_titles(line: str, title: str) -> None:
    (block,) = scan(line)
    assert (block.kind, block.title) == ("heading", title)


@pytest.mark.parametrize("line", ["#a", "####### a", "\\# a", "    # a"])
def test_lines_that_only_look_like_headings(line: str) -> None:
    assert all(block.kind != "heading" for block in scan(line))


def test_front_matter_needs_fields_and_an_end() -> None:
    assert [b.kind for b in scan("---\nno fields\n---\n")] == ["break", "heading"]
    assert [b.kind for b in scan("---\ntitle: open\n\ntext")] == ["break", "paragraph", "paragraph"]
    assert [b.info for b in scan("+++\ntitle = 'x'\n+++\n")] == ["toml"]


def test_line_ends_of_every_system_give_the_same_blocks() -> None:
    text = "# a\n\nb\nc\n\n```x\ny\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    kinds = [(b.kind, b.title, len(b.rows)) for b in scan(text)]
    for newline in ("\r\n", "\r"):
        other = text.replace("\n", newline)
        assert [(b.kind, b.title, len(b.rows)) for b in scan(other)] == kinds
        assert_spans(other, list(scan(other)))


def test_rows_split_at_unescaped_pipes() -> None:
    assert split_row("| a \\| b | | c |") == ("a | b", "", "c")
    assert split_row("a|b") == ("a", "b")


_LINES = st.sampled_from(
    [
        "", "", "word", "more words", "# title", "## sub #", "---", "===", "***", "- item", "* star", "+ plus",
        "1. one",
        "2) two", "  indented", "    code", "   three", "> quote", ">> deep", "> - both", "- > other", "```", "````",
        "~~~ info", "```py", "| a | b |", "|---|:-:|", "| 1 | 2 |", "a | b", "-|-", "<div>", "</div>", "<!-- note",
        "-->", "<b>x</b>", "<a href='x'>", "\tcode", "-\tx", "-", ">", "  - nested", "      far", "- ```", "  text",
        "<script>", "</script>", "\\# no", "3. three", "- - -", "1.", "  > q", ">\tq", "-     far", "![x](y) | z",
    ]
)  # fmt: skip


@given(st.lists(_LINES, max_size=14))
def test_agrees_with_a_real_parser(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert ours(text) == oracle(text)


@given(st.lists(_LINES | st.text("ab#-=>`~|: \t\\<!*_1.)[]\r\n\x00\u2028é中", max_size=12), max_size=20))
def test_spans_are_ordered_and_leave_out_only_blanks(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert_spans(text, list(scan(text)))


@pytest.mark.parametrize(
    "unit",
    ["> " * 40 + "\n", "- " * 40 + "x\n\n\n\n", "|a" * 200 + "\n" + "|-" * 200 + "\n", "`" * 50 + "\n", "<a b='", "# ",
     "\n", "  ", "[", "<!--\n", "-->", "a\n", "    a\n", "|", "*", "- ", "\\|", "---\na: b\n", "<x y=z "],
)  # fmt: skip
def test_time_grows_with_the_text_and_no_faster(unit: str) -> None:
    def run(size: int) -> None:
        text = unit * (size // len(unit))
        assert sum(1 for _ in scan(text)) > 0 or not text.strip()

    assert_linear(run, 100_000, 800_000)
