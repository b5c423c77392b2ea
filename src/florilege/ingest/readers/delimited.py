"""The reader of CSV and TSV: the dialect is found by trial, uneven rows are kept."""

from __future__ import annotations

import csv
import io
import re

from florilege.ingest.readers.assembly import MAX_CHARS, Assembly, is_header
from florilege.ingest.readers.plain import EMPTY, decoded
from florilege.interfaces.sources import ReadResult
from florilege.model.errors import ReadError

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 200
_SAMPLE_CHARS = 200_000
_LINE_END = re.compile(r"\r\n?|\n")


class DelimitedReader:
    """Delimited text as one table part. The first row is the header unless it has a blank or a number, years apart.

    ``delimiter`` and ``has_header`` settle what is otherwise found by trial.
    """

    id = "csv"
    version = "1"
    media_types: tuple[str, ...] = ("text/csv", "text/tab-separated-values")

    def __init__(self, *, delimiter: str | None = None, has_header: bool | None = None) -> None:
        self._delimiter = delimiter
        self._has_header = has_header

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``."""
        found = decoded(content)
        assembly = Assembly()
        assembly.warnings += found.warnings
        usual = "\t" if media_type == "text/tab-separated-values" else None
        rows = _rows(found.text, self._delimiter or usual or find_delimiter(found.text))
        if not rows:
            assembly.warnings.append(EMPTY)
            return assembly.result()
        has_header = is_header(rows) if self._has_header is None else self._has_header
        header = rows[0] if has_header else []
        body = rows[1:] if header else rows
        width = len(header) or max(map(len, body))
        part_id = assembly.table(header, body)
        uneven = sum(1 for row in body if len(row) != width)
        if uneven:
            message = (
                f"{uneven} of {len(body)} rows have another number of cells than {width}; they are kept as written"
            )
            assembly.warn("ragged_rows", message, part_id)
        return assembly.result()


def find_delimiter(text: str) -> str:
    """The one of ``, ; tab |`` that cuts the first rows into the most even width above one; a comma if none does."""
    set_field_limit()
    lines = _LINE_END.split(text[:_SAMPLE_CHARS])[:_SAMPLE_ROWS]
    best, best_score = ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        common = max(set(widths), key=lambda width: (widths.count(width), width)) if widths else 1
        score = (widths.count(common) / len(widths), common) if common > 1 else (0.0, 0)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def is_filled(row: list[str]) -> bool:
    """Whether a row has a cell that is not blank; others are not rows."""
    return any(cell.strip() for cell in row)


def set_field_limit() -> None:
    """Let the csv module take cells as long as a document may be."""
    if csv.field_size_limit() < MAX_CHARS:
        csv.field_size_limit(MAX_CHARS)


def _rows(text: str, delimiter: str) -> list[list[str]]:
    set_field_limit()
    try:
        rows = list(csv.reader(io.StringIO(_LINE_END.sub("\n", text), newline="\n"), delimiter=delimiter))
    except csv.Error as error:
        raise ReadError(f"line cannot be parsed as delimited text: {error}", code="damaged") from error
    return list(filter(is_filled, rows))
