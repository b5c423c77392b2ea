"""Markdown cut by its structure: sections, else blocks, else what a block is made of."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from florilege.model.errors import ConfigError
from florilege.split.markdown.layout import Layout
from florilege.split.markdown.outline import Region, outline
from florilege.split.markdown.tables import Rewritten, rewrite_tables
from florilege.split.packing import GAP, Context, Packer, Span
from florilege.split.recursive import prefix_tokens
from florilege.split.splitter import Splitter, check_choice, check_flag, check_number, check_text, check_whole
from florilege.text.ruler import ruler
from florilege.text.tokens import tokenizer

_PAGE_TAG = re.compile(r"<(?i:/?page_break(?:\s{1,9}page\s{0,9}=\s{0,9}[\"']?(\d{1,9})[\"']?)?\s{0,9}/?>)")


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
        return rewrite_tables(check_text(text), outline(text).regions).text


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
        self._page_starts = [start for start, _ in self._pages]
        plain = _PAGE_TAG.sub(lambda tag: " " * len(tag[0]), text) if self._tags else text
        found = outline(plain)
        self._made = Rewritten(plain) if self._keep else rewrite_tables(plain, found.regions)
        self._text = self._made.text
        self._layout = Layout(self._made, found)
        self._whole_limit = int(size * chunker.atomic_overflow)
        self._last: tuple[Any, Context] = (None, Context())
        if self._count(self._fixed(max(page for _, page in self._pages))) >= size:
            raise ConfigError(f"page_break_tags leaves no room in chunk_size={size}", code="bad_option")

    def pieces(self) -> list[MarkdownChunk]:
        """The pieces, page by page."""
        packer = Packer(
            self._text,
            ruler(self._text, self._counter),
            self._layout.levels(),
            self._size,
            context=self._context,
            whole=self._whole if self._whole_limit > self._size else None,
            trim=True,
        )
        made: list[MarkdownChunk] = []
        start = 0
        for tag in (*self._tags, None):
            end = self._made.place(tag.start()) if tag else len(self._text)
            made += [self._piece(span, packer.lead(span.start).text) for span in packer.spans(start, end)]
            start = self._made.place(tag.end()) if tag else end
        return made

    def _piece(self, span: Span, context: str) -> MarkdownChunk:
        start, end, _, tokens = span
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
        return self._pages[bisect_right(self._page_starts, index) - 1][1] if self._tags else 1

    def _count(self, context: str) -> int:
        return self._counter.count(context + GAP) if context else 0

    def _fixed(self, page: int, *between: str) -> str:
        comment = f"<!-- page {page} -->" if self._comments else ""
        return GAP.join(filter(None, (comment, *between, self._prefix)))

    def _context(self, start: int) -> Context:
        """What stands before a piece that starts here: page, headings above, table header, prefix."""
        page = self._page(self._made.source(start, start)[0]) if self._comments else 1
        number, inside = self._layout.place(start)
        number = self._layout.headings[number].parent if inside else number
        region = self._layout.region(start) if self._keep else None
        table = region if region and region.header and start > region.header.end else None
        key = (page, number, table.start if table else -1)
        if key != self._last[0]:
            self._last = key, self._fitted(page, self._layout.trail(number)[0], table)
        return self._last[1]

    def _fitted(self, page: int, lines: tuple[str, ...], table: Region | None) -> Context:
        """The context, shortened from the outermost heading on where it would take more than half of the size."""
        rows = ""
        if table and table.header:
            rows = self._text[table.start : table.rows[0].start if table.rows else table.end].strip()
        bare = self._fixed(page)
        limit = max(self._size // 2, self._count(bare))
        for number in range(len(lines) + 1):
            joined = self._fixed(page, "\n".join(lines[number:]), rows)
            if (tokens := self._count(joined)) <= limit:
                return Context(joined, tokens)
        return Context(bare, self._count(bare))

    def _whole(self, start: int, end: int) -> bool:
        """Whether the unit is one atomic block that may exceed the size."""
        region = self._layout.region(start)
        if region is None or region.start != start or region.end > end:
            return False
        context = self._context(start).text
        body = self._text[start : region.end]
        tokens: int = self._counter.count(context + GAP + body if context else body)
        return tokens <= self._whole_limit
