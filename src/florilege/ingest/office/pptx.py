"""The PowerPoint reader: a page part a slide with a block a shape, tables, then speaker notes and comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from florilege.ingest.office.package import OFFICE_RELATIONSHIPS, Package
from florilege.ingest.readers.assembly import Assembly, is_header, squeeze
from florilege.interfaces.sources import ReadResult
from florilege.model.document import BBox, Block, Span
from florilege.model.errors import ReadError

_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_ID = f"{{{OFFICE_RELATIONSHIPS}}}id"
_TITLES = frozenset(["title", "ctrTitle"])
_MARGINS = frozenset(["sldNum", "dt", "ftr", "hdr", "sldImg"])


class PptxReader:
    """Presentations. Slides are pages, numbered from 1 in their running order; a slide's title is its heading."""

    id = "pptx"
    version = "1"
    media_types = ("application/vnd.openxmlformats-officedocument.presentationml.presentation",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``. Title: the file's property, else the first slide's title."""
        package = Package(content)
        main = package.main_part
        root = package.xml(main)
        size = root.find(f"{_P}sldSz")
        extent = (_int(size, "cx"), _int(size, "cy"))
        assembly = Assembly()
        related = package.relationships(main)
        title = None
        for number, entry in enumerate(root.iterfind(f"{_P}sldIdLst/{_P}sldId"), 1):
            relation = related.get(entry.get(_ID) or "")
            if relation is None or relation.target not in package:
                assembly.warn("damaged_page", f"slide {number} is missing from the file")
                continue
            try:
                slide_title = _slide(assembly, package, relation.target, number, extent)
            except ReadError as error:
                assembly.warn("damaged_page", f"slide {number}: {error.message}")
                continue
            title = title or slide_title
        if not any(part.text for part in assembly.parts):
            assembly.warn("empty", "no slide has text")
        metadata = package.properties()
        named = metadata.pop("title", "")
        return assembly.result(
            title=title if named.lower() in ("", "powerpoint presentation") else named, metadata=metadata
        )


def _slide(assembly: Assembly, package: Package, part: str, number: int, extent: tuple[int, int]) -> str | None:
    root = package.xml(part)
    title = None
    pieces: list[tuple[str, str, BBox | None]] = []
    tables: list[Any] = []
    for shape, top in _shapes(root.find(f"{_P}cSld/{_P}spTree")):
        kind = _placeholder(shape)
        table = shape.find(f"{_A}graphic/{_A}graphicData/{_A}tbl")
        if kind in _MARGINS:
            continue
        if table is not None:
            tables.append(table)
            continue
        text = _text(shape.find(_P + "txBody"))
        if text and kind in _TITLES and title is None:
            title = squeeze(text)
            pieces.insert(0, ("title", text, _box(shape, extent) if top else None))
        elif text:
            pieces.append(("shape", text, _box(shape, extent) if top else None))
    related = list(package.relationships(part).values())
    for relation in related:
        if relation.kind == "diagramData" and relation.target in package:
            words = "\n".join(filter(None, map(_paragraph, package.xml(relation.target).iter(_A + "p"))))
            pieces += [("diagram", words, None)] if words else []
    facts: dict[str, Any] = {"page": number, "heading_path": (title,) if title else ()}
    text, blocks = _joined(pieces)
    assembly.add("page", text, blocks=blocks, **facts)
    for table in tables:
        rows = [
            tuple(_text(cell.find(_A + "txBody")) for cell in row.iterfind(_A + "tc"))
            for row in table.iterfind(_A + "tr")
        ]
        header = bool(rows) and (table.find(f"{_A}tblPr[@firstRow='1']") is not None or is_header(rows))
        if any(map(any, rows)):
            assembly.table(rows[0] if header else (), rows[1:] if header else rows, **facts)
    for relation in related:
        if relation.target in package and relation.kind in ("notesSlide", "comments"):
            _margin(assembly, package.xml(relation.target), relation.kind, facts)
    return title


def _margin(assembly: Assembly, root: Any, kind: str, facts: dict[str, Any]) -> None:
    if kind == "notesSlide":
        shapes = [s for s, _ in _shapes(root.find(f"{_P}cSld/{_P}spTree")) if _placeholder(s) not in _MARGINS]
        text = "\n".join(filter(None, (_text(shape.find(_P + "txBody")) for shape in shapes)))
        if text:
            assembly.add("text", text, role="notes", **facts)
        return
    for node in root.iter():
        if isinstance(node.tag, str) and node.tag.rsplit("}", 1)[-1] in ("text", "txBody"):
            text = squeeze(node.text or "") or _text(node)
            if text:
                assembly.add("text", text, role="comment", **facts)


def _shapes(tree: Any) -> Iterator[tuple[Any, bool]]:
    """(shape, whether its place is the slide's own) of a tree of shapes and groups, in drawing order."""
    for child in tree if tree is not None else ():
        tag = child.tag
        if tag in (_P + "sp", _P + "graphicFrame"):
            yield child, True
        elif tag == _P + "grpSp":
            yield from ((shape, False) for shape, _ in _shapes(child))
        elif tag == _MC + "AlternateContent":
            yield from _shapes(child.find(_MC + "Choice"))


def _placeholder(shape: Any) -> str | None:
    node = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
    return (node.get("type") or "body") if node is not None else None


def _text(body: Any) -> str:
    """The paragraphs of a text body, a line each; those below the first level are marked and indented."""
    lines = []
    for paragraph in body.iterfind(_A + "p") if body is not None else ():
        text = _paragraph(paragraph)
        if text:
            level = _int(paragraph.find(_A + "pPr"), "lvl")
            lines.append("  " * level + "- " + text if 0 < level < 9 else text)
    return "\n".join(lines)


def _paragraph(paragraph: Any) -> str:
    out: list[str] = []
    for node in paragraph.iter(_A + "t", _A + "br", _A + "tab"):
        out.append(node.text or "" if node.tag == _A + "t" else " ")
    return squeeze("".join(out))


def _joined(pieces: list[tuple[str, str, BBox | None]]) -> tuple[str, list[Block]]:
    blocks: list[Block] = []
    length = 0
    for kind, text, box in pieces:
        blocks.append(Block(text=text, bbox=box, kind=kind, span=Span(length, length + len(text))))
        length += len(text) + 2
    return "\n\n".join(text for _, text, _ in pieces), blocks


def _box(shape: Any, extent: tuple[int, int]) -> BBox | None:
    frame = shape.find(f"{_P}spPr/{_A}xfrm")
    offset = frame.find(_A + "off") if frame is not None else None
    size = frame.find(_A + "ext") if frame is not None else None
    if offset is None or size is None or min(extent) <= 0:
        return None
    x, y, wide, high = _int(offset, "x"), _int(offset, "y"), _int(size, "cx"), _int(size, "cy")
    corners = (x / extent[0], y / extent[1], (x + wide) / extent[0], (y + high) / extent[1])
    x0, y0, x1, y1 = (round(min(1.0, max(0.0, value)), 5) for value in corners)
    return x0, y0, x1, y1


def _int(node: Any, name: str) -> int:
    value = node.get(name) if node is not None else None
    return int(value) if value and value.lstrip("-").isdecimal() and len(value) < 15 else 0
