"""From a page's lines to its text: reading order, joined hyphens, paragraphs set apart by a blank line.

The order of the content stream is kept, because producers mostly write in reading order, except where two columns
were written row by row: then the left one is read before the right one, band by band between lines that span both.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from florilege.ingest.pdf.glyphs import Line, PageText
from florilege.model.document import Block, Span

_MIN_PAIRS = 4
_SENTENCE_ENDS = (".", "!", "?", ":", "。", "！", "？")


def reading_order(page: PageText) -> list[Line]:
    """The lines of ``page`` as a person reads them."""
    pieces = [segment for line in page.lines for segment in line.segments()]
    gutter = _gutter(pieces, page.width)
    if gutter is None:
        return page.lines
    ordered: list[Line] = []
    left: list[Line] = []
    right: list[Line] = []

    def end_band() -> None:
        for column in (left, right):
            ordered.extend(sorted(column, key=lambda line: line.box[3]))
            column.clear()

    for piece in sorted(pieces, key=lambda line: (line.box[1] + line.box[3], line.box[0])):
        x0, _, x1, _ = piece.box
        if x1 <= gutter:
            left.append(piece)
        elif x0 >= gutter:
            right.append(piece)
        else:
            end_band()
            ordered.append(piece)
    end_band()
    return ordered


def compose(lines: list[Line], page: PageText) -> tuple[str, list[Block]]:
    """The text of ``lines`` and a block a line, with spans in that text."""
    pieces: list[str] = []
    blocks: list[Block] = []
    length = 0
    pitch = _pitch(lines)
    previous: Line | None = None
    for line in lines:
        text = line.text
        joint = _joint(previous, line, pitch) if previous is not None else ""
        pieces += (joint, text)
        length += len(joint)
        span = Span(length, length + len(text))
        length = span.end
        blocks.append(Block(text=text, bbox=page.normal(line.box), kind="line", span=span))
        previous = line
    return "".join(pieces), blocks


def headline(lines: list[Line], page: PageText) -> str | None:
    """The largest text in the upper half of a page, when it is clearly larger than the rest: a title."""
    if len(lines) < 2:
        return None
    usual = median(line.size for line in lines)
    upper = [line for line in lines if line.box[3] < page.height / 2 and sum(map(str.isalpha, line.text)) >= 3]
    largest = max((line.size for line in upper), default=0.0)
    if largest < 1.2 * usual or not usual:
        return None
    words: list[str] = []
    for line in upper:
        if line.size >= 0.9 * largest:
            words.append(line.text)
        elif words:
            break
    return " ".join(words) if len(words) <= 3 else None


def _gutter(pieces: list[Line], width: float) -> float | None:
    """The middle of the gap between two columns that were written row by row."""
    gaps: list[tuple[float, float]] = []
    for one, other in pairwise(pieces):
        a, b = one.box, other.box
        level = min(a[3], b[3]) - max(a[1], b[1]) > 0.5 * min(a[3] - a[1], b[3] - b[1])
        wide = min(a[2] - a[0], b[2] - b[0]) > 0.25 * width
        if level and wide and b[0] > a[2]:
            gaps.append((a[2], b[0]))
    if len(gaps) < _MIN_PAIRS or len(gaps) * 4 < len(pieces):
        return None
    start, end = max(gap[0] for gap in gaps), min(gap[1] for gap in gaps)
    return (start + end) / 2 if start < end else None


def _pitch(lines: list[Line]) -> float:
    """The usual distance from one line's foot to the next."""
    steps = [b.box[3] - a.box[3] for a, b in pairwise(lines) if 0.5 * a.height < b.box[3] - a.box[3] < 4 * a.height]
    return median(steps) if steps else 0.0


def _joint(above: Line, below: Line, pitch: float) -> str:
    if above.hyphen and below.text[:1].isalpha():
        return ""
    step = below.box[3] - above.box[3]
    if step < -0.5 * above.height:  # back up: the next column
        return "\n\n" if above.text.endswith(_SENTENCE_ENDS) else "\n"
    return "\n\n" if pitch and step > 1.4 * pitch else "\n"
