"""Documents made by hand: parts joined by blank lines, spans true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from florilege.model.document import Document, Part, Span


def part(kind: Any, text: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "text": text, **fields}


def heading(text: str, level: int, *path: str) -> dict[str, Any]:
    return part("text", text, role="heading", level=level, heading_path=path)


def table(columns: Iterable[str], rows: Iterable[Iterable[str]], **fields: Any) -> dict[str, Any]:
    head = " | ".join(columns)
    body = [" | ".join(row) for row in rows]
    spans = []
    at = len(head) + 1 if head else 0
    for line in body:
        spans.append(Span(at, at + len(line)))
        at += len(line) + 1
    lines = [head, *body] if head else body
    fields.setdefault("table", "table 1")
    given = {"columns": tuple(columns), "rows": tuple(map(tuple, rows)), "row_spans": tuple(spans), **fields}
    return part("table", "\n".join(lines), **given)


def document(*parts: dict[str, Any], join: str = "\n\n", **fields: Any) -> Document:
    content = ""
    made = []
    for number, given in enumerate(parts):
        content += join if content else ""
        start = len(content)
        content += given["text"]
        given = dict(given)
        if "row_spans" in given:
            given["row_spans"] = tuple(span.shifted(start) for span in given["row_spans"])
        made.append(Part(part_id=f"p{number}", span=Span(start, len(content)), **given))
    fields.setdefault("source_id", "doc.md")
    return Document(content=content, parts=tuple(made), **fields)
