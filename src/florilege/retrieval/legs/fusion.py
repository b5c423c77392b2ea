"""Fusion: several rankings of the same rows into one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from florilege.interfaces.stores import Candidate
from florilege.model.errors import ConfigError


class Fusion(Protocol):
    """Turns the legs' rankings into scores by row; higher is better."""

    def fuse(self, legs: Mapping[str, Sequence[Candidate]]) -> dict[int, float]:
        """Score every row that any leg found."""
        ...


@dataclass(frozen=True, slots=True)
class ReciprocalRank:
    """Weighted reciprocal rank fusion (Cormack, Clarke and Buettcher 2009): a row scores the sum over legs of
    weight / (k + rank), ranks from 1.

    A chunk that has no vector cannot be judged by the leg of that space; it takes its lexical rank there, so that
    waiting for a vector costs it nothing.
    """

    k: float = 60.0
    dense: float = 0.5
    lexical: float = 1.0
    sparse: float = 1.0

    def __post_init__(self) -> None:
        for option in ("k", "dense", "lexical", "sparse"):
            value = getattr(self, option)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
                raise ConfigError(f"rrf {option}: must be a finite number of at least 0, not {value!r}")

    def fuse(self, legs: Mapping[str, Sequence[Candidate]]) -> dict[int, float]:
        """Score every row that any leg found. Sums are exact (fsum), so the order of legs does not matter."""
        shares: dict[int, list[float]] = {}
        for leg, candidates in legs.items():
            weight = getattr(self, leg)
            for rank, candidate in enumerate(candidates, start=1):
                share = shares.setdefault(candidate.row, [])
                share.append(weight / (self.k + rank))
                if leg == "lexical":
                    share += [getattr(self, name) / (self.k + rank) for name in _unjudged(candidate, legs)]
        return {row: math.fsum(share) for row, share in shares.items()}


@dataclass(frozen=True, slots=True)
class WeightedScores:
    """Fusion by scores: each leg's scores scaled to [0, 1] over its candidates, then summed by weight."""

    dense: float = 0.5
    lexical: float = 0.5
    sparse: float = 0.5

    def fuse(self, legs: Mapping[str, Sequence[Candidate]]) -> dict[int, float]:
        """Score every row that any leg found; a leg whose scores are all equal gives its rows 1."""
        shares: dict[int, list[float]] = {}
        for leg, candidates in legs.items():
            if not candidates:
                continue
            weight = getattr(self, leg)
            high, low = candidates[0].score, candidates[-1].score
            width = high - low
            for candidate in candidates:
                scaled = (candidate.score - low) / width if width > 0 else 1.0
                share = shares.setdefault(candidate.row, [])
                share.append(weight * scaled)
                if leg == "lexical":
                    share += [getattr(self, name) * scaled for name in _unjudged(candidate, legs)]
        return {row: math.fsum(share) for row, share in shares.items()}


def _unjudged(candidate: Candidate, legs: Mapping[str, Sequence[Candidate]]) -> list[str]:
    """The legs that run and had no vector of ``candidate`` to judge it by."""
    judged = {"dense": candidate.has_vector, "sparse": candidate.has_sparse}
    return [leg for leg, has in judged.items() if leg in legs and not has]


def rrf(k: float = 60.0, *, dense: float = 0.5, lexical: float = 1.0, sparse: float = 1.0) -> ReciprocalRank:
    """Reciprocal rank fusion with these weights; the default fusion."""
    return ReciprocalRank(k, dense, lexical, sparse)


def weighted(*, dense: float = 0.5, lexical: float = 0.5, sparse: float = 0.5) -> WeightedScores:
    """Score fusion with these weights."""
    return WeightedScores(dense, lexical, sparse)
