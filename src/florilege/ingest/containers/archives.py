"""Archives, unpacked as a stream: zip, tar, and single files packed with gzip, bzip2 or xz.

Names of entries are never used as paths; only regular files are taken. What comes out is counted as it comes out,
because headers lie, and goes to a temporary file, so memory stays small.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from florilege.ingest.containers.children import Collector, blocks
from florilege.ingest.containers.limits import MAX_DEPTH, MAX_ENTRIES, check_ratio
from florilege.ingest.containers.tar import Forward, entries, is_tar
from florilege.ingest.ignore import DEFAULT_PATTERNS, IgnoreRules, is_taken
from florilege.ingest.source import ByteSource
from florilege.interfaces.sources import Source
from florilege.model.document import Failed
from florilege.model.errors import ReadError

_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError, ValueError)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
_SUFFIXES = {".gz": "", ".bz2": "", ".xz": "", ".tgz": ".tar", ".tbz2": ".tar", ".txz": ".tar"}
_XZ_MEMORY = 128_000_000
_BLOCK = 1 << 16
_END = b"PK\x05\x06"
_DIRECTORY_ENTRY = 46
_IGNORED = IgnoreRules([*DEFAULT_PATTERNS, "__MACOSX/"])


def zipped(source: ByteSource) -> list[Source | Failed]:
    """The entries of a zip file."""
    collector = _collector(source)
    with source.region().open() as stream:
        _check_directory(stream, source.region().size)
        try:
            archive = zipfile.ZipFile(stream)
        except _DAMAGE as error:
            raise ReadError("the archive is damaged", code="damaged") from error
        for info in archive.infolist():
            if info.flag_bits & 1:
                raise ReadError("the archive is encrypted: unpack it, or pack it without a password", code="encrypted")
            if not info.is_dir() and is_taken(info.filename, _IGNORED):
                collector.entry(info.filename, _inflated(archive, info, source.region().size))
    return collector.children


def tarred(source: ByteSource) -> list[Source | Failed]:
    """The files in a tar archive."""
    with source.region().open() as stream:
        return _tar(source, blocks(stream))


def packed(source: ByteSource) -> list[Source | Failed]:
    """The one file in a gzip, bzip2 or xz file, or the files of the tar archive inside it."""
    with source.region().open() as stream:
        pieces = unpacked(stream, source.media_type)
        head = b""
        while len(head) < 512 and (piece := next(pieces, b"")):
            head += piece
        if is_tar(head):
            return _tar(source, _chained(head, pieces))
        collector = _collector(source)
        collector.entry(_inner_name(source.name), _chained(head, pieces))
        return collector.children


def unpacked(stream: BinaryIO, media_type: str) -> Iterator[bytes]:
    """The bytes inside a packed stream, members one after another; raises :class:`ReadError`."""
    given = came_out = 0
    unpacker = _Unpacker(media_type)
    for data in blocks(stream):
        given += len(data)
        try:
            for piece in unpacker.feed(data):
                came_out += len(piece)
                check_ratio(given, came_out)
                yield piece
        except _DAMAGE as error:
            raise ReadError("the packed file is damaged", code="damaged") from error
    if not unpacker.is_at_end:
        raise ReadError("the packed file ends too early", code="damaged")


def _collector(source: ByteSource) -> Collector:
    if source.above >= MAX_DEPTH:
        raise ReadError(f"archives lie more than {MAX_DEPTH} deep in one another", code="too_deep")
    return Collector(source, "entry")


def _tar(source: ByteSource, pieces: Iterator[bytes]) -> list[Source | Failed]:
    collector = _collector(source)
    for name, content in entries(Forward(pieces)):
        if is_taken(name, _IGNORED):
            collector.entry(name, content)
    return collector.children


def _chained(head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from pieces


def _inner_name(name: str | None) -> str:
    base = (name or "").rsplit("/", 1)[-1]
    for suffix, instead in _SUFFIXES.items():
        if base.lower().endswith(suffix) and len(base) > len(suffix):
            return base[: -len(suffix)] + instead
    return base or "content"


def _inflated(archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: int) -> Iterator[bytes]:
    if info.compress_type not in _METHODS:
        raise ReadError("the entry is compressed in a way that is not read", code="unsupported_format")
    came_out = 0
    try:
        with archive.open(info) as stream:
            for piece in blocks(stream):
                came_out += len(piece)
                check_ratio(min(info.compress_size, size), came_out)
                yield piece
    except (*_DAMAGE, RuntimeError, struct.error) as error:
        raise ReadError("the entry is damaged", code="damaged") from error


def _check_directory(stream: BinaryIO, size: int) -> None:
    """Refuse a zip whose directory could list far more entries than are taken, before it is read into memory."""
    stream.seek(max(0, size - 66_000))
    tail = stream.read()
    at = tail.rfind(_END)
    length = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    most = min(size, length if length != 0xFFFFFFFF else size)
    if most > MAX_ENTRIES * (_DIRECTORY_ENTRY + 1000):
        raise ReadError(f"it holds more than {MAX_ENTRIES:,} entries", code="too_large")
    stream.seek(0)


class _Unpacker:
    """The three decompressors of the standard library behind one verb; output comes in bounded pieces."""

    def __init__(self, media_type: str) -> None:
        self._magic, self._make = _PACKERS[media_type]
        self._engine: Any = None
        self._members = 0

    @property
    def is_at_end(self) -> bool:
        """Whether the last member is whole."""
        return self._engine is None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What ``data`` adds to the output. Behind the last member anything may follow; it is ignored."""
        full = False
        while data or full:
            if self._engine is None:
                if self._members and not self._magic.startswith(data[: len(self._magic)]):
                    return
                self._engine = self._make()
                self._members += 1
            piece = self._engine.decompress(data, _BLOCK)
            full = len(piece) == _BLOCK
            data = getattr(self._engine, "unconsumed_tail", b"")
            if self._engine.eof:
                data, self._engine, full = self._engine.unused_data, None, False
            if piece:
                yield piece


_PACKERS: dict[str, tuple[bytes, Callable[[], Any]]] = {
    "application/gzip": (b"\x1f\x8b", lambda: zlib.decompressobj(31)),
    "application/x-bzip2": (b"BZh", bz2.BZ2Decompressor),
    "application/x-xz": (b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY)),
}
