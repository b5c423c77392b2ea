"""The Word reader: one walk over the body, then notes, comments, headers and footers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from florilege.ingest.office.docx_styles import Numbering, Styles, W
from florilege.ingest.office.package import Package
from florilege.ingest.readers.assembly import Assembly, is_header, squeeze
from florilege.interfaces.sources import ReadResult

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_LITERAL = {W + "tab": "\t", W + "br": "\n", W + "cr": "\n", W + "noBreakHyphen": "-", W + "ptab": "\t"}
_SKIPPED = frozenset(
    W + name
    for name in (
        "pPr",
        "rPr",
        "del",
        "moveFrom",
        "instrText",
        "delText",
        "rt",
        "tblPr",
        "tblGrid",
        "trPr",
        "tcPr",
        "sectPr",
    )
)
_MATH = {_M + "sup": "^", _M + "sub": "_", _M + "den": "/"}
_NOTES = {"footnotes": "footnote", "endnotes": "endnote", "comments": "comment"}
_MARGINS = {"header": "header", "footer": "footer"}
_MAX_SPAN = 1000


class DocxReader:
    """Word documents, transitional and strict. They have no pages here: where one ends is the printer's affair.

    Deleted text is left out, inserted text is in. A table of one cell is a frame: its content is read as text.
    Footnotes, endnotes, comments, headers and footers follow the body under roles of these names.
    """

    id = "docx"
    version = "1"
    media_types = ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``. Title: the document's property, else its first title or level 1 heading."""
        package = Package(content)
        main = package.main_part
        related = package.relationships(main)
        parts: dict[str, list[Any]] = {}
        for relation in related.values():
            if relation.target in package and relation.kind in {*_NOTES, *_MARGINS, "styles", "numbering"}:
                parts.setdefault(relation.kind, []).append(package.xml(relation.target))
        walk = _Walk(Styles(parts.get("styles", [])), Numbering(parts.get("numbering", [])))
        walk.blocks(package.xml(main))
        assembly = walk.assembly
        if not assembly.parts:
            assembly.warn("empty", "the document's body has no text")
        for kind, role in _NOTES.items():
            for root in parts.get(kind, []):
                walk.notes(root, role)
        walk.margins([(role, root) for kind, role in _MARGINS.items() for root in parts.get(kind, [])])
        metadata = package.properties()
        title = metadata.pop("title", None) or walk.title
        return assembly.result(title=title, metadata=metadata)


class _Walk:
    """The state of one reading."""

    def __init__(self, styles: Styles, numbering: Numbering) -> None:
        self.assembly = Assembly()
        self.styles = styles
        self.numbering = numbering
        self.title: str | None = None
        self.boxes: list[Any] = []

    def blocks(self, parent: Any) -> None:
        """Read the paragraphs and tables below ``parent``, through whatever wraps them."""
        for child in parent:
            tag = child.tag
            if tag == W + "p":
                self._paragraph(child)
            elif tag == W + "tbl":
                self._table(child)
            elif tag == _MC + "AlternateContent":
                self.blocks(_alternative(child))
            elif tag not in _SKIPPED:
                self.blocks(child)

    def notes(self, root: Any, role: str) -> None:
        """Read footnotes, endnotes or comments: a part each."""
        for note in root:
            if note.get(W + "type") in ("separator", "continuationSeparator", "continuationNotice"):
                continue
            text = "\n".join(filter(None, (squeeze(self._text(p)) for p in note.iter(W + "p"))))
            author = note.get(W + "author")
            if text:
                self.assembly.add("text", f"{author}: {text}" if author else text, role=role)

    def margins(self, roots: list[tuple[str, Any]]) -> None:
        """Read headers and footers, each text once."""
        seen: set[str] = set()
        for role, root in roots:
            text = "\n".join(filter(None, (squeeze(self._text(p)) for p in root.iter(W + "p"))))
            if text and not text.isdecimal() and text not in seen:
                seen.add(text)
                self.assembly.add("text", text, role=role)

    def _paragraph(self, paragraph: Any) -> None:
        properties = paragraph.find(W + "pPr")
        style = self.styles.of(properties)
        text = _tidy(self._text(paragraph))
        boxes, self.boxes = self.boxes, []
        if text and not style.is_contents:
            self._prose(text, properties, style)
        for box in boxes:
            if box.tag == _WP + "docPr":
                caption = squeeze(box.get("descr") or "")
                self.assembly.add("image", caption, caption=caption, heading_path=self.assembly.trail.path)
            else:
                self.blocks(box)

    def _prose(self, text: str, properties: Any, style: Any) -> None:
        marker = self.numbering.marker(properties, style)
        if style.level:
            title = squeeze(text)
            self.assembly.heading(style.level, title)
            self.title = self.title or (title if style.level == 1 else None)
        elif style.is_title:
            self.title = squeeze(text)
            self.assembly.prose(text, "title")
        elif marker:
            self.assembly.prose(marker + text, "list_item")
        else:
            self.assembly.prose(text, "quote" if style.is_quote else "paragraph")

    def _text(self, element: Any) -> str:
        """The text of a paragraph; text boxes and described images met in it wait in ``boxes``."""
        out: list[str] = []
        self._collect(element, out)
        return "".join(out)

    def _collect(self, element: Any, out: list[str]) -> None:
        for child in element:
            tag = child.tag
            if tag == W + "t" or tag == _M + "t":
                out.append(child.text or "")
            elif tag in _LITERAL:
                out.append(_LITERAL[tag])
            elif tag == _MC + "AlternateContent":
                self._collect(_alternative(child), out)
            elif tag == W + "txbxContent":
                self.boxes.append(child)
            elif tag == _WP + "docPr":
                if len(squeeze(child.get("descr") or "")) > 1:
                    self.boxes.append(child)
            elif tag not in _SKIPPED:
                if tag in _MATH and len(child):
                    out.append(_MATH[tag])
                self._collect(child, out)

    def _table(self, table: Any) -> None:
        rows = list(_rows(table))
        cells = [cell for row in rows for cell in _cells(row)]
        if len(cells) == 1:
            self.blocks(cells[0])
            return
        nested: list[Any] = []
        grid: list[tuple[str, ...]] = []
        headers = 0
        for row in rows:
            line: list[str] = []
            for cell in _cells(row):
                properties = cell.find(W + "tcPr")
                span = _number(properties, "gridSpan", 1)
                merge = properties.find(W + "vMerge") if properties is not None else None
                hidden = merge is not None and merge.get(W + "val") != "restart"
                line += ["" if hidden else self._cell(cell, nested), *[""] * (min(span, _MAX_SPAN) - 1)]
            if row.find(f"{W}trPr/{W}tblHeader") is not None and headers == len(grid):
                headers += 1
            if any(line):
                grid.append(tuple(line))
        if grid:
            headers = min(headers, len(grid) - 1) or int(_has_header(table, grid))
            width = max(map(len, grid))
            stacked = [[row[index] for row in grid[:headers] if index < len(row)] for index in range(width)]
            columns = tuple(" ".join(dict.fromkeys(filter(None, names))) for names in stacked) if headers else ()
            self.assembly.table(columns, grid[headers:])
        for inner in nested:
            self._table(inner)

    def _cell(self, cell: Any, nested: list[Any]) -> str:
        pieces: list[str] = []
        for block in _cell_blocks(cell):
            if block.tag == W + "tbl":
                nested.append(block)
            else:
                pieces.append(squeeze(self._text(block)))
        boxes, self.boxes = self.boxes, []
        pieces += [squeeze(self._text(p)) for box in boxes for p in box.iter(W + "p")]
        return " ".join(filter(None, pieces))


def _alternative(element: Any) -> Any:
    choice = element.find(_MC + "Choice")
    return choice if choice is not None else element


def _rows(table: Any) -> Iterator[Any]:
    for child in table:
        if child.tag == W + "tr":
            yield child
        elif child.tag not in _SKIPPED:
            yield from _rows(child)


def _cells(row: Any) -> Iterator[Any]:
    for child in row:
        if child.tag == W + "tc":
            yield child
        elif child.tag not in _SKIPPED:
            yield from _cells(child)


def _cell_blocks(cell: Any) -> Iterator[Any]:
    for child in cell:
        if child.tag in (W + "p", W + "tbl"):
            yield child
        elif child.tag not in _SKIPPED:
            yield from _cell_blocks(child)


def _has_header(table: Any, grid: list[tuple[str, ...]]) -> bool:
    look = table.find(f"{W}tblPr/{W}tblLook")
    if look is not None and len(grid) > 1 and len(grid[0]) > 1 and all(grid[0][1:]):
        first = look.get(W + "firstRow")
        if first in ("1", "true") or (first is None and int(look.get(W + "val") or "0", 16) & 0x20):
            return True
    return is_header(grid)


def _number(parent: Any, name: str, default: int) -> int:
    node = parent.find(W + name) if parent is not None else None
    value = node.get(W + "val") if node is not None else None
    return int(value) if value and value.isdecimal() else default


def _tidy(text: str) -> str:
    """Line breaks kept, blanks squeezed, blank lines left out."""
    return "\n".join(filter(None, (squeeze(line) for line in text.split("\n"))))
