"""Markdown as a flat run of blocks with exact spans, in one pass over the lines.

The meaning is CommonMark 0.31's block structure with GitHub's tables, plus front matter. Only block structure is
read: inline text stays verbatim. The line algorithm is the one of the CommonMark specification's appendix (walk the
open containers, then look for new blocks, then for lazy continuation), without building a tree: a top-level list
item or block quote is *one* block, whatever it holds.

Time is linear in the text: each line is looked at once, patterns never backtrack, nesting is followed 32 deep and
deeper markers are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from florilege.text import markdown_rules as rules
from florilege.text.markdown_rules import split_row

__all__ = ["BlockKind", "Heading", "MarkdownBlock", "TableRow", "scan", "split_row"]

BlockKind = Literal["front_matter", "heading", "paragraph", "fence", "code", "table", "item", "quote", "html", "break"]

_MAX_NESTING = 32


@dataclass(frozen=True, slots=True)
class Heading:
    """An entry of the heading stack: its level (1 to 6) and its title, inline marks kept."""

    level: int
    title: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a pipe table: cells trimmed, ``\\|`` unescaped, and the row's span in the text."""

    cells: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownBlock:
    """A top-level block: ``text[start:end]`` is all of it, line breaks at the end excluded.

    ``headings`` are the headings above it, outermost first (of a heading: its ancestors, not itself). ``level`` and
    ``title`` belong to headings. ``info`` and ``language`` (its first word) belong to fences, and ``body_start``,
    ``body_end`` delimit what lies between the fences, or between the marks of front matter; elsewhere they equal the
    block's span. ``header``, ``align`` ("left", "right", "center" or "" a column) and ``rows`` belong to tables; a
    row has the cells that are written, so it may be shorter or longer than the header. ``marker`` is an item's bullet
    or number as written.
    """

    kind: BlockKind
    start: int
    end: int
    body_start: int
    body_end: int
    headings: tuple[Heading, ...] = ()
    level: int = 0
    title: str = ""
    info: str = ""
    marker: str = ""
    header: TableRow | None = None
    align: tuple[str, ...] = ()
    rows: tuple[TableRow, ...] = ()

    @property
    def language(self) -> str:
        """The first word of a fence's info string, lower case; empty when there is none."""
        return self.info.split(None, 1)[0].lower() if self.info.strip() else ""


def scan(text: str) -> Iterator[MarkdownBlock]:
    """The blocks of ``text`` in order; their spans never overlap and leave out only blank characters.

    Any text is Markdown: this never raises. A byte order mark is an ordinary character here.
    """
    return _Scanner(text).run()


@dataclass(slots=True)
class _Container:
    """An open quote (width 0) or list item; ``width`` is how many columns its content is indented by."""

    width: int
    empty: bool = False


@dataclass(slots=True)
class _Leaf:
    """The innermost open block: where its last line that is not blank ends (``last``), and where a paragraph's
    last line starts and by how much it is indented (``line``)."""

    kind: BlockKind
    start: int
    last: int
    body: int = 0
    body_end: int | None = None
    fence: str = ""
    info: str = ""
    closing: re.Pattern[str] | None = None
    line: tuple[int, int] = (0, 0)
    header: TableRow | None = None
    align: tuple[str, ...] = ()
    rows: list[TableRow] = field(default_factory=list)


class _Scanner:
    """The state of one pass. Inside containers a leaf is followed only for what it does to the lines after it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.containers: list[_Container] = []
        self.leaf: _Leaf | None = None
        self.top: MarkdownBlock | None = None
        self.top_last = 0
        self.stack: list[Heading] = []
        self.done: list[MarkdownBlock] = []

    def run(self) -> Iterator[MarkdownBlock]:
        text, position = self.text, self._front_matter()
        while position < len(text):
            match = rules.LINE_END.search(text, position)
            end, following = match.span() if match else (len(text), len(text))
            self._line(position, end)
            if self.done:
                yield from self.done
                self.done.clear()
            position = following
        self._close_leaf()
        self._close_containers(0)
        yield from self.done

    # -- lines ------------------------------------------------------------------------------------------------

    def _line(self, start: int, end: int) -> None:
        text = self.text
        mark, column, base, matched = self._match_containers(start, end)
        leaf, blank = self.leaf, mark == end
        inside = matched == len(self.containers)
        if inside and leaf is not None:
            if leaf.kind == "fence" or (leaf.kind == "html" and (leaf.closing is not None or not blank)):
                self._verbatim(leaf, mark, end, column - base)
                return
            if leaf.kind == "paragraph" and not blank and text[mark] not in rules.STARTERS:
                self._extend(leaf, mark, end, column - base)
                return
        if blank:
            self._blank(matched)
            return
        lazy = leaf is not None and leaf.kind == "paragraph"
        while True:
            indent = column - base
            if indent >= 4:
                if not lazy:
                    self._indented(matched, start, end)
                    return
                break
            container = self._container_start(mark, end, column, base, lazy and inside)
            if container is None:
                if self._leaf_start(matched, mark, end, indent, lazy, inside):
                    return
                break
            width, mark, column, base, marker = container
            self._close_to(matched)
            self._open_container(width, start, mark, end, marker)
            matched, inside, lazy = matched + 1, True, False
            if mark == end:
                return
        if lazy and self.leaf is not None:
            self._extend(self.leaf, mark, end, column - base)
            return
        if self.leaf is not None and self.leaf.kind == "table" and inside:
            self.leaf.rows.append(self._row(mark, end))
            self.leaf.last = end
            return
        self._close_to(matched)
        self._open(_Leaf("paragraph", mark, end, line=(mark, indent)), end)

    def _match_containers(self, start: int, end: int) -> tuple[int, int, int, int]:
        """How many open containers the line continues, with its first mark, that mark's column and the column
        up to which containers have consumed it."""
        mark, column = self._skip_spaces(start, 0)
        base = matched = 0
        for container in self.containers:
            if container.width:
                if mark == end:
                    if container.empty:
                        break
                elif column - base >= container.width:
                    base += container.width
                else:
                    break
            elif mark < end and column - base <= 3 and self.text[mark] == ">":
                mark, column, base = self._after_quote_mark(mark, column)
                self.top_last = end
            else:
                break
            matched += 1
        return mark, column, base, matched

    def _skip_spaces(self, position: int, column: int) -> tuple[int, int]:
        match = rules.SPACES.match(self.text, position)
        end = match.end() if match else position
        if "\t" not in self.text[position:end]:
            return end, column + end - position
        for character in self.text[position:end]:
            column += 4 - column % 4 if character == "\t" else 1
        return end, column

    def _after_quote_mark(self, mark: int, column: int) -> tuple[int, int, int]:
        base = column + 1
        mark, column = self._skip_spaces(mark + 1, base)
        return mark, column, base + 1 if column > base else base

    def _verbatim(self, leaf: _Leaf, mark: int, end: int, indent: int) -> None:
        """A line inside a fence or an HTML block with a closing mark of its own."""
        if mark < end:
            self._touch(leaf, end)
        if leaf.kind == "html":
            if leaf.closing is not None and leaf.closing.search(self.text, mark, end):
                self._close_leaf()
        elif (
            indent <= 3
            and self.text.startswith(leaf.fence, mark)
            and not self.text[mark:end].lstrip(leaf.fence[0]).strip(" \t")
        ):
            leaf.body_end = mark
            self._close_leaf()

    def _blank(self, matched: int) -> None:
        leaf = self.leaf
        if leaf is not None and (leaf.kind != "code" or matched < len(self.containers)):
            self._close_leaf()
        self._close_containers(matched)

    def _extend(self, leaf: _Leaf, mark: int, end: int, indent: int) -> None:
        leaf.line = (mark, indent)
        self._touch(leaf, end)

    def _touch(self, leaf: _Leaf, end: int) -> None:
        leaf.last = end
        self.top_last = end

    # -- starts of blocks -------------------------------------------------------------------------------------

    def _container_start(
        self, mark: int, end: int, column: int, base: int, interrupts: bool
    ) -> tuple[int, int, int, int, str] | None:
        """(width, mark, column, base, marker) after the mark of a quote or list item that starts here."""
        text = self.text
        if len(self.containers) >= _MAX_NESTING:
            return None
        if text[mark] == ">":
            return (0, *self._after_quote_mark(mark, column), "")
        match = rules.MARKER.match(text, mark, end)
        if match is None or rules.BREAK.match(text, mark, end):
            return None
        if interrupts and self._setext(mark, end):
            return None
        after, after_column = self._skip_spaces(match.end(), column + len(match[0]))
        if interrupts and (after == end or match[1] not in (None, "1")):
            return None
        spaces = after_column - column - len(match[0])
        width = column - base + len(match[0]) + (spaces if after < end and spaces < 5 else 1)
        return width, after, after_column, base + width, match[0]

    def _open_container(self, width: int, start: int, mark: int, end: int, marker: str) -> None:
        if not self.containers:
            begin = self._skip_spaces(start, 0)[0]
            self.top = self._block("item" if width else "quote", begin, end, marker=marker)
        for container in self.containers[-1:]:
            container.empty = False
        self.containers.append(_Container(width, empty=mark == end))
        self.top_last = end

    def _leaf_start(self, matched: int, mark: int, end: int, indent: int, lazy: bool, inside: bool) -> bool:
        """Open, and where it is one line close, the leaf that starts here; False when this is plain text."""
        text, leaf = self.text, self.leaf
        first = text[mark]
        continues = lazy and inside
        plain = lazy or (leaf is not None and leaf.kind == "table")
        if first == "#" and (match := rules.ATX.match(text, mark, end)):
            self._close_to(matched)
            self._single("heading", mark, end, level=len(match[1]), title=rules.atx_title(text[match.end() : end]))
        elif first in "`~" and (match := rules.FENCE.match(text, mark, end)):
            self._close_to(matched)
            info = text[match.end() : end].strip()
            body = min(end + 1 + text.startswith("\r\n", end), len(text))
            self._open(_Leaf("fence", mark, end, fence=match[0], info=info, body=body), end)
        elif first == "<" and (found := self._html_start(mark, end, plain)):
            self._close_to(matched)
            self._open(_Leaf("html", mark, end, closing=found[0]), end)
            if found[0] is not None and found[0].search(text, found[1], end):
                self._close_leaf()
        elif continues and not self.containers and first in "|-:" and self._table_start(mark, end):
            return True
        elif continues and leaf is not None and self._setext(mark, end):
            title = self._setext_title(leaf)
            self.leaf = None
            self._single("heading", leaf.start, end, level=1 if first == "=" else 2, title=title)
        elif first in "*-_" and rules.BREAK.match(text, mark, end):
            self._close_to(matched)
            self._single("break", mark, end)
        else:
            return False
        return True

    def _html_start(self, mark: int, end: int, plain: bool) -> tuple[re.Pattern[str] | None, int] | None:
        for opening, closing in rules.HTML_STARTS:
            if match := opening.match(self.text, mark, end):
                return closing, match.end()
        if not plain and (match := rules.HTML_TAG.match(self.text, mark, end)):
            return None, match.end()
        return None

    def _setext(self, mark: int, end: int) -> bool:
        return rules.SETEXT.match(self.text, mark, end) is not None

    def _setext_title(self, leaf: _Leaf) -> str:
        return " ".join(part.strip(" \t") for part in rules.LINE_END.split(self.text[leaf.start : leaf.last]))

    def _table_start(self, mark: int, end: int) -> bool:
        """Turn the paragraph's last line into a table's header when this line is the rule below it."""
        leaf = self.leaf
        if leaf is None or not rules.DELIMITER_ROW.match(self.text, mark, end):
            return False
        start, indent = leaf.line
        if indent >= 4 or "|" not in self.text[start : leaf.last]:
            return False
        header, rule = self._row(start, leaf.last), split_row(self.text[mark:end])
        if len(header.cells) != len(rule):
            return False
        if start > leaf.start:
            before = self.text[leaf.start : start].rstrip("\r\n \t")
            self.done.append(self._block("paragraph", leaf.start, leaf.start + len(before)))
        self.leaf = _Leaf("table", start, end, header=header, align=tuple(map(rules.alignment, rule)))
        return True

    def _row(self, start: int, end: int) -> TableRow:
        return TableRow(split_row(self.text[start:end]), start, end)

    def _indented(self, matched: int, start: int, end: int) -> None:
        if self.leaf is None or self.leaf.kind != "code" or matched < len(self.containers):
            self._close_to(matched)
            self._open(_Leaf("code", start, end), end)
        else:
            self._touch(self.leaf, end)

    # -- opening and closing ----------------------------------------------------------------------------------

    def _open(self, leaf: _Leaf, end: int) -> None:
        self.leaf = leaf
        self.top_last = end
        for container in self.containers[-1:]:
            container.empty = False

    def _single(self, kind: BlockKind, start: int, end: int, *, level: int = 0, title: str = "") -> None:
        """A block that is over with its line."""
        self._open(_Leaf(kind, start, end), end)
        self.leaf = None
        if self.containers:
            return
        while kind == "heading" and self.stack and self.stack[-1].level >= level:
            self.stack.pop()
        self.done.append(self._block(kind, start, end, level=level, title=title))
        if kind == "heading":
            self.stack.append(Heading(level, title))

    def _close_to(self, matched: int) -> None:
        self._close_leaf()
        self._close_containers(matched)

    def _close_leaf(self) -> None:
        leaf, self.leaf = self.leaf, None
        if leaf is None or self.containers:
            return
        start, end = leaf.start, leaf.last
        body = (start, end)
        if leaf.kind == "fence":
            body = (min(leaf.body, end), end if leaf.body_end is None else leaf.body_end)
        table = {"header": leaf.header, "align": leaf.align, "rows": tuple(leaf.rows)}
        self.done.append(self._block(leaf.kind, start, end, body=body, info=leaf.info, **table))

    def _close_containers(self, keep: int) -> None:
        if keep == 0 and self.containers and self.top is not None:
            top = self.top
            self.done.append(self._block(top.kind, top.start, self.top_last, marker=top.marker))
            self.top = None
        del self.containers[keep:]

    def _block(
        self, kind: BlockKind, start: int, end: int, *, body: tuple[int, int] | None = None, **facts: Any
    ) -> MarkdownBlock:
        body_start, body_end = body or (start, end)
        return MarkdownBlock(
            kind=kind,
            start=start,
            end=end,
            body_start=body_start,
            body_end=body_end,
            headings=tuple(self.stack),
            **facts,
        )

    def _front_matter(self) -> int:
        """Emit the front matter the text begins with, and say where the Markdown begins."""
        opening = rules.FRONT_MATTER.match(self.text)
        if opening is None:
            return 0
        closing = rules.FRONT_MATTER_END[opening[1]].search(self.text, opening.end())
        if closing is None:
            return 0
        body = (opening.end(), closing.start())
        end = closing.start() + 3
        self.done.append(self._block("front_matter", 0, end, body=body, info="toml" if opening[1] == "+++" else "yaml"))
        return closing.end()
