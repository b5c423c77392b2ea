"""A document as runs: stretches of neighbouring parts that may share a chunk.

Narrative parts (text, code, images) under one heading trail make a run, with the headings they stand under at its
front; a page, a table, a sheet and a stretch of JSON values make runs of their own. Packing restarts with every run,
so an edit never moves a cut outside the run it falls in.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile

from florilege.model.document import Document, Part
from florilege.model.errors import ChunkingError

_NARRATIVE = frozenset({"text", "code", "image"})


@dataclass(slots=True)
class Run:
    """Parts that may share a chunk. ``content[start:end]`` is all of it, the gaps between its parts included.

    ``kind`` is "narrative" or the kind of its parts; ``lead`` is where the headings at its front end (``start`` when
    there are none); ``trail`` holds the headings it stands under, its own included.
    """

    kind: str
    start: int
    end: int
    lead: int
    trail: tuple[str, ...]
    parts: list[Part] = field(default_factory=list)

    @property
    def only_headings(self) -> bool:
        """Whether nothing but headings is in it yet."""
        return self.lead == self.end

    def between(self, start: int, end: int) -> Run | None:
        """What of the run lies in [start, end), None when nothing does; some of a table is text."""
        if end <= self.start or start >= self.end:
            return None
        if start <= self.start and self.end <= end:
            return self
        first = bisect_right(self.parts, start, key=_end_of)
        parts = self.parts[first : bisect_left(self.parts, end, key=_start_of)]
        start = max(start, self.start)
        lead = max(start, min(self.lead, end))
        kind = "text" if self.kind == "table" else self.kind
        return replace(self, kind=kind, start=start, end=min(end, self.end), lead=lead, parts=parts)


def runs(document: Document, *, merge_pages: bool = False) -> list[Run]:
    """The runs of ``document`` in order. Text that lies in no part is given to the run beside it.

    Raises :class:`ChunkingError` for a part whose span does not slice back to its text.
    """
    content = document.content
    if not document.parts:
        return [Run("narrative", 0, len(content), 0, ())]
    found = list(_grouped(document, merge_pages))
    if not found:
        return [Run("narrative", 0, len(content), 0, ())]
    _close_gaps(content, found)
    return found


def within(found: Sequence[Run], start: int, end: int) -> list[Run]:
    """What of these runs, which are in order, lies in [start, end)."""
    first = bisect_right(found, start, key=_end_of)
    past = bisect_left(found, end, key=_start_of)
    return [inside for run in found[first:past] if (inside := run.between(start, end))]


def _start_of(stretch: Part | Run) -> int:
    return stretch.span.start if isinstance(stretch, Part) else stretch.start


def _end_of(stretch: Part | Run) -> int:
    return stretch.span.end if isinstance(stretch, Part) else stretch.end


def joined(group: list[Run]) -> Run:
    """One run over a group, under the headings all of it shares."""
    trail = group[0].trail
    for run in group[1:]:
        pairs = zip(trail, run.trail, strict=False)
        trail = tuple([here for here, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)])
    start = group[0].start
    parts = [part for run in group for part in run.parts]
    return Run(group[0].kind, start, group[-1].end, start, trail, parts)


def _grouped(document: Document, merge_pages: bool) -> Iterator[Run]:
    content = document.content
    run: Run | None = None
    for part in document.parts:
        if not part.text.strip():
            continue
        start, end = part.span.start, part.span.end
        if end - start != len(part.text) or not content.startswith(part.text, start):
            raise ChunkingError(
                f"part {part.part_id!r} of {document.source_id!r}: its span does not slice back to its text",
                source_id=document.source_id,
            )
        kind = "narrative" if part.kind in _NARRATIVE else part.kind
        heading = part.role == "heading" and kind == "narrative"
        if run is not None and start >= run.end and _joins(run, part, kind, heading, merge_pages):
            if run.only_headings:
                run.kind, run.trail = kind, part.heading_path or run.trail
            run.end = end
        else:
            if run is not None:
                yield run
            run = Run(kind, start, end, start, part.heading_path)
        if heading:
            run.lead = end
        run.parts.append(part)
    if run is not None:
        yield run


def _joins(run: Run, part: Part, kind: str, heading: bool, merge_pages: bool) -> bool:
    last = run.parts[-1]
    same_page = merge_pages or part.page == last.page
    if run.only_headings:
        return same_page or last.page is None
    if heading or kind != run.kind or kind in ("table", "sheet"):
        return False
    return same_page and part.heading_path == run.trail


def _close_gaps(content: str, found: list[Run]) -> None:
    """Give text that lies in no part to the run before it when it follows on the next line, else to the one after.

    Several lines before the first part (front matter, say) become a run of their own.
    """
    first = found[0]
    opening = content[: first.start].strip()
    if "\n" in opening or "\r" in opening:
        found.insert(0, Run("narrative", 0, first.start, 0, ()))
    elif opening:
        first.start = 0
    at = found[0].end
    for before, run in pairwise(found):
        if run.start > at and not content[at : run.start].isspace():
            edge = content.find("\n\n", at, run.start)
            edge = run.start if edge < 0 else edge
            if content[at:edge].strip():
                before.end = edge
            if content[edge : run.start].strip():
                run.start = edge
        at = max(at, run.end)
    if content[at:].strip():
        found[-1].end = len(content)
