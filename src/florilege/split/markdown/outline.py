"""The skeleton of a Markdown text: its headings, and the blocks no cut should fall into.

A splitter needs to know little of a text: where sections begin, and what is code, table or raw HTML. So only lines
that begin like one of these are looked at, found by one pattern in one pass; what they mean is decided as
:mod:`florilege.text.markdown` decides it, which is the reference this is tested against, and tables are read by it.
Paragraphs, lists and quotes are never visited.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from florilege.text import markdown_rules as rules
from florilege.text.markdown import TableRow, scan

# A line of interest: its indentation, then a heading's marks, a fence, a line of nothing but rule characters, or a tag.
_LINE = re.compile(
    r"\n([ \t]*+)(?=[#`~|:=\-<])(?:(#{1,6})(?=[ \t\r\n]|\Z)|(`{3,}+|~{3,}+)|([|:=-][|:=\- \t]*+)\r?(?=\n|\Z)|(<))"
)
_CLOSERS = {mark: re.compile(rf"\n([ \t]*+)({mark}{{3,}}+)[ \t]*+\r?(?=\n|\Z)") for mark in "`~"}
_BLANK = re.compile(r"\n[ \t]*+\r?(?=\n|\Z)")
_PIPED = re.compile(r"\|[^\n]*+(?:\n\|[^\n]*+)++")  # lines that begin with a pipe can only be rows
_OUTER = re.compile(r"\n(?=[^ \t\r\n])")
_DIAGRAM = re.compile(r"<diagram(?=[\s>])", re.IGNORECASE)
_DIAGRAM_END = re.compile(r"</diagram\s{0,9}>", re.IGNORECASE)
_LOOK_BACK = 64


class HeadingMark(NamedTuple):
    """A heading: its span, level and title, and the number of the heading right above it, -1 for none."""

    start: int
    end: int
    level: int
    title: str
    parent: int


class Region(NamedTuple):
    """A block to keep whole: "fence", "table", "diagram" or "front_matter". Tables have a header and rows."""

    kind: str
    start: int
    end: int
    header: TableRow | None = None
    rows: tuple[TableRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """Headings and regions in the order of the text; they do not overlap."""

    headings: list[HeadingMark] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)


def outline(text: str) -> Outline:
    """The outline of ``text``, in time linear in its length."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.found = Outline()
        self.above: list[int] = []  # the numbers of the headings that are open
        self.behind = 0  # where the last thing found ends
        self.outer = (0, 0)  # up to where unindented lines were looked for, and the last one's start

    def read(self) -> Outline:
        text = self.text
        self._front_matter()
        if text[:1] in ("#", "`", "~", "|", ":", "=", "-", "<", " ", "\t"):
            first = _LINE.match("\n" + text[: _line_end(text, 0) + 1])
            if first and not self.behind:
                self._line(first, -1)
        heading = self._heading
        for match in _LINE.finditer(text):
            start = match.start() + 1
            if start < self.behind:
                continue
            if match.lastindex == 2 and match.start(2) == start:
                end = _line_end(text, start)
                after = match.end()
                heading(start, end, after - start, rules.atx_title(text[after:end]))
            else:
                self._line(match, 0)
        return self.found

    def _line(self, match: re.Match[str], shift: int) -> None:
        kind = match.lastindex or 0
        start, mark = match.start() + 1 + shift, match.start(kind) + shift
        indent = mark - start
        item = 0
        if indent:
            if "\t" in match[1]:
                indent = len(match[1].expandtabs(4))
            item = self._in_item(start, indent)
            if (item and kind != 3) or (indent > 3 and not item):
                return
        if kind == 2:
            end = _line_end(self.text, mark)
            self._heading(
                mark, end, match.end() - match.start(2), rules.atx_title(self.text[match.end() + shift : end])
            )
        elif kind == 3:
            self._fence(start, mark, indent, item)
        elif kind == 4:
            self._rule(start, mark, match.end(4) + shift)
        else:
            self._html(start, mark)

    def _heading(self, start: int, end: int, level: int, title: str) -> None:
        above, headings = self.above, self.found.headings
        while above and headings[above[-1]].level >= level:
            above.pop()
        headings.append(HeadingMark(start, end, level, title, above[-1] if above else -1))
        above.append(len(headings) - 1)
        self.behind = end

    def _region(self, kind: str, start: int, end: int) -> None:
        self.found.regions.append(Region(kind, start, end))
        self.behind = end

    def _front_matter(self) -> None:
        opening = rules.FRONT_MATTER.match(self.text)
        closing = rules.FRONT_MATTER_END[opening[1]].search(self.text, opening.end()) if opening else None
        if closing:
            self._region("front_matter", 0, closing.start() + 3)

    def _fence(self, start: int, mark: int, indent: int, item: int) -> None:
        """A code fence; inside a list item of content offset ``item`` it ends with the item at the latest."""
        text = self.text
        opening = rules.FENCE.match(text, mark, _line_end(text, mark))
        if opening is None:
            return
        stop = len(text)
        if item:
            outer = _OUTER.search(text, mark)
            stop = outer.start() if outer else stop
        fence = opening[0]
        for closing in _CLOSERS[fence[0]].finditer(text, mark, stop):
            width = len(closing[1].expandtabs(4)) - item
            if len(closing[2]) >= len(fence) and width <= 3:
                stop = closing.end(2)
                break
        self._region("fence", mark, mark + len(text[mark:stop].rstrip()) if stop == len(text) else stop)

    def _rule(self, start: int, mark: int, end: int) -> None:
        """A line of rule characters: the underline of a heading, or the rule below a table's header."""
        text = self.text
        setext = rules.SETEXT.match(text, mark, end)
        table = rules.DELIMITER_ROW.match(text, mark, end)
        if not setext and not table:
            return
        paragraph = self._paragraph(start)
        if paragraph is None:
            return
        before = text.rfind("\n", paragraph, start - 1) + 1 or paragraph
        if table and "|" in text[before:start] and self._table(max(before, paragraph)):
            return
        if setext:
            lines = rules.LINE_END.split(text[paragraph:start].rstrip("\r\n"))
            title = " ".join(line.strip(" \t") for line in lines)
            self._heading(paragraph, mark + len(text[mark:end].rstrip()), 1 if text[mark] == "=" else 2, title)

    def _table(self, start: int) -> bool:
        text = self.text
        blank = _BLANK.search(text, start)
        stop = blank.start() if blank else len(text)
        piped = _PIPED.match(text, start, stop)
        if piped and piped.end() == stop:
            header, rule, *rows = _piped_rows(text, start, stop)
            if len(header.cells) != len(rule.cells):
                return False
            end = (rows or [rule])[-1].end
        else:
            block = next(scan(text[start:stop]), None)
            if block is None or block.kind != "table" or block.header is None:
                return False
            header, *rows = (
                TableRow(row.cells, row.start + start, row.end + start) for row in (block.header, *block.rows)
            )
            end = start + block.end
        self.found.regions.append(Region("table", header.start, end, header, tuple(rows)))
        self.behind = end
        return True

    def _html(self, start: int, mark: int) -> None:
        """A raw HTML block: nothing in it is looked at."""
        text = self.text
        if text.startswith("<!--", mark):
            closing_at = text.find("-->", mark + 4)
            self.behind = _line_end(text, closing_at + 3) if closing_at >= 0 else len(text)
            return
        if _DIAGRAM.match(text, mark) and (closing := _DIAGRAM_END.search(text, mark)):
            self._region("diagram", mark, closing.end())
            return
        end = _line_end(text, mark)
        for opening, closing_mark in rules.HTML_STARTS:
            match = opening.match(text, mark, end)
            if match and closing_mark is not None:
                closing = closing_mark.search(text, match.end())
                self.behind = _line_end(text, closing.end()) if closing else len(text)
                return
            if match:
                break
        else:
            if not rules.HTML_TAG.match(text, mark, end) or self._paragraph(start) is not None:
                return
        blank = _BLANK.search(text, mark)
        self.behind = blank.start() if blank else len(text)

    def _paragraph(self, start: int) -> int | None:
        """Where the paragraph begins whose next line begins at ``start``; None when there is none, or in an item."""
        text = self.text
        first = None
        stop = start
        for _ in range(_LOOK_BACK):
            if stop <= self.behind:
                break
            line = text.rfind("\n", self.behind, stop - 1) + 1 or self.behind
            content = text[line:stop]
            bare = content.lstrip(" \t")
            if not bare.strip():
                break
            marker = rules.MARKER.match(bare)
            if bare[0] == ">" or (marker and (marker[1] in (None, "1") or not _has_text(text, line, self.behind))):
                return None
            if rules.BREAK.match(bare.rstrip("\r\n")):
                break
            first = line + len(content) - len(bare)
            stop = line
        if first is not None and first > stop:
            indent = len(text[stop:first].expandtabs(4))
            if indent > 3 or self._in_item(stop, indent):
                return None
        return first

    def _in_item(self, start: int, indent: int) -> int:
        """The content offset of the list item that the line at ``start`` belongs to by its indentation, or 0."""
        text = self.text
        known, outer = self.outer
        if known > start:
            known, outer = 0, 0
        for match in _OUTER.finditer(text, max(known - 1, 0), start - 1):
            outer = match.start() + 1
        self.outer = (start, outer)
        marker = rules.MARKER.match(text, outer, start)
        if marker is None or rules.BREAK.match(text, outer, _line_end(text, outer)):
            return 0
        spaces = rules.SPACES.match(text, marker.end())
        after = spaces.end() if spaces else marker.end()
        gap = after - marker.end()
        wide = after < len(text) and text[after] not in "\r\n" and 0 < gap < 5
        offset = marker.end() - outer + (gap if wide else 1)
        return offset if indent >= offset else 0


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    if end < 0:
        return len(text)
    return end - 1 if end > start and text[end - 1] == "\r" else end


def _piped_cells(line: str) -> tuple[str, ...]:
    """:func:`rules.split_row` for a line that begins with a pipe, quick where nothing is escaped."""
    if "\\" in line:
        return rules.split_row(line)
    if line[-1] == "|":
        return tuple(map(str.strip, line[1:-1].split("|")))
    cells = line.split("|")
    del cells[0]
    if len(cells) > 1 and not cells[-1].strip():
        del cells[-1]
    return tuple(map(str.strip, cells))


def _piped_rows(text: str, start: int, stop: int) -> list[TableRow]:
    """The lines of a stretch, each of which begins with a pipe."""
    rows = []
    for line in text[start:stop].split("\n"):
        end = after = start + len(line)
        if line[-1] == "\r" and text.startswith("\n", end):
            line, end = line[:-1], end - 1
        rows.append(TableRow(_piped_cells(line), start, end))
        start = after + 1
    return rows


def _has_text(text: str, line: int, floor: int) -> bool:
    """Whether the line before the one at ``line`` is not blank."""
    before = text.rfind("\n", floor, line - 1) + 1 or floor
    return line > floor and bool(text[before:line].strip())
