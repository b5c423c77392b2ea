"""Sentences as the material of semantic cuts: where they stand, how alike neighbours are, how they are grouped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from florilege.chunkers.parts.passages import Slice, ladder
from florilege.chunkers.parts.sections import Run
from florilege.interfaces.embedding import Embedder
from florilege.model.document import Document
from florilege.split.boundaries import first_ink, trimmed
from florilege.split.characters import spans
from florilege.text.sentences import sentence_ends

T = TypeVar("T")


class Segment(NamedTuple):
    """A sentence of the document, or a piece of one too long for a chunk: ``text`` is ``content[start:end]``."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Boundary:
    """A passage a segment function found: offsets into the document's content, and why it thinks so."""

    start: int
    end: int
    reason: str | None = None
    confidence: float | None = None


def fitted(made: Callable[[int], T], size: int, fits: Callable[[T], bool]) -> T:
    """What is made at the first of ``size``, half of it, a quarter ... at which it fits, at 1 at the latest."""
    found = made(size)
    while size > 1 and not fits(found):
        size //= 2
        found = made(size)
    return found


def segments(document: Document, run: Run, size: int, fits: Callable[[str], bool]) -> list[Segment]:
    """The sentences of ``run``, none longer than ``size`` and none across a part; headings go with what follows.

    One whose text does not fit is cut smaller.
    """

    def cut(low: int, high: int, most: int) -> list[tuple[int, int]]:
        return [(low, high)] if high - low <= most else spans(content, low, high, most, 0, ladder(run))

    content = document.content
    ends = {part.span.end for part in run.parts} | {run.end}
    marks = sorted(ends.union(sentence_ends(content, run.start, run.end)))
    found: list[Segment] = []
    start = run.start
    for mark in marks:
        glued = mark <= run.lead and mark < run.end
        if glued or not run.start < mark <= run.end or not content[start:mark].strip():
            continue
        low, high = first_ink(content, start, mark), trimmed(content, start, mark)
        pieces = fitted(
            lambda most, low=low, high=high: cut(low, high, most),  # type: ignore[misc]
            size,
            lambda pieces: all(fits(content[first:past]) for first, past in pieces),
        )
        found += [Segment(content[first:past], first, past) for first, past in pieces]
        start = mark
    return found


def similarities(groups: Sequence[Sequence[Segment]], embedder: Embedder) -> list[list[float]]:
    """For each group, the cosine of every segment with the next; all texts embedded together, in batches."""
    import numpy as np

    texts = [segment.text for group in groups if len(group) > 1 for segment in group]
    size = max(1, embedder.max_batch)
    blocks = [embedder.embed_many(texts[at : at + size]).vectors for at in range(0, len(texts), size)]
    vectors = np.concatenate([np.asarray(block, dtype=np.float32) for block in blocks]) if blocks else None
    found: list[list[float]] = []
    at = 0
    for group in groups:
        if len(group) < 2 or vectors is None:
            found.append([])
            continue
        own = vectors[at : at + len(group)]
        at += len(group)
        own = own / np.maximum(np.linalg.norm(own, axis=1, keepdims=True), 1e-12)
        found.append(np.einsum("ij,ij->i", own[:-1], own[1:]).tolist())
    return found


def grouped(
    found: Sequence[Segment], alike: Sequence[float], limit: float, least: int, fits: Callable[[int, int], bool]
) -> list[tuple[Slice, str]]:
    """Segments in passages that fit (a start and an end), each with why it begins.

    A passage of at least ``least`` characters ends where the likeness to the next segment is below ``limit``
    ("similarity"); any passage ends where the next segment no longer fits ("size").
    """
    passages: list[tuple[Slice, str]] = []
    reason = "start"
    first = 0
    for index, segment in enumerate(found):
        last = index == len(found) - 1
        length = segment.end - found[first].start
        if last or not fits(found[first].start, found[index + 1].end):
            ending = "size"
        elif length >= least and alike[index] < limit:
            ending = "similarity"
        else:
            continue
        passages.append(((found[first].start, segment.end), reason))
        reason, first = ending, index + 1
    return passages
