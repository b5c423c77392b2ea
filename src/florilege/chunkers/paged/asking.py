"""Asking page chunkers in order, and what their answers are worth.

A claim is all or nothing a chunker: one wrong piece voids its whole answer, an exception or running out of time
likewise, and the next chunker is asked.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from florilege.interfaces.chunking import Chunker, ChunkPiece, PageChunks, PageOutput

_log = logging.getLogger(__name__)


class PageFloor:
    """One piece a page: the last answer asked for."""

    fallback = True

    def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> tuple[PageChunks, ...]:
        """Claim every page that has text."""
        return tuple(
            PageChunks(page=output.page, pieces=(ChunkPiece(text=output.text),))
            for output in outputs
            if output.text and output.text.strip()
        )


class Claim(NamedTuple):
    """A page, who cut it, and into what."""

    page: int
    chunker: str
    pieces: tuple[ChunkPiece, ...]


class Refused(NamedTuple):
    """A chunker whose answer counted for nothing, and why."""

    chunker: str
    reason: str


@dataclass(frozen=True, slots=True)
class PageCut:
    """What became of a source's pages: ``claims`` in page order, ``empty`` pages without text, ``refused`` answers."""

    claims: tuple[Claim, ...]
    empty: tuple[int, ...]
    refused: tuple[Refused, ...]


def ask(
    chunkers: Sequence[Chunker],
    content: bytes,
    media_type: str,
    outputs: Sequence[PageOutput],
    time_limit: float | None,
) -> PageCut:
    """Ask ``chunkers`` for the pages ``outputs``, in order, until every page with text is claimed.

    The first that claims a page has it; pages claimed with nothing are unclaimed.
    """
    given = tuple(outputs)
    claims: dict[int, Claim] = {}
    refused: list[Refused] = []
    filled = {output.page for output in given if output.text and output.text.strip()}
    for chunker in chunkers:
        if filled <= claims.keys():
            break
        name = identity(chunker)
        try:
            answer = _checked(_within(time_limit, _call(chunker, content, media_type, given)), given)
        except Exception as error:  # noqa: BLE001 - a third party's failure is a verdict about it, not the source
            reason = f"{type(error).__name__}: {error}"
            _log.warning("page chunker %s counts as broken: %s", name, reason)
            refused.append(Refused(name, reason))
            continue
        for page in answer:
            if page.pieces:
                claims.setdefault(page.page, Claim(page.page, name, page.pieces))
    return PageCut(
        tuple(claims[output.page] for output in given if output.page in claims),
        tuple(output.page for output in given if output.page not in filled | claims.keys()),
        tuple(refused),
    )


def _call(chunker: Chunker, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> Callable[[], Any]:
    return lambda: chunker.chunk(content, media_type, outputs)


def identity(chunker: Chunker) -> str:
    """The name a chunker goes by: its own ``name``, else where its class is defined."""
    kind = type(chunker)
    return str(getattr(chunker, "name", "") or f"{kind.__module__}.{kind.__qualname__}")


def _within(seconds: float | None, call: Callable[[], Any]) -> Any:
    """``call()``, or TimeoutError after ``seconds``; the call is left running then, its result thrown away."""
    if seconds is None:
        return call()
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not outcome:
        raise TimeoutError(f"took longer than {seconds:g} s")
    return outcome[0]


def _checked(answer: Any, outputs: tuple[PageOutput, ...]) -> tuple[PageChunks, ...]:
    """``answer`` when every piece of it can be used; ValueError or TypeError otherwise."""
    known = {output.page for output in outputs}
    seen: set[int] = set()
    for claim in answer:
        if not isinstance(claim, PageChunks):
            raise TypeError(f"answered with a {type(claim).__name__}, not PageChunks")
        if claim.page not in known or claim.page in seen:
            why = "twice" if claim.page in seen else "which is not there"
            raise ValueError(f"claimed page {claim.page!r} {why}")
        seen.add(claim.page)
        for piece in claim.pieces:
            if not isinstance(piece, ChunkPiece) or not isinstance(piece.text, str):
                raise TypeError(f"page {claim.page}: a piece is a {type(piece).__name__}, not a ChunkPiece with text")
            if not piece.text.strip():
                raise ValueError(f"page {claim.page}: a piece is blank")
            if piece.bbox is not None and not _is_box(piece.bbox):
                raise ValueError(f"page {claim.page}: a bbox is not four rising numbers in [0, 1]")
    return tuple(answer)


def _is_box(box: Any) -> bool:
    if not isinstance(box, (tuple, list)) or len(box) != 4:
        return False
    if not all(isinstance(side, (int, float)) and not isinstance(side, bool) and 0 <= side <= 1 for side in box):
        return False
    return bool(box[0] <= box[2] and box[1] <= box[3])
