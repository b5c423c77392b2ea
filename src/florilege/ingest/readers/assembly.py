"""How readers put a document together: parts joined by blank lines, tables as lines of cells, a trail of headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from florilege.interfaces.sources import ReadResult
from florilege.model.document import BBox, Block, IngestWarning, Part, PartKind, Span
from florilege.model.errors import ReadError
from florilege.text.clean import clean_text, clean_value

MAX_CHARS = 50_000_000
_JOIN = "\n\n"
_YEAR = re.compile(r"(?:1[89]|20)\d\d\Z")
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s?\d[\d., ]*\s?%?\)?$|\d{4}-\d\d-\d\d\b")
_BLANKS = re.compile(r"\s+")


def squeeze(text: str) -> str:
    """``text`` on one line: runs of white space become one space."""
    return _BLANKS.sub(" ", text).strip()


class Trail:
    """The stack of headings above the current point."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []

    def enter(self, level: int, title: str) -> tuple[str, ...]:
        """Pass a heading; the new trail, its own title last."""
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, title))
        return self.path

    @property
    def path(self) -> tuple[str, ...]:
        """The titles, outermost first."""
        return tuple(title for _, title in self._headings)


def is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of ``rows`` names the columns.

    It does when there are rows below it and two columns or more, and no cell but the first is blank or a number that
    is no year.
    """
    first = [cell.strip() for cell in rows[0]]
    names = [bool(cell) and not _NUMBER.match(cell) for cell in first]
    years = [bool(_YEAR.match(cell)) for cell in first]
    if len(rows) < 2 or len(first) < 2 or not any(names):
        return False
    return all(name or year for name, year in zip(names[1:], years[1:], strict=True)) and (names[0] or not first[0])


def table_text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> tuple[str, tuple[Span, ...]]:
    """A table as lines of cells between bars, header first, with the span of each row in that text."""
    lines: list[str] = []
    spans: list[Span] = []
    length = 0
    if columns:
        lines.append(" | ".join(columns))
        length = len(lines[0]) + 1
    for row in rows:
        line = " | ".join(row)
        lines.append(line)
        spans.append(Span(length, length + len(line)))
        length += len(line) + 1
    return "\n".join(lines), tuple(spans)


class Assembly:
    """Collects parts in reading order and keeps their spans true.

    Part ids are the kind and a running number within it. Offsets inside ``blocks`` and ``row_spans`` are given
    relative to the part's text. Characters no store can keep are replaced, with one warning.
    """

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.warnings: list[IngestWarning] = []
        self.trail = Trail()
        self._pieces: list[str] = []
        self._length = 0
        self._counts: dict[str, int] = {}

    def add(
        self,
        kind: PartKind,
        text: str,
        *,
        blocks: Sequence[Block] = (),
        row_spans: Sequence[Span] = (),
        **fields: Any,
    ) -> str:
        """Append a part and give its id. An empty text adds nothing to the content."""
        text = clean_text(text)
        if text and self._pieces:
            self._pieces.append(_JOIN)
            self._length += len(_JOIN)
        start = self._length
        self._length += len(text)
        if self._length > MAX_CHARS:
            raise ReadError(f"more than {MAX_CHARS:,} characters of text", code="too_large")
        if text:
            self._pieces.append(text)
        number = self._counts[kind] = self._counts.get(kind, 0) + 1
        part_id = f"{kind}:{number}"
        self.parts.append(
            Part(
                part_id=part_id,
                kind=kind,
                text=text,
                span=Span(start, self._length),
                blocks=tuple(_moved(block, start) for block in blocks),
                row_spans=tuple(span.shifted(start) for span in row_spans),
                **clean_value(fields),
            )
        )
        return part_id

    def heading(self, level: int, title: str, **fields: Any) -> None:
        """Append a heading and put it on the trail."""
        path = self.trail.enter(level, title)
        self.add("text", title, role="heading", level=level, heading_path=path, **fields)

    def prose(self, text: str, role: str = "paragraph", **fields: Any) -> None:
        """Append a paragraph, list item or the like under the current headings, unless it is blank."""
        if text.strip():
            self.add("text", text, role=role, heading_path=self.trail.path, **fields)

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, row_boxes: Sequence[BBox] = (), **fields: Any
    ) -> str:
        """Append a table under the current headings; cells are put on one line. ``row_boxes`` become a block a row."""
        columns = tuple(map(squeeze, columns))
        body = tuple(tuple(map(squeeze, row)) for row in rows)
        text, spans = table_text(columns, body)
        name = fields.pop("table", None) or f"table {self._counts.get('table', 0) + 1}"
        fields.setdefault("heading_path", self.trail.path)
        blocks = [
            Block(text=text[span.start : span.end], bbox=box, kind="row", span=span)
            for span, box in zip(spans, row_boxes, strict=False)
        ]
        return self.add("table", text, blocks=blocks, row_spans=spans, table=name, columns=columns, rows=body, **fields)

    def warn(self, code: str, message: str, part_id: str | None = None) -> None:
        """Note something survived."""
        self.warnings.append(IngestWarning(code=code, message=message, part_id=part_id))

    def result(self, *, title: str | None = None, metadata: dict[str, Any] | None = None) -> ReadResult:
        """The finished document."""
        return ReadResult(
            content="".join(self._pieces),
            parts=tuple(self.parts),
            title=squeeze(clean_text(title)) or None if title else None,
            metadata=clean_value(metadata or {}),
            warnings=tuple(self.warnings),
        )


def _moved(block: Block, offset: int) -> Block:
    span = block.span.shifted(offset) if block.span else None
    return Block(text=clean_text(block.text), bbox=block.bbox, kind=block.kind, span=span)
