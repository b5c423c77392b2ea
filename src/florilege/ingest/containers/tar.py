"""Tar archives read front to back from a stream: ustar, with the long names of GNU and pax.

Links, devices, folders and sparse files are passed over. Nothing is held but the block in hand and one long name.
"""

from __future__ import annotations

from collections.abc import Iterator

from florilege.ingest.containers.limits import MAX_ENTRIES
from florilege.model.errors import ReadError

_BLOCK = 512
_PIECE = 1 << 16
_MAX_HEADER = 1_000_000
_REGULAR = (b"0", b"\x00", b"7")
_MOST_HEADERS = 10 * MAX_ENTRIES


class Forward:
    """Reads exact numbers of bytes from pieces of any size, forward only."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""

    def read(self, size: int) -> bytes:
        """``size`` bytes, fewer only at the end."""
        found = [self._held[:size]]
        length = len(found[0])
        self._held = self._held[size:]
        while length < size and (piece := next(self._pieces, b"")):
            found.append(piece[: size - length])
            self._held = piece[size - length :]
            length += len(found[-1])
        return b"".join(found)

    def blocks(self, size: int) -> Iterator[bytes]:
        """``size`` bytes in small pieces, with the padding to whole blocks read behind them; ReadError at the end."""
        left = size
        while left:
            piece = self.read(min(left, _PIECE))
            if not piece:
                raise ReadError("the archive ends within a file", code="damaged")
            left -= len(piece)
            yield piece
        self.read(-size % _BLOCK)


def is_tar(head: bytes) -> bool:
    """Whether these first 512 bytes begin a tar archive."""
    return len(head) >= _BLOCK and head[257:262] == b"ustar" and _is_header(head[:_BLOCK])


def entries(stream: Forward) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The regular files in order, as (name, content); what is left unread of a content is passed over."""
    long_name: str | None = None
    long_size: int | None = None
    for _ in range(_MOST_HEADERS):
        header = stream.read(_BLOCK)
        if len(header) < _BLOCK or not header.strip(b"\x00"):
            return
        if not _is_header(header):
            raise ReadError("the archive is damaged", code="damaged")
        kind = header[156:157]
        size = _number(header[124:136]) if long_size is None else long_size
        content = stream.blocks(size)
        if kind in (b"L", b"x"):
            body = _header_body(content, size)
            if kind == b"L":
                long_name = _text(body)
            else:
                fields = _pax(body)
                long_name = fields.get("path", long_name)
                long_size = int(fields["size"]) if fields.get("size", "").isdecimal() else None
            continue
        name = long_name if long_name is not None else _name(header)
        long_name = long_size = None
        if kind in _REGULAR and not name.endswith("/"):
            yield name, content
        for _ in content:
            pass
    raise ReadError(f"it holds more than {MAX_ENTRIES:,} entries", code="too_large")


def _is_header(block: bytes) -> bool:
    """Whether the block's checksum is right; some writers summed signed bytes."""
    try:
        stated = _number(block[148:156])
    except ReadError:
        return False
    summed = block[:148] + b" " * 8 + block[156:]
    return stated in (sum(summed), sum(summed) - 256 * sum(byte > 127 for byte in summed))


def _number(data: bytes) -> int:
    if data[:1] == b"\x80":
        return int.from_bytes(data[1:], "big")
    try:
        return int(data.split(b"\x00", 1)[0].strip() or b"0", 8)
    except ValueError:
        raise ReadError("the archive is damaged", code="damaged") from None


def _header_body(content: Iterator[bytes], size: int) -> bytes:
    if size > _MAX_HEADER:
        raise ReadError("a header of the archive is larger than any name", code="too_large")
    return b"".join(content)


def _pax(body: bytes) -> dict[str, str]:
    """Records of the form ``length name=value`` and a line feed."""
    fields: dict[str, str] = {}
    while body:
        length, _, _ = body.partition(b" ")
        if not length.isdigit() or not 0 < int(length) <= len(body):
            break
        name, _, value = body[len(length) + 1 : int(length)].rstrip(b"\n").partition(b"=")
        fields[_text(name)] = _text(value)
        body = body[int(length) :]
    return fields


def _name(header: bytes) -> str:
    name = _text(header[:100])
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\x00" else ""
    return f"{prefix}/{name}" if prefix else name


def _text(data: bytes) -> str:
    return data.split(b"\x00", 1)[0].decode("utf-8", "surrogateescape")
