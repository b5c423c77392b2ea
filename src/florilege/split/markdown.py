"""Markdown cut by its structure: sections, else blocks, else what a block is made of."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from florilege.model.errors import ConfigError
from florilege.split.boundaries import Level
from florilege.split.delimiters import Delimiters, SentenceUnits, Spaces
from florilege.split.packing import GAP, Packer, Span
from florilege.split.recursive import prefix_tokens
from florilege.split.splitter import Splitter, check_choice, check_flag, check_number, check_text, check_whole
from florilege.split.tables import CELL_GAP, Rewritten, rewrite_tables
from florilege.text.markdown import MarkdownBlock, scan
from florilege.text.ruler import Ruler
from florilege.text.tokens import tokenizer

_PAGE_TAG = re.compile(r"</?page_break(?:\s{1,9}page\s{0,9}=\s{0,9}[\"']?(\d{1,9})[\"']?)?\s{0,9}/?>", re.IGNORECASE)
_DIAGRAM = re.compile(r"<diagram(?=[\s>])", re.IGNORECASE)
_DIAGRAM_END = re.compile(r"</diagram\s{0,9}>", re.IGNORECASE)
_ATOMIC = frozenset({"fence", "code", "table", "diagram"})

_SENTENCES = SentenceUnits()
_BLANK_LINES = Delimiters(("\n\n", "\r\n\r\n", "\n \n"))
_LINES = Delimiters(("\n", "\r"))
_CELLS = Delimiters((CELL_GAP, "| "))
_WORDS = Spaces()


class MarkdownChunk(NamedTuple):
    """A piece of a Markdown text, of the page and below the headings where it begins.

    ``text`` is the slice between the two offsets, unless a table in it was converted: then ``verbatim`` is False and
    the offsets span what it was made of. ``token_count`` counts :attr:`full_text`.
    """

    text: str
    page: int
    start_index: int
    end_index: int
    heading_path: tuple[str, ...]
    token_count: int
    context: str = ""
    verbatim: bool = True

    @property
    def full_text(self) -> str:
        """Context, a blank line and text; the text alone without context."""
        return self.context + GAP + self.text if self.context else self.text


@dataclass(frozen=True, slots=True)
class MarkdownChunker(Splitter[MarkdownChunk]):
    """Packs whole sections, else whole blocks, into pieces of at most ``chunk_size`` tokens.

    Blocks are those of CommonMark with GitHub's tables: a ``#`` line inside a code fence is code. A heading stays with
    what follows it. A block that is too long is opened: code, lists and tables between lines, paragraphs between
    sentences. The headings above a piece that are not in it are its context, and count; they take half of the size at
    most, the outermost going first. ``tables="text"`` turns each table row into a numbered line of "Header: value"
    (:meth:`convert_tables_to_text`); "keep" leaves tables as they are, and a piece that begins inside one has the
    header rows as context. A code block, table or ``<diagram>`` of at most ``atomic_overflow`` times the size stays
    whole. ``tokenizer`` is anything :func:`florilege.text.tokens.tokenizer` takes. Raises :class:`ConfigError` for
    options out of range.
    """

    chunk_size: int = 512
    tokenizer: Any = "gpt-3.5-turbo"
    tables: Literal["text", "keep"] = "text"
    atomic_overflow: float = 1.0

    name: ClassVar[str] = "markdown"

    def __post_init__(self) -> None:
        check_whole("chunk_size", self.chunk_size, 1)
        check_choice("tables", self.tables, ("text", "keep"))
        check_number("atomic_overflow", self.atomic_overflow, 1.0)
        self._set(tokenizer=tokenizer(self.tokenizer))

    def split(self, text: str) -> list[MarkdownChunk]:
        """The pieces of ``text`` in order; none when it is blank."""
        return self.chunk(text)

    def chunk(
        self, text: str, chunk_size: int | None = None, prefix: str | None = None, page_break_tags: bool = False
    ) -> list[MarkdownChunk]:
        """The pieces of ``text``, of at most ``chunk_size`` tokens (default: the chunker's).

        ``prefix`` is in the context of every piece. ``<page_break page=N>`` sets the page from there on and is in no
        piece; ``page_break_tags`` puts ``<!-- page N -->`` first into every context.
        """
        size = self.chunk_size if chunk_size is None else chunk_size
        check_whole("chunk_size", size, 1)
        check_flag("page_break_tags", page_break_tags)
        prefix_tokens(prefix, self.tokenizer, size)
        return _Cutter(self, check_text(text), size, prefix or "", page_break_tags).pieces()

    def convert_tables_to_text(self, text: str) -> str:
        """``text`` with each table as numbered lines "1. Header: value; Header: value", empty cells kept."""
        return rewrite_tables(check_text(text), scan(text)).text


class _Region(NamedTuple):
    """A block placed in the text that is cut."""

    kind: str
    start: int
    end: int
    block: MarkdownBlock


class _Marks:
    """A level whose units begin at given places."""

    def __init__(self, places: Sequence[int]) -> None:
        self._places = places

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        at = bisect_right(self._places, high)
        return self._places[at - 1] if at and self._places[at - 1] > low else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        at = bisect_left(self._places, low)
        return self._places[at] if at < len(self._places) and self._places[at] < high else -1


class _Inside:
    """A level of the insides of blocks, by their kind."""

    def __init__(self, layout: _Layout, levels: Mapping[str, Level], other: Level) -> None:
        self._layout = layout
        self._levels = levels
        self._other = other

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        return self._level(high).last(text, low, high)

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        return self._level(low).first(text, low, high)

    def _level(self, index: int) -> Level:
        region = self._layout.region(index)
        return self._levels.get(region.kind, self._other) if region else self._other


class _Layout:
    """The blocks of a text, placed in the text made of it."""

    def __init__(self, made: Rewritten, blocks: list[MarkdownBlock]) -> None:
        self._made = made
        self.regions = _merged_diagrams(
            made.text,
            [_Region(block.kind, made.place(block.start), made.place_end(block.end), block) for block in blocks],
        )
        self.starts = [region.start for region in self.regions]

    def number(self, index: int) -> int:
        """The number of the block that stands at ``index``, or else begins behind it."""
        number = max(bisect_right(self.starts, index) - 1, 0)
        return number + (index >= self.regions[number].end and number + 1 < len(self.regions))

    def region(self, index: int) -> _Region | None:
        """That block; None in a text without blocks."""
        return self.regions[self.number(index)] if self.regions else None

    def levels(self) -> list[Level]:
        """Sections by depth, blocks, and the insides of blocks. No unit ends right behind a heading."""
        loose = [
            region
            for before, region in zip((None, *self.regions), self.regions, strict=False)
            if before is None or before.kind != "heading"
        ]
        depths = sorted({region.block.level for region in self.regions if region.kind == "heading"})
        sections = [[r.start for r in loose if r.kind == "heading" and r.block.level <= depth] for depth in depths]
        prose = {"paragraph": _SENTENCES, "heading": _SENTENCES, "html": _SENTENCES}
        return [
            *(_Marks(places) for places in sections if places),
            _Marks([region.start for region in loose]),
            _Inside(self, prose, _BLANK_LINES),
            _Inside(self, {"table": self.rows()}, _LINES),
            _Inside(self, {"table": _CELLS}, _SENTENCES),
            _WORDS,
        ]

    def rows(self) -> Level:
        """The rows of tables; of converted ones the lines."""
        if self._made.stretches:
            return _LINES
        return _Marks([row.start for region in self.regions for row in region.block.rows])

    def path(self, start: int, end: int) -> tuple[str, ...]:
        """The titles above the first thing in the span that is no heading, or of the last heading in it."""
        if not self.regions:
            return ()
        number = self.number(start)
        while self.regions[number].kind == "heading" and number + 1 < len(self.regions):
            if self.starts[number + 1] >= end:
                break
            number += 1
        kind, begin, _, block = self.regions[number]
        own = (block.title,) if kind == "heading" and begin < end else ()
        return (*(item.title for item in block.headings), *own)


class _Cutter:
    """One text being cut."""

    def __init__(self, chunker: MarkdownChunker, text: str, size: int, prefix: str, page_comments: bool) -> None:
        self._size = size
        self._prefix = prefix
        self._comments = page_comments
        self._counter = chunker.tokenizer
        self._keep = chunker.tables == "keep"
        self._tags = list(_PAGE_TAG.finditer(text)) if "<" in text else []
        self._pages = [(0, 1), *((tag.end(), int(tag[1])) for tag in self._tags if tag[1])]
        plain = _PAGE_TAG.sub(lambda tag: " " * len(tag[0]), text) if self._tags else text
        blocks = list(scan(plain))
        self._made = Rewritten(plain) if self._keep else rewrite_tables(plain, blocks)
        self._text = self._made.text
        self._layout = _Layout(self._made, blocks)
        self._whole_limit = int(size * chunker.atomic_overflow)
        self._contexts: dict[tuple[int, bool, int], str] = {}
        if self._count(self._fixed(max(page for _, page in self._pages))) >= size:
            raise ConfigError(f"page_break_tags leaves no room in chunk_size={size}", code="bad_option")

    def pieces(self) -> list[MarkdownChunk]:
        """The pieces, page by page."""
        packer = Packer(
            self._text,
            Ruler(self._text, self._counter),
            self._layout.levels(),
            self._size,
            context=self._context,
            whole=self._whole if self._whole_limit > self._size else None,
        )
        made: list[MarkdownChunk] = []
        start = 0
        for tag in (*self._tags, None):
            end = self._made.place(tag.start()) if tag else len(self._text)
            made += map(self._piece, packer.spans(start, end))
            start = self._made.place(tag.end()) if tag else end
        return made

    def _piece(self, span: Span) -> MarkdownChunk:
        start, end, tokens = span.start, span.end, span.tokens
        context = self._context(start)
        first, last = _trimmed(self._text, start, end)
        if (first, last) != (start, end):
            body = self._text[first:last]
            fewer = self._counter.count(context + GAP + body if context else body)
            if fewer <= self._size:
                start, end, tokens = first, last, fewer
        source_start, source_end, verbatim = self._made.source(start, end)
        return MarkdownChunk(
            self._text[start:end],
            self._page(source_start),
            source_start,
            source_end,
            self._layout.path(start, end),
            tokens,
            context,
            verbatim,
        )

    def _page(self, index: int) -> int:
        return self._pages[bisect_right(self._pages, index, key=lambda item: item[0]) - 1][1]

    def _count(self, context: str) -> int:
        return self._counter.count(context + GAP) if context else 0

    def _fixed(self, page: int, *between: str) -> str:
        comment = f"<!-- page {page} -->" if self._comments else ""
        return GAP.join(filter(None, (comment, *between, self._prefix)))

    def _context(self, start: int) -> str:
        """What stands before a piece that starts here: page, headings above, table header, prefix."""
        region = self._layout.region(start)
        page = self._page(self._made.source(start, start)[0])
        if region is None:
            return self._fixed(page)
        header = region.block.header if self._keep else None
        inside = header is not None and header.end < start < region.end
        key = (region.start, inside, page)
        if key not in self._contexts:
            self._contexts = {key: self._fitted(region, inside, page)}
        return self._contexts[key]

    def _fitted(self, region: _Region, inside: bool, page: int) -> str:
        block = region.block
        lines = [f"{'#' * item.level} {item.title}" for item in block.headings]
        table = ""
        if inside and block.header is not None:
            stop = block.rows[0].start if block.rows else block.end
            table = self._text[block.header.start : stop].strip()
        bare = self._fixed(page)
        limit = max(self._size // 2, self._count(bare))
        for number in range(len(lines) + 1):
            joined = self._fixed(page, "\n".join(lines[number:]), table)
            if self._count(joined) <= limit:
                return joined
        return bare

    def _whole(self, start: int, end: int) -> bool:
        """Whether the unit is one atomic block that may exceed the size."""
        region = self._layout.region(start)
        if region is None or region.kind not in _ATOMIC or region.start != start or region.end > end:
            return False
        context = self._context(start)
        body = self._text[start : region.end]
        tokens: int = self._counter.count(context + GAP + body if context else body)
        return tokens <= self._whole_limit


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without blank lines around it, the indentation of its first line kept."""
    body = text[start:end]
    ink = len(body) - len(body.lstrip())
    line = body.rfind("\n", 0, ink) + 1
    first = start + (line or (0 if start == 0 or text[start - 1] in "\r\n" else ink))
    return first, start + len(body.rstrip())


def _merged_diagrams(text: str, regions: list[_Region]) -> list[_Region]:
    """The regions with those of each ``<diagram>`` element made one."""
    merged: list[_Region] = []
    stop = -1
    for region in regions:
        if region.start < stop:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, region.end))
            continue
        opening = _DIAGRAM.match(text, region.start, region.end)
        closing = _DIAGRAM_END.search(text, region.start) if opening else None
        if closing:
            stop = closing.end()
            region = region._replace(kind="diagram", end=max(region.end, stop))
        merged.append(region)
    return merged
