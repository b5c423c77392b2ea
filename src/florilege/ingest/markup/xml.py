"""The XML reader: headings, paragraphs, lists and tables by the names that document vocabularies share.

An element is a paragraph when it has text of its own or nothing inside, and so is a small one without headings,
paragraphs or tables in it: a record, a line for each of its fields. Elements around such are structure. Names are
looked at without namespace, so that JATS, DocBook, TEI, feeds and plain data all give sensible parts.
"""

from __future__ import annotations

from typing import Any

from florilege.ingest.office.package import parse_xml
from florilege.ingest.readers.assembly import Assembly, is_header, squeeze
from florilege.interfaces.sources import ReadResult

_HEADINGS = frozenset(["title", "head", "h1", "h2", "h3", "h4", "h5", "h6"])
_ITEMS = frozenset(["list-item", "listitem", "item", "li"])
_ASIDE = frozenset(["style", "script", "processing-meta"])
_CODE = frozenset(["programlisting", "code", "screen", "preformat", "pre"])
_MAX_RECORD = 600
_FLOW = frozenset(["p", "para", "td", "th", "caption", "abstract"])


_STRUCTURE = _HEADINGS | _ITEMS | _CODE | _FLOW | frozenset(["table", "title-group", "sec", "section", "div", "body"])


class XmlReader:
    """XML of any vocabulary. Title: the first heading-like element."""

    id = "xml"
    version = "1"
    media_types = ("application/xml", "image/svg+xml")

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``; raises :class:`ReadError` ``damaged`` or ``too_deep`` (beyond 256 levels)."""
        walk = _Walk()
        walk.element(parse_xml(content, "the file"), 1)
        if not walk.assembly.parts:
            walk.assembly.warn("empty", "no element has text")
        return walk.assembly.result(title=walk.title)


class _Walk:
    """The state of one reading."""

    def __init__(self) -> None:
        self.assembly = Assembly()
        self.title: str | None = None

    def element(self, node: Any, depth: int, role: str = "paragraph") -> None:
        """Read an element whose nearest headings lie at ``depth``."""
        name = _name(node)
        if name in _ASIDE:
            return
        if name == "table" and self._table(node):
            return
        if name in _CODE:
            text = "".join(node.itertext()).strip("\n").rstrip()
            if text.strip():
                self.assembly.add("code", text, heading_path=self.assembly.trail.path)
            return
        role = "list_item" if name in _ITEMS else role
        if not len(node) or (node.text or "").strip() or any((child.tail or "").strip() for child in node):
            self._text(node, name, depth, role)
            return
        if _is_record(node):
            self.assembly.prose("\n".join(filter(None, map(_field, node))), role)
            return
        for child in node:
            self.element(child, depth + any(_name(inner) in _HEADINGS for inner in node), role)

    def _text(self, node: Any, name: str, depth: int, role: str) -> None:
        text = squeeze("".join(node.itertext()))
        if not text:
            return
        above = _name(node.getparent()) if node.getparent() is not None else ""
        if (name in _HEADINGS and above != "caption") or (name == "article-title" and above == "title-group"):
            self.title = self.title or text
            self.assembly.heading(min(depth, 9), text)
        else:
            plain = name in _FLOW or role == "list_item" or len(node) or " " in text
            self.assembly.prose(("- " if role == "list_item" else "") + (text if plain else f"{name}: {text}"), role)

    def _table(self, node: Any) -> bool:
        """Read an HTML or CALS table; False when it has no rows of either kind."""
        rows: list[list[str]] = []
        header_rows = 0
        for row in node.iter():
            if _name(row) in ("tr", "row"):
                cells = [cell for cell in row if _name(cell) in ("td", "th", "entry")]
                rows.append([squeeze(" ".join(cell.itertext())) for cell in cells])
                header_rows += _name(row.getparent()) == "thead" and len(rows) == header_rows + 1
        rows = [row for row in rows if any(row)]
        if not rows:
            return False
        header = header_rows > 0 or is_header(rows)
        self.assembly.table(rows[0] if header else (), rows[1:] if header else rows)
        return True


def _is_record(node: Any) -> bool:
    if len({child.tag for child in node}) == 1 and any(len(child) for child in node):
        return False  # a list of records
    length = 0
    for inner in node.iter():
        length += len(inner.text or "")
        if length > _MAX_RECORD or _name(inner) in _STRUCTURE:
            return False
    return True


def _field(node: Any) -> str:
    text = squeeze(" ".join(node.itertext()))
    return f"{_name(node)}: {text}" if text else ""


def _name(node: Any) -> str:
    return str(node.tag).rsplit("}", 1)[-1].lower()
