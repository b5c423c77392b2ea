"""Documents, their parts, and what a load can yield.

Offsets are Python code-point indices into ``Document.content``, half open. For every part
``document.content[part.span.start:part.span.end] == part.text``; parts are joined by a blank line that belongs to
no part, except where the content is the decoded file itself (Markdown, text, code), whose own gaps are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from florilege.model.errors import LoadError

PartKind = Literal["text", "page", "table", "sheet", "json", "code", "image"]
Confidence = Literal["exact", "derived"]
BBox = tuple[float, float, float, float]
"""``(x0, y0, x1, y1)`` in [0, 1], origin top left, of the page as shown (after crop and rotation)."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of code points in a document's content, optionally naming the part it lies in."""

    start: int
    end: int
    part_id: str | None = None

    def shifted(self, offset: int) -> Span:
        """The same range ``offset`` code points later."""
        return Span(self.start + offset, self.end + offset, self.part_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A run of text on a page: a line, a paragraph, a table cell.

    ``span`` lies in the document's content when the reader knows it.
    """

    text: str
    bbox: BBox | None = None
    kind: str = "line"
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One structural piece of a document.

    Which optional fields are set depends on ``kind``: text (``role``, ``level``, ``heading_path``), page (``page``,
    ``blocks``), table (``table``, ``columns``, ``rows``, ``row_spans``, ``caption``, ``sheet``, ``cell_range``),
    sheet (``sheet``), json (``json_path``, ``json_type``), code (``language``), image (``reference``, ``caption``).
    ``heading_path`` holds the titles of the headings above this part, outermost first; a heading part's own title is
    its last element. ``row_spans`` are spans in the document's content, one a row of ``rows``; the header is not a row.
    ``cell_range`` is the range of ``rows`` with their header, as in ``A1:C10``.
    """

    part_id: str
    kind: PartKind
    text: str
    span: Span
    role: str | None = None
    level: int | None = None
    heading_path: tuple[str, ...] = ()
    page: int | None = None
    blocks: tuple[Block, ...] = ()
    table: str | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    row_spans: tuple[Span, ...] = ()
    caption: str | None = None
    sheet: str | None = None
    cell_range: str | None = None
    json_path: str | None = None
    json_type: str | None = None
    language: str | None = None
    reference: str | None = None
    confidence: Confidence = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestWarning:
    """Something a reader noticed and survived: ``code`` is stable, ``message`` is for people."""

    code: str
    message: str
    part_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A source as text with structure.

    ``namespace`` None means: that of the corpus it is given to ("default" on its own). ``metadata`` holds JSON values
    and dates. ``revision`` is the loader's cheap mark of the bytes (size and times, etag); equal marks may be skipped
    unread. ``opener`` fetches the source's bytes again, for chunkers that know the format.
    """

    source_id: str
    content: str
    namespace: str | None = None
    parts: tuple[Part, ...] = ()
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[IngestWarning, ...] = ()
    media_type: str | None = None
    uri: str | None = None
    revision: str | None = None
    reader: str | None = None
    opener: Callable[[], bytes] | None = field(default=None, repr=False, compare=False)

    def read_bytes(self) -> bytes:
        """The source's bytes, fetched again. Raises :class:`LoadError` when the document has no bytes behind it."""
        if self.opener is None:
            raise LoadError(
                f"document {self.source_id!r} has no bytes behind it",
                code="no_bytes",
                source_id=self.source_id,
            )
        return self.opener()


@dataclass(frozen=True, slots=True)
class Loaded:
    """A load that gave a document."""

    document: Document

    @property
    def source_id(self) -> str:
        """The document's source id."""
        return self.document.source_id


@dataclass(frozen=True, slots=True)
class Failed:
    """A load that failed: ``code`` is stable, ``retryable`` says whether the same bytes may work next time."""

    source_id: str
    code: str
    message: str
    retryable: bool = False
    revision: str | None = None
    reader: str | None = None
