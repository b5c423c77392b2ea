"""The workbook reader: a sheet part a sheet for its loose cells, a table part for each block of cells.

A block is what remains when a sheet is cut along its empty rows and columns. Numbers and dates are values as stored,
formulas the values they last had.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from itertools import pairwise
from typing import Any

from florilege.ingest.office.package import Package
from florilege.ingest.office.sheet_bounds import SPARSE_CODE, error_cells, is_hostile, sparse_sheets
from florilege.ingest.readers.assembly import Assembly, is_header, squeeze
from florilege.interfaces.sources import ReadResult
from florilege.model.errors import ReadError

Rows = dict[int, dict[int, str]]
"""Cell texts by row and column, both from 0; cells that a merged one covers are there and empty."""

MAX_CELLS = 2_000_000
_MAX_MERGED = 100_000
_MAX_HEADER = 3
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class SheetReader:
    """XLSX, XLSM, XLSB, XLS and ODS by calamine; XLSX sheets with hostile bounds by a sparse reader of our own."""

    id = "sheet"
    version = "2"
    media_types = (
        _XLSX,
        "application/vnd.ms-excel.sheet.binary.macroenabled.12",
        "application/vnd.ms-excel",
        "application/vnd.oasis.opendocument.spreadsheet",
    )

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``; raises :class:`ReadError` ``encrypted`` or ``damaged``."""
        assembly = Assembly()
        metadata: dict[str, Any] = {}
        failures: dict[str, Rows] = {}
        package = Package(content) if media_type == _XLSX else None
        if package is not None:
            metadata = package.properties()
        if package is not None and is_hostile(package):
            assembly.warn(SPARSE_CODE, "cells lie extremely far apart; dates of such a workbook are plain numbers")
            sheets: Iterator[tuple[str, Rows]] = sparse_sheets(Package(content), MAX_CELLS)
        else:
            sheets = _sheets(content, assembly)
            failures = error_cells(Package(content), MAX_CELLS) if package is not None else {}
        left = MAX_CELLS
        for name, rows in sheets:
            for number, cells in failures.get(name, {}).items():
                rows.setdefault(number, {}).update(cells)
            left -= sum(map(len, rows.values()))
            if left < 0:
                assembly.warn("truncated", f"only the first {MAX_CELLS:,} cells were read")
                break
            add_sheet(assembly, name, rows)
        if not any(part.text for part in assembly.parts):
            assembly.warn("empty", "no sheet has a cell with text")
        return assembly.result(title=metadata.pop("title", None), metadata=metadata)


def add_sheet(assembly: Assembly, name: str, rows: Rows) -> None:
    """Append a sheet: first its loose cells as the sheet part, then its tables."""
    loose: list[str] = []
    tables: list[Rows] = []
    for block in _blocks(rows):
        used = {column for row in block.values() for column in row}
        if len(block) > 1 and len(used) > 1:
            tables.append(block)
        else:
            loose += [" | ".join(row[column] for column in sorted(row) if row[column]) for row in block.values()]
    used_range = cell_range(rows) if rows else None
    assembly.add("sheet", "\n".join(filter(None, loose)), sheet=name, cell_range=used_range)
    for block in tables:
        _add_table(assembly, name, block)


def cell_range(rows: Rows) -> str:
    """The smallest range around ``rows``, as in ``A1:C10``."""
    columns = {column for row in rows.values() for column in row}
    return f"{_cell(min(rows), min(columns))}:{_cell(max(rows), max(columns))}"


def _add_table(assembly: Assembly, sheet: str, block: Rows) -> None:
    columns = sorted({column for row in block.values() for column in row})
    lines = [[block[number].get(column, "") for column in columns] for number in sorted(block)]
    first = sorted(block)[0]
    caption = None
    if len(lines) > 2 and sum(map(bool, lines[0])) == 1 and sum(map(bool, lines[1])) > 1 and len(block[first]) == 1:
        caption = next(filter(None, lines.pop(0)))
        block = {number: row for number, row in block.items() if number != first}
    depth = _header_depth(lines, block)
    stacked = [[line[index] for line in lines[:depth]] for index in range(len(columns))]
    names = tuple(" ".join(filter(None, column)) for column in stacked) if depth else ()
    assembly.table(names, lines[depth:], sheet=sheet, cell_range=cell_range(block), caption=caption)


def _header_depth(lines: Sequence[Sequence[str]], block: Rows) -> int:
    """How many lines name the columns: those that the merged cells of the first one reach down to, or none."""
    numbers = sorted(block)
    reach = 1
    for column, text in block[numbers[0]].items():
        depth = 1
        while text and depth < len(numbers) and block[numbers[depth]].get(column) == "":
            depth += 1
        reach = max(reach, depth)
    if 1 < reach <= _MAX_HEADER and reach < len(lines):
        return reach
    return int(is_header(lines))


def _blocks(rows: Rows) -> Iterator[Rows]:
    """``rows`` cut along empty rows and columns until nothing can be cut."""
    for numbers in _runs(sorted(rows)):
        columns = _runs(sorted({column for number in numbers for column in rows[number]}))
        for run in columns:
            low, high = run[0], run[-1]
            part: Rows = {}
            for number in numbers:
                kept = {column: text for column, text in rows[number].items() if low <= column <= high}
                if kept:
                    part[number] = kept
            if len(columns) == 1:
                if any(text for row in part.values() for text in row.values()):
                    yield part
            else:
                yield from _blocks(part)


def _runs(numbers: list[int]) -> list[list[int]]:
    runs = [numbers[:1]] if numbers else []
    for before, number in pairwise(numbers):
        if number == before + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _sheets(content: bytes, assembly: Assembly) -> Iterator[tuple[str, Rows]]:
    import python_calamine as calamine

    try:
        workbook = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        for number, about in enumerate(workbook.sheets_metadata):
            if about.typ != calamine.SheetTypeEnum.WorkSheet:
                continue
            if about.visible != calamine.SheetVisibleEnum.Visible:
                assembly.warn("hidden_sheet", f"sheet {number + 1} is hidden in the workbook; it was read")
            yield about.name, _rows(workbook.get_sheet_by_index(number))
    except calamine.PasswordError as error:
        raise ReadError("the workbook is encrypted: save it without a password", code="encrypted") from error
    except calamine.CalamineError as error:
        raise ReadError("the workbook cannot be opened", code="damaged") from error


def _rows(sheet: Any) -> Rows:
    if sheet.start is None:
        return {}
    top, left = sheet.start
    rows: Rows = {}
    for offset, values in enumerate(sheet.to_python(skip_empty_area=True)):
        found = {left + index: text for index, value in enumerate(values) if (text := cell_text(value))}
        if found:
            rows[top + offset] = found
    covered = 0
    for (row0, column0), (row1, column1) in sheet.merged_cell_ranges or ():
        covered += (row1 - row0 + 1) * (column1 - column0 + 1)
        if covered > _MAX_MERGED or column0 not in rows.get(row0, {}):
            continue
        for row in range(row0, row1 + 1):
            for column in range(column0, column1 + 1):
                rows.setdefault(row, {}).setdefault(column, "")
    return rows


def cell_text(value: Any) -> str:
    """A cell's value as text: whole numbers without a point, dates in ISO 8601, midnight left out."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, (date, time)):
        return value.isoformat()
    return squeeze(str(value))


def _cell(row: int, column: int) -> str:
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row + 1}"
