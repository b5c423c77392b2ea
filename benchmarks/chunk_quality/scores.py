"""What the published evaluation counts, over character ranges: recall, precision, IoU of what was retrieved, and
precision-omega, the precision of every chunk that holds some of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Span = tuple[int, int]


class Scores(NamedTuple):
    """Of one question; between 0 and 1."""

    recall: float
    precision: float
    omega: float
    iou: float


def score(wanted: Sequence[Span], retrieved: Sequence[tuple[bool, Span]], chunks: Sequence[Span]) -> Scores:
    """``retrieved``: the ranges in rank order, each with whether it lies in the question's document; ``chunks``: all of
    that document's.
    """
    total = sum(end - start for start, end in wanted)
    hit = _length(_crossed(wanted, [span for own, span in retrieved if own]))
    read = sum(end - start for _, (start, end) in retrieved)
    missed = _length(wanted) - hit
    holding = [span for span in chunks if _crossed(wanted, [span])]
    held = _length(_crossed(wanted, holding))
    omega = held / (_length(holding) + _length(wanted) - held) if held else 0.0
    return Scores(
        hit / total if total else 0.0, hit / read if read else 0.0, omega, hit / (read + missed) if read else 0.0
    )


def _crossed(wanted: Sequence[Span], spans: Sequence[Span]) -> list[Span]:
    """The parts of ``wanted`` that lie in any of ``spans``."""
    pairs = [(max(a, c), min(b, d)) for a, b in wanted for c, d in spans]
    return [(start, end) for start, end in pairs if start < end]


def _length(spans: Sequence[Span]) -> int:
    """How much the union of ``spans`` covers."""
    total = reached = 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def interval(differences: Sequence[float], draws: int = 10_000, seed: int = 1) -> tuple[float, float]:
    """The middle 95 % of the mean of ``differences`` over resamples of the questions."""
    values = np.asarray(differences)
    rng = np.random.default_rng(seed)
    means = [values[rng.integers(0, len(values), len(values))].mean() for _ in range(draws)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)
