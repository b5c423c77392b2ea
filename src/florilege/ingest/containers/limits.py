"""How much may come out of a container, counted on what really comes out."""

from __future__ import annotations

from florilege.model.errors import ReadError

MAX_UNPACKED = 500_000_000
MAX_ENTRIES = 10_000
MAX_RATIO = 100
RATIO_FLOOR = 1_000_000
MAX_DEPTH = 2

PIECES_ABOVE = 50_000_000
"""Texts of more bytes than this are cut into pieces."""
PIECE_CHARS = 5_000_000
MAX_STREAMED = 2_000_000_000


class Budget:
    """What a container and everything inside it may unpack: bytes and entries together."""

    def __init__(self) -> None:
        self._bytes = 0
        self._entries = 0

    def entry(self) -> None:
        """Count an entry; raises :class:`ReadError` (``too_large``) past the limit."""
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise ReadError(f"it holds more than {MAX_ENTRIES:,} entries", code="too_large")

    def unpacked(self, size: int) -> None:
        """Count bytes that came out; raises alike."""
        self._bytes += size
        if self._bytes > MAX_UNPACKED:
            raise ReadError(f"it unpacks to more than {MAX_UNPACKED:,} bytes", code="too_large")


def check_ratio(given: int, came_out: int) -> None:
    """Raise :class:`ReadError` (``too_large``) when ``given`` packed bytes became too many."""
    if came_out > RATIO_FLOOR and came_out > MAX_RATIO * given:
        raise ReadError(f"it unpacks to more than {MAX_RATIO} times its size", code="too_large")
