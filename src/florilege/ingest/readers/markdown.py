"""The Markdown reader: blocks of the line scanner as parts whose spans lie in the file itself."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from florilege.ingest.readers.plain import EMPTY, decoded
from florilege.ingest.values.front_matter import front_matter
from florilege.interfaces.sources import ReadResult
from florilege.model.document import IngestWarning, Part, PartKind, Span
from florilege.text.clean import clean_value
from florilege.text.markdown import MarkdownBlock, scan

_ROLES = {"heading": "heading", "paragraph": "paragraph", "item": "list_item", "quote": "quote", "html": "html"}
_MARKS = re.compile(
    r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s+\"[^\"]*\")?\)|\[[^\[\]]*\])|(\*\*|__|~~|`+|\*)(?=\S)(.+?)(?<=\S)\2"
)


class MarkdownReader:
    """Markdown with GitHub's tables and front matter; ``content`` is the decoded file."""

    id = "markdown"
    version = "1"
    media_types = ("text/markdown",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``. The title is the front matter's, else the first heading of level 1."""
        found = decoded(content)
        warnings = list(found.warnings)
        metadata: dict[str, Any] = {}
        parts: list[Part] = []
        counts: dict[str, int] = {}
        title: str | None = None
        for block in scan(found.text):
            if block.kind == "front_matter":
                metadata, skipped = front_matter(found.text[block.body_start : block.body_end], block.info)
                if skipped:
                    message = f"front matter not understood: {', '.join(skipped[:5])}"
                    warnings.append(IngestWarning(code="front_matter", message=message))
            elif block.kind != "break":
                parts.append(_part(found.text, block, counts))
            if title is None and block.kind == "heading" and block.level == 1:
                title = plain_title(block.title) or None
        if not found.text.strip():
            warnings.append(EMPTY)
        named = metadata.pop("title", None)
        return ReadResult(
            content=found.text,
            parts=tuple(parts),
            title=str(named) if named not in (None, "") else title,
            metadata=clean_value(metadata),
            warnings=tuple(warnings),
        )


@lru_cache(maxsize=1024)
def plain_title(title: str) -> str:
    """A heading's words without the marks of emphasis, code and links (kept in titles beyond 500 characters)."""
    for _ in range(3 if len(title) <= 500 else 0):
        bare = _MARKS.sub(lambda match: match[1] if match[1] is not None else match[3] or "", title)
        if bare == title:
            break
        title = bare
    return title.strip()


def _part(text: str, block: MarkdownBlock, counts: dict[str, int]) -> Part:
    path = tuple(plain_title(heading.title) for heading in block.headings)
    kind: PartKind = "text"
    facts: dict[str, Any] = {}
    if block.kind == "heading":
        path = (*path, plain_title(block.title))
        facts["level"] = block.level
    elif block.kind in ("fence", "code"):
        kind = "code"
        facts["language"] = block.language or None
    elif block.kind == "table" and block.header is not None:
        kind = "table"
        facts["columns"] = block.header.cells
        facts["rows"] = tuple(row.cells for row in block.rows)
        facts["row_spans"] = tuple(Span(row.start, row.end) for row in block.rows)
        facts["table"] = f"table {counts.get('table', 0) + 1}"
    number = counts[kind] = counts.get(kind, 0) + 1
    return Part(
        part_id=f"{kind}:{number}",
        kind=kind,
        text=text[block.start : block.end],
        span=Span(block.start, block.end),
        role=_ROLES.get(block.kind),
        heading_path=path,
        **facts,
    )
