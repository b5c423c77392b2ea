"""From a place in a hit's text to the place in its source."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from florilege.model.chunk import Provenance
from florilege.model.document import Span


class Piece(NamedTuple):
    """``text[start:end]`` is the document's content from ``source`` on."""

    start: int
    end: int
    source: int
    part_id: str | None


def pieces(text: str, provenance: Provenance, content: str | None = None) -> list[Piece]:
    """Which slices of the source ``text`` is made of, in order; none where that is not certain.

    An exact text is its source spans, joined by equal stretches of white space. A derived one is looked up in the
    document's ``content`` when that is at hand: each span, in order, where it stands verbatim.
    """
    if provenance.confidence == "exact":
        found = _laid_out(text, provenance.source_spans)
        if found and content is not None:
            return [item for item in found if _verbatim(text, item, content)]
        return found
    return [] if content is None else _looked_up(text, provenance.source_spans, content)


def source_spans(found: Sequence[Piece], start: int, end: int) -> tuple[Span, ...]:
    """The spans of the source behind ``[start, end)`` of the text that ``found`` are the pieces of."""
    first = max(0, bisect_right([piece.start for piece in found], start) - 1)
    spans = []
    for piece in found[first:]:
        low, high = max(start, piece.start), min(end, piece.end)
        if low < high:
            at = piece.source - piece.start
            spans.append(Span(low + at, high + at, piece.part_id))
    return tuple(spans)


def inside(found: Sequence[Piece], spans: Sequence[Span]) -> tuple[int, int] | None:
    """Where one span of the source stands in the text that ``found`` are the pieces of; None when in no one piece."""
    if len(spans) == 1:
        for piece in found:
            start = spans[0].start - piece.source + piece.start
            end = start + spans[0].end - spans[0].start
            if piece.start <= start and end <= piece.end:
                return start, end
    return None


def _laid_out(text: str, spans: Sequence[Span]) -> list[Piece]:
    lengths = [span.end - span.start for span in spans]
    gaps = len(spans) - 1
    space = len(text) - sum(lengths)
    if gaps < 0 or space < 0 or (space if not gaps else space % gaps):
        return []
    joint = space // gaps if gaps else 0
    found: list[Piece] = []
    at = 0
    for span, length in zip(spans, lengths, strict=True):
        if found and text[at - joint : at].strip():
            return []
        found.append(Piece(at, at + length, span.start, span.part_id))
        at += length + joint
    return found


def _looked_up(text: str, spans: Sequence[Span], content: str) -> list[Piece]:
    found: list[Piece] = []
    cursor = 0
    for span in spans:
        wanted = content[span.start : span.end]
        lead = len(wanted) - len(wanted.lstrip())
        wanted = wanted.strip()
        at = text.find(wanted, cursor) if wanted else -1
        if at >= 0:
            cursor = at + len(wanted)
            found.append(Piece(at, cursor, span.start + lead, span.part_id))
    return found


def _verbatim(text: str, piece: Piece, content: str) -> bool:
    return content.startswith(text[piece.start : piece.end], piece.source)
