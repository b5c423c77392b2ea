"""The OpenDocument reader, for texts and presentations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from florilege.ingest.office.package import Package
from florilege.ingest.readers.assembly import Assembly, is_header, squeeze
from florilege.interfaces.sources import ReadResult
from florilege.model.errors import ReadError

_NS = "{urn:oasis:names:tc:opendocument:xmlns:"
_TEXT, _TABLE, _OFFICE, _DRAW = (f"{_NS}{name}:1.0}}" for name in ("text", "table", "office", "drawing"))
_META = _NS + "meta:1.0}"
_PRESENTATION = _NS + "presentation:1.0}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_SKIPPED = frozenset(
    [_TEXT + "tracked-changes", _TEXT + "sequence-decls", _OFFICE + "forms", _TEXT + "table-of-content"]
)
_MAX_REPEAT = 1000


class OdfReader:
    """ODT and ODP. Slides are pages; a text document has none here. Deleted (tracked) text is left out."""

    id = "odf"
    version = "1"
    media_types = (
        "application/vnd.oasis.opendocument.text",
        "application/vnd.oasis.opendocument.presentation",
    )

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``. Title: the file's property, else its first title or level 1 heading."""
        package = Package(content)
        if "META-INF/manifest.xml" in package and b"encryption-data" in package.read("META-INF/manifest.xml"):
            raise ReadError("the document is encrypted: save it without a password", code="encrypted")
        body = package.xml("content.xml").find(_OFFICE + "body")
        walk = _Walk(Assembly())
        for child in body if body is not None else ():
            walk.blocks(child)
        walk.margins()
        if not any(part.text for part in walk.assembly.parts):
            walk.assembly.warn("empty", "the document's body has no text")
        metadata = _properties(package)
        return walk.assembly.result(title=metadata.pop("title", None) or walk.title, metadata=metadata)


class _Walk:
    """The state of one reading."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.title: str | None = None
        self.pages = 0
        self.frames: list[Any] = []
        self.notes: list[tuple[str, str]] = []

    def blocks(self, parent: Any, depth: int = 0) -> None:
        """Read the paragraphs, lists, tables and slides below ``parent``."""
        for child in parent:
            tag = child.tag
            if tag == _TEXT + "h":
                self._heading(child)
            elif tag == _TEXT + "p":
                self._paragraph(child, "paragraph")
            elif tag == _TEXT + "list":
                self._list(child, depth)
            elif tag == _TABLE + "table":
                self._table(child)
            elif tag == _DRAW + "page":
                self._slide(child)
            elif tag not in _SKIPPED:
                self.blocks(child, depth)

    def margins(self) -> None:
        """Append the notes and comments met on the way."""
        for role, text in self.notes:
            self.assembly.add("text", text, role=role)

    def _heading(self, node: Any) -> None:
        title = squeeze(self._text(node))
        level = node.get(_TEXT + "outline-level") or "1"
        if title:
            self.assembly.heading(min(9, max(1, int(level))) if level.isdecimal() else 1, title)
            self.title = self.title or title
        self._framed()

    def _paragraph(self, node: Any, role: str, marker: str = "") -> None:
        text = "\n".join(filter(None, map(squeeze, self._text(node).split("\n"))))
        if text:
            style = (node.get(_TEXT + "style-name") or "").lower()
            if style == "title":
                self.title, role = squeeze(text), "title"
            self.assembly.prose(marker + text, role)
        self._framed()

    def _framed(self) -> None:
        frames, self.frames = self.frames, []
        for frame in frames:
            self.blocks(frame)

    def _list(self, node: Any, depth: int) -> None:
        for item in node.iterfind(_TEXT + "list-item"):
            for child in item:
                if child.tag == _TEXT + "list":
                    self._list(child, depth + 1)
                elif child.tag in (_TEXT + "p", _TEXT + "h"):
                    self._paragraph(child, "list_item", "  " * min(depth, 9) + "- ")

    def _text(self, node: Any) -> str:
        out: list[str] = [node.text or ""]
        for child in node:
            tag = child.tag
            if tag == _TEXT + "s":
                count = child.get(_TEXT + "c") or "1"
                out.append(" " * (min(int(count), _MAX_REPEAT) if count.isdecimal() else 1))
            elif tag == _TEXT + "tab":
                out.append("\t")
            elif tag == _TEXT + "line-break":
                out.append("\n")
            elif tag in (_TEXT + "note", _OFFICE + "annotation"):
                self._note(child)
            elif tag in (_DRAW + "frame", _DRAW + "custom-shape", _DRAW + "text-box"):
                self.frames.append(child)
            else:
                out.append(self._text(child))
            out.append(child.tail or "")
        return "".join(out)

    def _note(self, node: Any) -> None:
        body = node.find(_TEXT + "note-body")
        paragraphs = (body if body is not None else node).iter(_TEXT + "p")
        text = "\n".join(filter(None, (squeeze("".join(p.itertext())) for p in paragraphs)))
        if text:
            self.notes.append((node.get(_TEXT + "note-class") or "comment", text))

    def _table(self, node: Any) -> None:
        rows: list[list[str]] = []
        headers = 0
        for row, in_header in _rows(node):
            line = [squeeze(text) for cell in row for text in self._cells(cell)]
            while line and not line[-1]:
                line.pop()
            if line:
                rows.append(line)
                headers += in_header
        if not rows:
            return
        headers = min(headers, 1) or int(is_header(rows))
        self.assembly.table(rows[0] if headers else (), rows[headers:])

    def _cells(self, cell: Any) -> list[str]:
        if cell.tag not in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
            return []
        text = " ".join(self._text(p) for p in cell.iter(_TEXT + "p", _TEXT + "h"))
        self.frames.clear()
        repeat = cell.get(_TABLE + "number-columns-repeated") or "1"
        return [text] * (min(int(repeat), _MAX_REPEAT) if repeat.isdecimal() else 1)

    def _slide(self, node: Any) -> None:
        self.pages += 1
        pieces: list[str] = []
        title = None
        notes: list[str] = []
        for frame in node:
            lines = "\n".join(filter(None, (squeeze(self._text(p)) for p in frame.iter(_TEXT + "p"))))
            if frame.tag == _PRESENTATION + "notes":
                notes += [lines] if lines else []
            elif lines and frame.find(f".//{_TABLE}table") is None:
                if frame.get(_PRESENTATION + "class") == "title" and title is None:
                    title = squeeze(lines)
                pieces.append(lines)
        facts: dict[str, Any] = {"page": self.pages, "heading_path": (title,) if title else ()}
        self.title = self.title or title
        self.assembly.trail.enter(1, title or "")
        self.assembly.add("page", "\n\n".join(pieces), **facts)
        for table in node.iter(_TABLE + "table"):
            self._table(table)
        for text in notes:
            self.assembly.add("text", text, role="notes", **facts)


def _rows(node: Any, in_header: bool = False) -> Iterator[tuple[Any, bool]]:
    for child in node:
        if child.tag == _TABLE + "table-row":
            yield child, in_header
        elif child.tag in (_TABLE + "table-rows", _TABLE + "table-row-group", _TABLE + "table-header-rows"):
            yield from _rows(child, in_header or child.tag == _TABLE + "table-header-rows")


def _properties(package: Package) -> dict[str, Any]:
    if "meta.xml" not in package:
        return {}
    meta = package.xml("meta.xml").find(_OFFICE + "meta")
    if meta is None:
        return {}
    names = {
        "title": _DC + "title",
        "author": _META + "initial-creator",
        "subject": _DC + "subject",
        "keywords": _META + "keyword",
        "created": _META + "creation-date",
    }
    found = {key: squeeze(meta.findtext(name) or "") for key, name in names.items()}
    found["created"] = found["created"][:10]
    return {key: value for key, value in found.items() if value}
