"""The patterns of Markdown's block starts, and the small readings of a single line.

Every pattern runs in linear time on any line: repeats are possessive or followed by what they exclude.
"""

from __future__ import annotations

import re

SPACES = re.compile(r"[ \t]*")
LINE_END = re.compile(r"\r\n?|\n")
ATX = re.compile(r"(#{1,6})(?:[ \t]+|$)")
FENCE = re.compile(r"(`{3,}+)(?=[^`]*$)|(~{3,}+)")
BREAK = re.compile(r"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)$")
SETEXT = re.compile(r"(?:=++|-++)[ \t]*+$")
MARKER = re.compile(r"(?:[-+*]|([0-9]{1,9})[.)])(?=[ \t]|$)")
DELIMITER_ROW = re.compile(r"(?!-[ \t])\|?+[ \t]*+:?+-++:?+[ \t]*+(?:\|[ \t]*+:?+-++:?+[ \t]*+)*+\|?+[ \t]*+$")
PIPE = re.compile(r"(?<!\\)\|")
HTML_STARTS: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...] = (
    (
        re.compile(r"<(?:script|pre|style|textarea)(?=[ \t>]|$)", re.I),
        re.compile(r"</(?:script|pre|style|textarea)>", re.I),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (
        re.compile(
            r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog"
            r"|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe"
            r"|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table"
            r"|tbody|td|tfoot|th|thead|title|tr|track|ul)(?=[ \t]|/?>|$)",
            re.I,
        ),
        None,
    ),
)
HTML_TAG = re.compile(
    r"""<(?:/[A-Za-z][A-Za-z0-9-]*+[ \t]*+
        |[A-Za-z][A-Za-z0-9-]*+
         (?:[ \t]++[A-Za-z_:][A-Za-z0-9_.:-]*+(?:[ \t]*+=[ \t]*+(?:[^ \t"'=<>`]++|'[^']*+'|"[^"]*+"))?+)*+
         [ \t]*+/?)>[ \t]*+$""",
    re.X,
)
FRONT_MATTER = re.compile(
    r"""(---|\+\+\+)[ \t]*+\r?\n(?=(?:[ \t]*+\#[^\n]*+\n)*+[ \t]*+(?:["'\w$@.-][^:=\n]*+[:=]|\[))"""
)
FRONT_MATTER_END = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*+(?:\r?\n|\Z)", re.M),
    "+++": re.compile(r"^\+\+\+[ \t]*+(?:\r?\n|\Z)", re.M),
}
STARTERS = frozenset(">#`~<=-*+_|:0123456789")


def split_row(line: str) -> tuple[str, ...]:
    """The cells of a pipe table's row: split at unescaped pipes, trimmed, ``\\|`` turned into ``|``."""
    cells = PIPE.split(line)
    if len(cells) > 1 and not cells[0].strip():
        del cells[0]
    if len(cells) > 1 and not cells[-1].strip():
        del cells[-1]
    return tuple(cell.strip().replace("\\|", "|") for cell in cells)


def atx_title(rest: str) -> str:
    """A heading's title from what follows its opening marks."""
    title = rest.strip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title


def alignment(cell: str) -> str:
    """What a cell of a table's rule row says: "left", "right", "center" or ""."""
    left, right = cell.startswith(":"), cell.endswith(":")
    return "center" if left and right else "left" if left else "right" if right else ""
