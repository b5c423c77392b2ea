"""Which boxes of a page a stretch of its text comes from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from florilege.model.chunk import PageBox
from florilege.model.document import BBox, Part

_ALIGNED = 0.5  # share of the narrower box's width that two boxes of one column have in common
_NEAR = 2.0  # heights of the taller box that may lie between two boxes of one paragraph flow


class Boxes:
    """The blocks of a part by where their text stands in the document's content."""

    def __init__(self, part: Part) -> None:
        self._page = part.page
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._boxes: list[BBox] = []
        cursor = 0
        for block in part.blocks:
            if block.span is not None:
                start, end = block.span.start, block.span.end
            else:
                found = part.text.find(block.text, cursor)
                if found < 0 or not block.text:
                    continue
                cursor = found + len(block.text)
                start, end = part.span.start + found, part.span.start + cursor
            if block.bbox is not None:
                self._starts.append(start)
                self._ends.append(end)
                self._boxes.append(block.bbox)

    def between(self, start: int, end: int) -> list[PageBox]:
        """The boxes that text in [start, end) touches, those of one column run together; none without a page."""
        if self._page is None:
            return []
        first = bisect_right(self._ends, start)
        past = bisect_left(self._starts, end)
        return [PageBox(self._page, box) for box in merged(self._boxes[first:past])]


def merged(boxes: list[BBox]) -> list[BBox]:
    """Boxes in reading order, each run of stacked ones in a column replaced by the box around it."""
    found: list[BBox] = []
    height = 0.0
    for box in boxes:
        if found and stacked(found[-1], box, max(height, box[3] - box[1])):
            last = found[-1]
            found[-1] = (min(last[0], box[0]), min(last[1], box[1]), max(last[2], box[2]), max(last[3], box[3]))
        else:
            found.append(box)
        height = box[3] - box[1]
    return found


def stacked(above: BBox, below: BBox, height: float) -> bool:
    """Whether ``below`` continues the column of ``above``; ``height`` is that of a line."""
    common = min(above[2], below[2]) - max(above[0], below[0])
    width = min(above[2] - above[0], below[2] - below[0])
    return common >= _ALIGNED * width and -height <= below[1] - above[3] <= _NEAR * height
