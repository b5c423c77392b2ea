"""Text cut into pieces of at most so many characters, at the best place each window offers.

One piece at a time: inside ``[start, start + size]`` the last paragraph end is taken, else the last sentence end, line
end, word end, and only then a bare grapheme boundary. Nothing is looked at outside the window, so time is linear in
the text whatever it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from florilege.model.errors import ConfigError
from florilege.split.boundaries import PROSE, Level, first_ink, trimmed
from florilege.split.prose import usual_cut, usual_start
from florilege.text.graphemes import boundary_after, boundary_before, is_boundary


class Piece(NamedTuple):
    """A verbatim slice: ``text`` is what stands between the two code-point offsets, the end excluded."""

    text: str
    start_index: int
    end_index: int


class Usual(int):
    """An overlap nobody asked for: it gives way to a small size, where one that was asked for is refused."""


USUAL_OVERLAP = Usual(150)


@dataclass(frozen=True, slots=True)
class TextSplitter:
    """Cuts text at paragraphs, else sentences, else words, else grapheme boundaries.

    ``max_chars`` is hard, the overlap included; a grapheme cluster alone longer than it is the one thing cut inside.
    A piece begins at most ``overlap_chars`` before the end of the piece before it, at the start of the largest unit
    that fits in there; by default 150, half of ``max_chars`` at most. Raises :class:`ConfigError` unless
    ``0 <= overlap_chars < max_chars``.
    """

    max_chars: int = 1200
    overlap_chars: int = USUAL_OVERLAP

    def __post_init__(self) -> None:
        object.__setattr__(self, "overlap_chars", overlap_within(self.overlap_chars, self.max_chars))
        check_sizes(max_chars=self.max_chars, overlap_chars=self.overlap_chars)

    def split(self, text: str) -> list[Piece]:
        """The pieces of ``text`` in order; none for a blank text."""
        return [
            Piece(text[start:end], start, end)
            for start, end in spans(text, 0, len(text), self.max_chars, self.overlap_chars)
        ]


def overlap_within(overlap: int, size: Any) -> int:
    """``overlap``; half of ``size`` at most when nobody asked for it."""
    return min(int(overlap), size // 2) if isinstance(overlap, Usual) and isinstance(size, int) else overlap


def check_sizes(
    *, max_chars: Any, overlap_chars: Any = 0, names: tuple[str, str] = ("max_chars", "overlap_chars")
) -> None:
    """Refuse sizes no piece can have, naming the option."""
    for name, value, least in ((names[0], max_chars, 1), (names[1], overlap_chars, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ConfigError(f"{name} must be a whole number of at least {least}, not {value!r}")
    if overlap_chars >= max_chars:
        raise ConfigError(f"{names[1]}={overlap_chars} must be smaller than {names[0]}={max_chars}")


def spans(
    text: str,
    start: int,
    end: int,
    size: int,
    overlap: int = 0,
    ladder: Sequence[Level] = PROSE,
    floor: int = 0,
) -> list[tuple[int, int]]:
    """The pieces of ``text[start:end]`` as (start, end), at most ``size`` long, in order.

    ``ladder`` holds the units to cut between, coarsest first. No piece ends at or before ``floor`` when its window
    reaches beyond it.
    """
    end = trimmed(text, start, end)
    fresh = start = opening(text, start, end, size)
    usual = ladder is PROSE
    quarter = size // 4
    pieces: list[tuple[int, int]] = []
    while fresh < end:
        high = start + size
        if high >= end:
            pieces.append((start, end))
            break
        # Most pieces end with a paragraph; what the levels would answer is then known without asking them.
        cut = text.rfind("\n\n", max(fresh, start + quarter), high + 2) if usual else -1
        if cut <= fresh or text[cut - 1].isspace():
            cut = usual_cut(text, start, fresh, high, end) if usual else -1
            if cut < 0:
                start, fresh, cut = _unusual(text, pieces, start, fresh, end, size, ladder, floor)
                if cut < 0:
                    continue
        pieces.append((start, cut))
        if cut + 2 < end and text[cut] == "\n" == text[cut + 1] and not text[cut + 2].isspace():
            fresh = cut + 2
        else:
            fresh = opening(text, cut, end, size)
        if not overlap or fresh >= end:
            start = fresh
            continue
        low = cut - overlap if cut - overlap > start else start + 1
        begin = usual_start(text, low, cut) if usual else -1
        if begin >= 0 and begin + 2 < cut and text[begin] == "\n" == text[begin + 1] and not text[begin + 2].isspace():
            begin += 2
        elif begin < 0 or not "!" <= text[begin + 1] < "\u007f":
            begin = _overlap_start(text, start, low, cut, size, ladder, begin)
        else:
            begin += 1
        start = begin if begin < cut else fresh
    return pieces


def _unusual(
    text: str,
    pieces: Sequence[tuple[int, int]],
    start: int,
    fresh: int,
    end: int,
    size: int,
    ladder: Sequence[Level],
    floor: int,
) -> tuple[int, int, int]:
    """Where the next piece begins, what of it is new, and its end, as the levels say; no end: begin there anew."""
    high = start + size
    low = floor if fresh <= floor < high else fresh
    found = ladder[0].last(text, low, high)
    if found < 0 and start < fresh:
        start = _made_room(text, pieces[-1], start, fresh, end, size, ladder)
        high = start + size
        found = ladder[0].last(text, low, high) if high < end else end
    cut = _cut(text, start, low, high, end, ladder, found)
    if cut <= fresh or (text[fresh].isspace() and cut <= first_ink(text, fresh, end)):
        fresh = first_ink(text, fresh, end)  # overlap or indentation crowds out a long cluster
        return fresh, fresh, -1
    return start, fresh, cut


def _overlap_start(text: str, start: int, low: int, cut: int, size: int, ladder: Sequence[Level], before: int) -> int:
    """Where in [low, cut) the piece behind ``cut`` begins, ``cut`` when nowhere; a unit ends at ``before``, or -1."""
    begin = opening(text, before, cut, size) if before >= 0 else -1
    if not low <= begin < cut:
        begin = _unit_start(text, low, cut, size, ladder)
    return boundary_after(text, low, start, cut) if begin < 0 else begin


def opening(text: str, at: int, end: int, size: int) -> int:
    """Where a piece that may start at ``at`` starts: blank lines skipped, the indentation of its first line kept."""
    if at + 2 < end and "!" <= text[at + 1] < "\u007f" and text[at].isspace():
        return at + 1
    if at + 2 < end and text.startswith("\n\n", at) and not text[at + 2].isspace():
        return at + 2
    ink = first_ink(text, at, end)
    if ink in (at, end):
        return ink
    line = text.rfind("\n", at, ink) + 1
    if line or at == 0 or text[at - 1] == "\n":
        line = max(line, at)
        if ink - line <= size // 2:
            return line
    return ink if size == 1 or is_boundary(text, ink, at) else ink - 1


def _cut(text: str, start: int, low: int, high: int, end: int, ladder: Sequence[Level], coarse: int) -> int:
    """The end in (low, high] of the piece that begins at ``start``; ``coarse`` is the last end of the first level.

    Units are kept whole while they fit a piece. One that cannot fit is cut inside; a lead of less than a quarter piece
    before it then stays with it.
    """
    size = high - start
    found = coarse
    for level in ladder:
        found = coarse if level is ladder[0] else level.last(text, low, high)
        if found < 0:
            continue
        fitting = found + size
        if found - start >= size // 4 or end <= fitting or level.first(text, high, fitting + 1) >= 0:
            if text.isascii() or is_boundary(text, found, start):
                return found
            found = boundary_before(text, found, low)
            if found > low:
                return found
    return boundary_before(text, high, start)


def _made_room(
    text: str, before: tuple[int, int], start: int, fresh: int, end: int, size: int, ladder: Sequence[Level]
) -> int:
    """``start``, or a later place inside the overlap from which a whole unit fits that would not fit from there."""
    whole = end if end <= fresh + size else ladder[0].first(text, start + size, min(fresh + size, end))
    closer = _unit_start(text, max(start, whole - size), before[1], size, ladder) if whole >= 0 else -1
    return start if closer < 0 else closer


def _unit_start(text: str, low: int, high: int, size: int, ladder: Sequence[Level]) -> int:
    """The first start in [low, high) of a unit, the coarsest there is, or -1."""
    for level in ladder:
        found = level.first(text, low - 1, high)
        if found >= 0:
            begin = opening(text, found, high, size)
            if low <= begin < high:
                return begin
    return -1
