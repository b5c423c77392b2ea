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
    """Delimited text as one table part. The first row is the header unless it has a blank or a number, years apart."""

    id = "csv"
    version = "1"
    media_types = ("text/csv", "text/tab-separated-values")

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``."""
        found = decoded(content)
        assembly = Assembly()
        assembly.warnings += found.warnings
        delimiter = "\t" if media_type == "text/tab-separated-values" else find_delimiter(found.text)
        rows = _rows(found.text, delimiter)
        if not rows:
            assembly.warnings.append(EMPTY)
            return assembly.result()
        header = rows[0] if is_header(rows) else []
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
    lines = _LINE_END.split(text[:_SAMPLE_CHARS])[:_SAMPLE_ROWS]
    best, best_score = ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        common = max(set(widths), key=lambda width: (widths.count(width), width)) if widths else 1
        score = (widths.count(common) / len(widths), common) if common > 1 else (0.0, 0)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _rows(text: str, delimiter: str) -> list[list[str]]:
    if csv.field_size_limit() < MAX_CHARS:
        csv.field_size_limit(MAX_CHARS)
    try:
        rows = list(csv.reader(io.StringIO(_LINE_END.sub("\n", text), newline="\n"), delimiter=delimiter))
    except csv.Error as error:
        raise ReadError(f"line cannot be parsed as delimited text: {error}", code="damaged") from error
    return [row for row in rows if any(cell.strip() for cell in row)]
