"""XLSX sheets whose cells lie so far apart that a dense reader would allocate the whole rectangle.

Two cells, A1 and XFD1048576, are 1.4 KB of file and 17 billion cells. The bounds are taken from the cells of the sheet
XML, not from what it declares, before a dense reader sees it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from florilege.ingest.office.package import Package
from florilege.ingest.readers.assembly import squeeze
from florilege.model.errors import ReadError

MAX_RECTANGLE = 20_000_000
SPARSE_CODE = "sparse_sheet"
_ALWAYS_DENSE = 1_000_000
_MIN_DENSITY = 0.01
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_COLUMNS = re.compile(rb"<(?:\w+:)?c\s(?:[^>]*?\s)?r\s*=\s*[\"']([A-Z]{1,3})")
_ROWS = re.compile(rb"<(?:\w+:)?(?:row|c)\s(?:[^>]*?\s)?r\s*=\s*[\"'][A-Z]*(\d{1,7})")
_ERROR = re.compile(rb"""<(?:\w+:)?c\s(?:[^<>]*?\s)?t\s*=\s*["']e["']""")
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")


def is_hostile(package: Package) -> bool:
    """Whether some worksheet of an XLSX package spans too large or too empty a rectangle."""
    for _, part in _worksheets(package):
        data = package.read(part)
        columns = {_column(name.decode()) for name in set(_COLUMNS.findall(data))}
        numbers = set(_ROWS.findall(data))
        if not columns or not numbers:
            continue
        rows = sorted(map(int, numbers))
        area = (rows[-1] - rows[0] + 1) * (max(columns) - min(columns) + 1)
        cells = data.count(b"<c ") + data.count(b":c ")
        if area > MAX_RECTANGLE or (area > _ALWAYS_DENSE and cells < _MIN_DENSITY * area):
            return True
    return False


def sparse_sheets(package: Package, limit: int) -> Iterator[tuple[str, dict[int, dict[int, str]]]]:
    """(name, cell texts by row and column) of each worksheet, holding only cells with a value, at most ``limit``."""
    shared = _shared_strings(package)
    for name, part in _worksheets(package):
        yield name, _cells(package.read(part), shared, limit, part)


def error_cells(package: Package, limit: int) -> dict[str, dict[int, dict[int, str]]]:
    """What formulas that failed show (``#DIV/0!``), by sheet, row and column: a dense reader leaves them blank."""
    found = {}
    for name, part in _worksheets(package):
        data = package.read(part)
        if _ERROR.search(data):
            found[name] = _cells(data, [], limit, part, kind="e")
    return found


def _worksheets(package: Package) -> list[tuple[str, str]]:
    main = package.main_part
    related = package.relationships(main)
    found = []
    for sheet in package.xml(main).iterfind(f"{_MAIN}sheets/{_MAIN}sheet"):
        relation = related.get(sheet.get(_RELATION) or "")
        if relation is not None and relation.kind == "worksheet" and relation.target in package:
            found.append((sheet.get("name") or "", relation.target))
    return found


def _shared_strings(package: Package) -> list[str]:
    for relation in package.relationships(package.main_part).values():
        if relation.kind == "sharedStrings" and relation.target in package:
            return [_rich(item) for item in package.xml(relation.target).iterfind(f"{_MAIN}si")]
    return []


def _rich(item: Any) -> str:
    """The text of a shared or inline string, phonetic guides left out."""
    return "".join(node.text or "" for node in item.iter(f"{_MAIN}t") if node.getparent().tag != f"{_MAIN}rPh")


def _cells(data: bytes, shared: list[str], limit: int, part: str, kind: str | None = None) -> dict[int, dict[int, str]]:
    """The texts of a sheet's cells, of one kind only if ``kind`` names it."""
    from lxml import etree

    rows: dict[int, dict[int, str]] = {}
    count = 0
    try:
        for _, cell in etree.iterparse(io.BytesIO(data), tag=f"{_MAIN}c", resolve_entities=False, no_network=True):
            match = _REFERENCE.match(cell.get("r") or "")
            text = squeeze(_value(cell, shared)) if kind in (None, cell.get("t")) else ""
            cell.clear()
            if match and text and count <= limit:
                rows.setdefault(int(match[2]) - 1, {})[_column(match[1])] = text
                count += 1
    except etree.XMLSyntaxError as error:
        raise ReadError(f"{part} is not well-formed XML", code="damaged") from error
    return rows


def _value(cell: Any, shared: list[str]) -> str:
    kind = cell.get("t")
    if kind == "inlineStr":
        inline = cell.find(f"{_MAIN}is")
        return _rich(inline) if inline is not None else ""
    value = cell.findtext(f"{_MAIN}v") or ""
    if kind == "s":
        return shared[int(value)] if value.isdecimal() and int(value) < len(shared) else ""
    if kind == "b":
        return "TRUE" if value == "1" else "FALSE"
    return value


def _column(name: str) -> int:
    number = 0
    for letter in name:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
