"""A strategy for documents with every kind of part, their text the worst there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from florilege.model.document import BBox, Block, Document, Part, Span
from florilege.testing.strategies import nasty_texts

_titles = st.sampled_from(
    ("Intro", "Usage", "24/7 Support", "A > B", "Notes", "", "A heading of many more words than most")
)


@st.composite
def documents(draw: st.DrawFn, max_parts: int = 12) -> Document:
    """A document whose parts slice back: headings, paragraphs, code, tables, pages with boxes, JSON values, sheets."""
    assembly = _Assembly()
    trail: tuple[str, ...] = ()
    page = 0
    for _ in range(draw(st.integers(0, max_parts))):
        kind = draw(
            st.sampled_from(("heading", "text", "text", "text", "code", "table", "page", "json", "sheet", "image"))
        )
        if kind == "heading":
            level = draw(st.integers(1, 3))
            title = draw(_titles)
            trail = (*trail[: level - 1], title)
            assembly.add("text", "#" * level + " " + title, role="heading", level=level, heading_path=trail)
        elif kind == "table":
            assembly.table(draw(_tables()), trail)
        elif kind == "page":
            page += 1
            assembly.page(draw(st.lists(nasty_texts(4), max_size=5)), page)
        elif kind == "json":
            path = f"$.items[{len(assembly.parts)}].value"
            assembly.add("json", draw(nasty_texts(6)), json_path=path, json_type="object")
        elif kind == "sheet":
            assembly.add("sheet", draw(nasty_texts(6)), sheet="Sheet 1")
        else:
            assembly.add(kind, draw(nasty_texts(10)), heading_path=trail)
    return Document(
        source_id="nasty.md",
        content="".join(assembly.pieces),
        parts=tuple(assembly.parts),
        title=draw(st.sampled_from((None, "Intro", "A title"))),
        metadata={"team": "docs", "tags": ["a", "b"]},
    )


def _tables() -> st.SearchStrategy[tuple[list[str], list[list[str]]]]:
    cell = st.sampled_from(
        ("", "1", "cell", "two words", "ümlaut", "a cell that holds a good deal more text than others")
    )
    return st.integers(1, 4).flatmap(
        lambda width: st.tuples(
            st.lists(st.sampled_from(("name", "n", "a long column name", "数")), min_size=width, max_size=width),
            st.lists(st.lists(cell, min_size=width, max_size=width), max_size=12),
        )
    )


class _Assembly:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.parts: list[Part] = []
        self.length = 0

    def add(self, kind: Any, text: str, **fields: Any) -> None:
        gap = "\n\n" if self.pieces else ""
        start = self.length + len(gap)
        self.pieces += [gap, text]
        self.length = start + len(text)
        moved = {name: _shifted(value, start) for name, value in fields.items()}
        self.parts.append(
            Part(part_id=f"p{len(self.parts)}", kind=kind, text=text, span=Span(start, self.length), **moved)
        )

    def table(self, drawn: tuple[list[str], list[list[str]]], trail: tuple[str, ...]) -> None:
        columns, rows = drawn
        lines = [" | ".join(columns)]
        spans = []
        for row in rows:
            at = sum(len(line) + 1 for line in lines)
            lines.append(" | ".join(row))
            spans.append(Span(at, at + len(lines[-1])))
        self.add(
            "table",
            "\n".join(lines),
            heading_path=trail,
            table=f"table {len(self.parts)}",
            columns=tuple(columns),
            rows=tuple(map(tuple, rows)),
            row_spans=tuple(spans),
        )

    def page(self, texts: Sequence[str], number: int) -> None:
        lines = [" ".join(text.split()) for text in texts if text.strip()]
        blocks = []
        at = 0
        for index, line in enumerate(lines):
            box: BBox = (0.1, index / 10, 0.9, index / 10 + 0.08)
            blocks.append(Block(text=line, bbox=box, span=Span(at, at + len(line))))
            at += len(line) + 1
        self.add("page", "\n".join(lines), page=number, blocks=tuple(blocks))


def _shifted(value: Any, by: int) -> Any:
    if isinstance(value, tuple) and value and isinstance(value[0], Span):
        return tuple(span.shifted(by) for span in value)
    if isinstance(value, tuple) and value and isinstance(value[0], Block):
        return tuple(
            Block(text=block.text, bbox=block.bbox, span=block.span and block.span.shifted(by)) for block in value
        )
    return value
