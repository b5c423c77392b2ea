"""Stretches of bytes that can be read anywhere, by several threads at once, without being held in memory."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

Take = Callable[[int, int], bytes]
"""``take(offset, size)``: that many bytes from there, fewer only at the end."""


@dataclass(frozen=True, slots=True)
class Region:
    """``size`` bytes from ``start`` of whatever ``take`` reads."""

    take: Take
    start: int
    size: int

    @classmethod
    def of_bytes(cls, data: bytes) -> Region:
        """Bytes in memory."""
        return cls(lambda offset, size: data[offset : offset + size], 0, len(data))

    @classmethod
    def of_file(cls, descriptor: int) -> Region:
        """An open file, closed when the last of its regions goes."""
        held = _Held(descriptor)
        return cls(held.take, 0, os.fstat(descriptor).st_size)

    def part(self, start: int, end: int) -> Region:
        """The bytes from ``start`` to ``end`` of this one."""
        return Region(self.take, self.start + start, end - start)

    def open(self) -> BinaryIO:
        """A stream over it, for one thread."""
        return io.BufferedReader(_Stream(self), 1 << 16)

    def read(self) -> bytes:
        """All of it."""
        with self.open() as stream:
            return stream.read()


class _Stream(io.RawIOBase):
    def __init__(self, region: Region) -> None:
        self._region = region
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._region.size}[whence]
        if base + offset < 0:
            raise OSError("seek to before the beginning")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed wants a protocol
        size = min(len(buffer), self._region.size - self._at)
        if size <= 0:
            return 0
        data = self._region.take(self._region.start + self._at, size)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Held:
    """A file descriptor that is closed with this object."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def take(self, offset: int, size: int) -> bytes:
        return os.pread(self.descriptor, size, offset)

    def __del__(self) -> None:
        os.close(self.descriptor)


class Spool:
    """A temporary file that grows; what was written is read back as regions. It goes when the last region does."""

    def __init__(self) -> None:
        descriptor, path = tempfile.mkstemp(prefix="florilege-")
        os.unlink(path)
        self._held = _Held(descriptor)
        self._size = 0
        self._begun = 0
        self._hash = hashlib.sha256()

    def begin(self) -> None:
        """Begin a region at the end."""
        self._begun = self._size
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> None:
        """Append."""
        left = memoryview(data)
        while left:
            left = left[os.write(self._held.descriptor, left) :]
        self._hash.update(data)
        self._size += len(data)

    def end(self) -> tuple[Region, str]:
        """What was written since :meth:`begin`, and its hash."""
        return Region(self._held.take, self._begun, self._size - self._begun), self._hash.hexdigest()[:32]
