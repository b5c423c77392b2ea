"""Token sequences cut to what a model reads at once, and gathered into batches worth running."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from florilege.model.ledger import Usage


class Window(NamedTuple):
    """Token ids that go through the model at once; ``partial`` when text number ``text`` has other windows too."""

    text: int
    ids: list[int]
    partial: bool


def cut(text: int, head: list[int], body: list[int], tail: list[int], limit: int | None) -> list[Window]:
    """Windows of at most ``limit`` tokens over ``body``, each between ``head`` and ``tail``, as equal as can be."""
    room = len(body) if limit is None else limit - len(head) - len(tail)
    if len(body) <= room:
        return [Window(text, head + body + tail, False)]
    if room < 1:
        raise ValueError(f"{limit} tokens leave no room between {len(head)} tokens before and {len(tail)} after")
    count = -(-len(body) // room)
    bounds = [len(body) * number // count for number in range(count + 1)]
    return [Window(text, head + body[a:b] + tail, True) for a, b in pairwise(bounds)]


def batches(windows: Sequence[Window], max_tokens: int, max_rows: int) -> list[list[Window]]:
    """``windows`` longest first, in batches that hold at most ``max_tokens`` once padded, or a single window."""
    gathered: list[list[Window]] = []
    for window in sorted(windows, key=lambda window: -len(window.ids)):
        last = gathered[-1] if gathered else None
        if last is None or len(last) == max_rows or len(last[0].ids) * (len(last) + 1) > max_tokens:
            gathered.append([window])
        else:
            last.append(window)
    return gathered


def usage_of(windows: Sequence[Window], texts: int) -> Usage:
    """What running these windows of so many texts took."""
    return Usage(
        texts=texts,
        tokens=sum(len(window.ids) for window in windows),
        calls=1,
        windowed=len({window.text for window in windows if window.partial}),
    )
