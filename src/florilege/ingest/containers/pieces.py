"""Texts too large for one document, cut at records into sources of at most five million characters.

One pass in bounded memory finds the cuts; a piece is read later from where it stands. Text in another encoding than
UTF-8 is first written to a temporary file in it.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from florilege.ingest.containers.children import ChildSource, blocks
from florilege.ingest.containers.limits import MAX_STREAMED, PIECE_CHARS, Budget
from florilege.ingest.containers.region import Region, Spool
from florilege.ingest.readers.assembly import MAX_CHARS, is_header
from florilege.ingest.readers.decode import decode
from florilege.ingest.readers.delimited import DelimitedReader, find_delimiter, is_filled
from florilege.ingest.readers.plain import TextReader
from florilege.ingest.source import ByteSource
from florilege.ingest.values.json_values import JsonLinesReader
from florilege.interfaces.sources import Reader, Source
from florilege.model.document import Document, Failed
from florilege.model.errors import LoadError, ReadError

_SAMPLE = 1_000_000
_BLOCK = 1 << 20


class Piece(NamedTuple):
    """A stretch of the text in bytes, what it is called, and how many records stand before it."""

    start: int
    end: int
    fragment: str
    before: int


class PieceSource(ChildSource):
    """A piece, read as the whole would be: with the same dialect, header and count of records."""

    def __init__(self, parent: ByteSource, piece: Piece, text: Region, header: bytes, piece_reader: Reader) -> None:
        region = text.part(piece.start, piece.end)
        self._header = header
        super().__init__(
            parent, piece.fragment, region, self._hash(region), name=parent.name, facts={}, budget=Budget()
        )
        self._media_type = parent.media_type
        self._reader = piece_reader

    @property
    def inside(self) -> None:
        """Nothing: a piece is never cut again."""

    @property
    def media_type(self) -> str:
        """The whole's."""
        return self._media_type

    def fetch(self) -> bytes:
        """The header's bytes and its own. Raises LoadError (``changed``) when they are no longer what was found."""
        if f"sha256:{self._hash(self._region)}" != self.revision:
            raise LoadError("the file changed while it was read", code="changed", retryable=True)
        return self._header + self._region.read()

    def _document(self) -> Document:
        return self.reading.document(
            self.fetch(),
            source_id=self.source_id,
            name=self.name,
            uri=self.uri,
            revision=self.revision,
            opener=self.fetch,
            reader=self._reader,
        )

    def _hash(self, region: Region) -> str:
        summed = hashlib.sha256(self._header)
        with region.open() as stream:
            for block in blocks(stream, _BLOCK):
                summed.update(block)
        return summed.hexdigest()[:32]


def delimited(source: ByteSource) -> list[Source | Failed]:
    """The pieces of a CSV or TSV file, each under its header; called after their rows, from 1, header not counted."""
    text = as_utf8(source)
    with text.open() as stream:
        sample = stream.read(_SAMPLE).decode("utf-8", "replace")
    delimiter = "\t" if source.media_type == "text/tab-separated-values" else find_delimiter(sample)
    header = _header_end(text, delimiter)
    with text.open() as stream:
        head = stream.read(header)
    reader = DelimitedReader(delimiter=delimiter, has_header=header > 0)
    return [PieceSource(source, piece, text, head, reader) for piece in _cut_rows(text, delimiter, header)]


def json_lines(source: ByteSource) -> list[Source | Failed]:
    """The pieces of a JSON Lines file, called after their rows, from 1; the paths in them count as in the whole."""
    text = as_utf8(source)
    return [PieceSource(source, piece, text, b"", JsonLinesReader(first=piece.before)) for piece in _cut_lines(text)]


def plain(source: ByteSource) -> list[Source | Failed]:
    """The pieces of a text, cut between paragraphs where there are any, called after their characters."""
    text = as_utf8(source)
    return [PieceSource(source, piece, text, b"", TextReader()) for piece in _cut_text(text)]


def as_utf8(source: ByteSource) -> Region:
    """The source's bytes in UTF-8 with line feeds, where they stand if they are that already."""
    region = source.region()
    if region.size > MAX_STREAMED:
        raise ReadError(f"{region.size:,} bytes exceed the limit of {MAX_STREAMED:,} for text", code="too_large")
    with region.open() as stream:
        head = stream.read(_SAMPLE)
    if head.startswith(codecs.BOM_UTF8):
        region = region.part(len(codecs.BOM_UTF8), region.size)
    lines_end_in_feeds = b"\n" in head or b"\r" not in head
    if lines_end_in_feeds and b"\x00" not in head and _is_utf8(region):
        return region
    encoding = "utf-8" if _is_utf8(region) else decode(head).encoding
    spool = Spool()
    spool.begin()
    with region.open() as stream:
        reader = io.TextIOWrapper(stream, encoding, errors="replace", newline=None)
        while block := reader.read(_BLOCK):
            spool.write(block.removeprefix("\ufeff").encode("utf-8", "replace"))
    return spool.end()[0]


def _is_utf8(region: Region) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with region.open() as stream:
            for block in blocks(stream, _BLOCK):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


class _Lines:
    """The lines of a stream for a csv reader, and where in bytes the last one ended."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.end = 0
        self.is_whole = True

    def __iter__(self) -> Iterator[str]:
        while raw := self._stream.readline(MAX_CHARS):
            if len(raw) == MAX_CHARS:
                raise ReadError(f"a line is longer than {MAX_CHARS:,} bytes", code="too_large")
            line = raw.decode("utf-8", "replace")
            if "\r" in line:
                *inner, line = line.replace("\r\n", "\n").split("\r")
                self.is_whole = False
                yield from (part + "\n" for part in inner)
                self.is_whole = True
            self.end += len(raw)
            yield line


def _rows(lines: _Lines, delimiter: str) -> Iterator[list[str]]:
    number = 0
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            number += 1
            yield row
    except csv.Error as error:
        raise ReadError(f"row {number + 1} cannot be parsed as delimited text: {error}", code="damaged") from error


def _header_end(text: Region, delimiter: str) -> int:
    """Where the header ends in bytes, 0 when there is none."""
    with text.open() as stream:
        lines = _Lines(stream)
        first: list[str] = []
        end = 0
        for row in _rows(lines, delimiter):
            if not is_filled(row):
                continue
            if first:
                return end if is_header([first, row]) else 0
            first, end = row, lines.end
    return 0


def _cut_rows(text: Region, delimiter: str, header: int) -> Iterator[Piece]:
    """The pieces behind the header; a row counts as long as it will be shown, with bars between its cells."""
    start = end = header
    rows = first = length = 0
    at_line_end = True
    with text.open() as stream:
        stream.seek(header)
        lines = _Lines(stream)
        for row in _rows(lines, delimiter):
            size = sum(map(len, row)) + 3 * len(row)
            if length + size > PIECE_CHARS - header and rows > first and at_line_end:
                yield Piece(start, end, f"rows={first + 1}-{rows}", first)
                start, first, length = end, rows, 0
            length += size
            rows += is_filled(row)
            at_line_end = lines.is_whole
            end = header + lines.end
    if rows > first:
        yield Piece(start, text.size, f"rows={first + 1}-{rows}", first)


def _cut_lines(text: Region) -> Iterator[Piece]:
    start = at = 0
    rows = first = 0
    with text.open() as stream:
        while raw := stream.readline(MAX_CHARS):
            if len(raw) == MAX_CHARS:
                raise ReadError(f"line {rows + 1} is longer than {MAX_CHARS:,} bytes", code="too_large")
            if rows > first and at + len(raw) - start > PIECE_CHARS:
                yield Piece(start, at, f"rows={first + 1}-{rows}", first)
                start, first = at, rows
            at += len(raw)
            rows += not raw.isspace()
    if rows > first:
        yield Piece(start, at, f"rows={first + 1}-{rows}", first)


def _cut_text(text: Region) -> Iterator[Piece]:
    start = characters = 0
    with text.open() as stream:
        while start < text.size:
            stream.seek(start)
            window = stream.read(PIECE_CHARS)
            if start + len(window) < text.size:
                window = window[: _text_end(window)]
            count = len(window.decode("utf-8", "replace"))
            end = start + len(window)
            if window.strip():
                yield Piece(start, end, f"chars={characters}-{characters + count}", characters)
            start, characters = end, characters + count


def _text_end(window: bytes) -> int:
    """Where to cut: behind the last blank line in the second half, else the last line, else the last character."""
    for mark in (b"\n\n", b"\n\r\n", b"\n", b" "):
        at = window.rfind(mark, len(window) // 2)
        if at >= 0:
            return at + len(mark)
    end = len(window)
    while end > 1 and window[end - 1] & 0xC0 == 0x80:
        end -= 1
    return end - 1 if window[end - 1] & 0xC0 == 0xC0 else len(window)
