"""The RTF reader, over striprtf: paragraphs, and tables where lines of cells follow one another."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby

from florilege.ingest.readers.assembly import Assembly, is_header
from florilege.interfaces.sources import ReadResult

_TITLE = re.compile(r"\{\\title\s+([^{}\\]*\w[^{}\\]*)\}")
_CODE_PAGE = re.compile(r"\\ansicpg(\d+)")


class RtfReader:
    """Rich Text. Title: that of the document's properties, when it is plain."""

    id = "rtf"
    version = "1"
    media_types = ("application/rtf",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``."""
        from striprtf.striprtf import rtf_to_text

        source = content.decode("latin-1")  # RTF is ASCII; what is not is escaped, or in the code page it names
        page = _CODE_PAGE.search(source)
        convert: Callable[..., str] = rtf_to_text
        text = convert(source, encoding=f"cp{page[1]}" if page else "cp1252", errors="replace")
        assembly = Assembly()
        for width, group in groupby(_joined(text).split("\n"), key=_cells):
            lines = list(group)
            rows = [line.split("|")[:-1] for line in lines]
            if width > 1 and len(rows) > 1:
                header = rows[0] if is_header(rows) else []
                assembly.table(header, rows[1:] if header else rows)
            else:
                for line in lines:
                    assembly.prose(line.strip().rstrip("|"))
        if not assembly.parts:
            assembly.warn("empty", "the document has no text")
        title = _TITLE.search(source)
        return assembly.result(title=title[1] if title else None)


def _joined(text: str) -> str:
    """``text`` with characters beyond the basic plane, which arrive as two halves, whole."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _cells(line: str) -> int:
    """How many cells a line has: striprtf ends each with a bar."""
    return line.count("|") if line.endswith("|") else 0
