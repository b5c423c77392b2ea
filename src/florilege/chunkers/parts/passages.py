"""Chunks made of verbatim slices of a document, with their provenance."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

from florilege.chunkers.base import content_room, context_line
from florilege.chunkers.parts.boxes import Boxes
from florilege.chunkers.parts.sections import Run
from florilege.model.chunk import Chunk, PageBox, Provenance
from florilege.model.document import Document, Part, Span
from florilege.split.boundaries import CODE, LINES, PROSE, SENTENCES, WORDS, Level, trimmed
from florilege.split.characters import spans

Slice = tuple[int, int]

_T = TypeVar("_T")
_STEP = re.compile(r'\["(?:[^"\\]|\\.)*"\]|\[[^\]]*\]|[^.\[\]$]+')


class PartEnds:
    """The level of whole parts, or of groups of them: units end at the rising indices ``ends``."""

    def __init__(self, ends: Sequence[int]) -> None:
        self._ends = ends

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        index = bisect_right(self._ends, high)
        found = trimmed(text, low, self._ends[index - 1]) if index else -1
        return found if found > low else -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        index = bisect_left(self._ends, low)
        return self._ends[index] if index < len(self._ends) and self._ends[index] < high else -1


class OutsideCode:
    """A level that has no say inside code parts."""

    def __init__(self, level: Level, code: Sequence[Part]) -> None:
        self._level = level
        self._starts = [part.span.start for part in code]
        self._ends = [part.span.end for part in code]

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        found = self._level.last(text, low, high)
        return -1 if found >= 0 and self._holds(found) else found

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        found = self._level.first(text, low, high)
        return -1 if found >= 0 and self._holds(found) else found

    def _holds(self, index: int) -> bool:
        at = bisect_left(self._starts, index) - 1
        return at >= 0 and index < self._ends[at]


def ladder(run: Run) -> tuple[Level, ...]:
    """The units ``run`` may be cut between, coarsest first."""
    code = [part for part in run.parts if part.kind == "code"]
    if code and len(code) == len(run.parts):
        inner: tuple[Level, ...] = CODE
    elif code:
        inner = tuple(OutsideCode(level, code) if level is SENTENCES else level for level in PROSE)
    else:
        inner = (LINES, SENTENCES, WORDS) if run.kind == "json" else PROSE
    if len(run.parts) < 2:
        return inner
    groups = _branch_ends(run.parts) if run.kind == "json" else []
    return (*map(PartEnds, groups), PartEnds([part.span.end for part in run.parts]), *inner)


def _branch_ends(parts: Sequence[Part]) -> list[list[int]]:
    """For each depth of JSON paths down to four, where the values that share a path of that depth end."""
    paths = [path_steps(part.json_path or "") for part in parts]
    levels = []
    for depth in range(1, 5):
        heads = [path[:depth] for path in paths]
        ends = [
            part.span.end for part, here, after in zip(parts, heads, [*heads[1:], None], strict=True) if here != after
        ]
        if 1 < len(ends) < len(parts):
            levels.append(ends)
    return levels


def path_steps(path: str) -> tuple[str, ...]:
    """A JSON path in steps: ``$.users[0].name`` is users, [0], name."""
    return tuple(_STEP.findall(path))


def pack(text: str, run: Run, size: int, overlap: int) -> list[tuple[int, int]]:
    """``run`` as spans of at most ``size`` characters: whole parts while they fit, headings never left alone."""
    return spans(text, run.start, run.end, size, min(overlap, size // 2), ladder(run), run.lead)


@dataclass(frozen=True, slots=True)
class ContextLine:
    """The context a run's chunks share, and the room it leaves for content."""

    line: str
    shortened: bool
    room: int

    @classmethod
    def of(cls, title: str | None, trail: Sequence[str], max_chars: int) -> ContextLine:
        """The context for ``trail`` under ``title``, fitted to a cap of ``max_chars``."""
        line, shortened = context_line(title, trail, max_chars)
        return cls(line, shortened, content_room(max_chars, line))


class Passages:
    """Makes the chunks of one run: slices of the document, or texts derived from slices. Numbered from ``first``."""

    def __init__(
        self,
        document: Document,
        run: Run,
        context: ContextLine,
        first: int = 0,
    ) -> None:
        self._trail = run.trail
        self.document = document
        self._ordinal = first
        self.run = run
        self.context = context
        self._starts = [part.span.start for part in run.parts]
        self._plain = all(
            part.page is None and part.sheet is None and part.table is None and part.json_path is None
            for part in run.parts
        )
        self._boxes: dict[int, Boxes] = {}
        self._metadata = dict(document.metadata)
        if context.shortened:
            self._metadata["context_shortened"] = True

    def under(self, context: str, trail: tuple[str, ...]) -> Passages:
        """The same run, its chunks under another context and other headings."""
        other = copy(self)
        other.context, other._trail = ContextLine(context, False, 0), trail
        return other

    def exact(self, found: Iterable[Slice]) -> list[Chunk]:
        """One chunk a span, its content the slice itself."""
        content = self.document.content
        return [self.made(content[start:end], ((start, end),)) for start, end in found]

    def made(
        self,
        content: str,
        sources: Sequence[Slice],
        *,
        derived: bool = False,
        cell_ranges: tuple[str, ...] = (),
        bboxes: tuple[PageBox, ...] | None = None,
        chunker: str | None = None,
        piece_id: str | None = None,
    ) -> Chunk:
        """A chunk of ``content``, which is the slices ``sources`` or, ``derived``, a text built from them."""
        document = self.document
        indices = self.touched(sources)
        parts = [self.run.parts[index] for index in indices]
        only = parts[0].part_id if len(parts) == 1 else None
        derived = derived or any(part.confidence == "derived" for part in parts)
        self._ordinal += 1
        placed = [] if self._plain else parts
        return Chunk(
            source_id=document.source_id,
            namespace=document.namespace,
            content=content,
            ordinal=self._ordinal - 1,
            context=self.context.line,
            metadata=dict(self._metadata),
            provenance=Provenance(
                part_ids=tuple([part.part_id for part in parts]),
                pages=_distinct([part.page for part in placed]),
                sheets=_distinct([part.sheet for part in placed]),
                tables=_distinct([part.table for part in placed]),
                json_paths=_distinct([part.json_path for part in placed]),
                cell_ranges=cell_ranges,
                headings=self._trail,
                source_spans=tuple([Span(start, end, only) for start, end in sources]),
                bboxes=self._page_boxes(indices, sources) if bboxes is None else bboxes,
                confidence="derived" if derived else "exact",
                chunker=chunker,
                piece_id=piece_id,
            ),
        )

    def touched(self, sources: Sequence[Slice]) -> list[int]:
        """The indices of the run's parts that any of these slices overlaps."""
        parts = self.run.parts
        found = []
        for start, end in sources:
            first = max(0, bisect_right(self._starts, start) - 1)
            past = bisect_left(self._starts, end)
            found += [index for index in range(first, past) if parts[index].span.end > start]
        return found if len(sources) == 1 else sorted(set(found))

    def _page_boxes(self, indices: Sequence[int], sources: Sequence[Slice]) -> tuple[PageBox, ...]:
        found: list[PageBox] = []
        for index in indices:
            if self.run.parts[index].blocks:
                if index not in self._boxes:
                    self._boxes[index] = Boxes(self.run.parts[index])
                for start, end in sources:
                    found += self._boxes[index].between(start, end)
        return tuple(found)


def _distinct(values: Sequence[_T | None]) -> tuple[_T, ...]:
    if not values:
        return ()
    return tuple(dict.fromkeys([value for value in values if value is not None]))
