"""A reranker without a model: how completely, how closely and how literally a passage repeats the question's words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from florilege.interfaces.models import Reranking, Scored
from florilege.model.errors import ConfigError
from florilege.model.ledger import Usage
from florilege.retrieval.passages.similarity import analyzer

_FAR = 1 << 30
_Matches = Sequence[tuple[int, str]]
"""Where the question's terms stand in a passage, in order."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each feature counts, beside the rank a passage comes with: depth / (depth + rank - 1).

    Chosen on the training part of SciFact.
    """

    coverage: float = 0.5
    pairs: float = 0.3
    closeness: float = 0.3
    depth: float = 20.0


class LexicalReranker:
    """See :func:`lexical`."""

    def __init__(self, name: str, weights: Weights) -> None:
        self.name = name
        self._weights = weights

    def rerank(self, query: str, passages: Sequence[str]) -> Reranking:
        """Score ``passages``, which come best first; the same in every process."""
        asked = analyzer().analyze(query)
        wanted = frozenset(asked)
        matches = [
            [(at, term) for at, term in enumerate(analyzer().analyze(passage)) if term in wanted]
            for passage in passages
        ]
        rarity = _rarity(wanted, matches)
        following = [pair for pair in pairwise(asked) if pair[0] != pair[1]]
        scores = [Scored(place, self._score(place, found, following, rarity)) for place, found in enumerate(matches)]
        return Reranking(scores=scores, usage=Usage(texts=len(passages)))

    def _score(
        self, place: int, found: _Matches, following: Sequence[tuple[str, str]], rarity: Mapping[str, float]
    ) -> float:
        weights = self._weights
        prior = weights.depth / (weights.depth + place)
        whole = math.fsum(sorted(rarity.values()))
        if not whole:
            return prior
        present = {term for _, term in found}
        coverage = math.fsum(sorted(rarity[term] for term in present)) / whole
        return math.fsum(
            (
                prior,
                weights.coverage * coverage,
                weights.pairs * _pairs(found, following, rarity),
                weights.closeness * coverage * _closeness(found, len(present)),
            )
        )


def lexical(*, name: str = "lexical", weights: Weights | None = None) -> LexicalReranker:
    """A deterministic reranker that needs no model and no network.

    A passage scores by the rank it comes with, the share of the question's rarity it covers (rarity among the
    candidates), the share of the question's neighbouring word pairs it holds as neighbours, and how close together its
    matches stand. What that gains is measured in ``benchmarks/recipes``: little over a good fusion.
    """
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"reranker name: must be a non-empty string, not {name!r}")
    return LexicalReranker(name, weights or Weights())


def _rarity(wanted: frozenset[str], matches: Sequence[_Matches]) -> dict[str, float]:
    """How rare each wanted term is among the candidates: log(1 + N / df); one that none holds weighs as if one did."""
    frequency = Counter(term for found in matches for term in {term for _, term in found})
    return {term: math.log(1 + len(matches) / max(1, frequency[term])) for term in wanted}


def _pairs(found: _Matches, following: Sequence[tuple[str, str]], rarity: Mapping[str, float]) -> float:
    """The share of the question's neighbouring pairs, by rarity, that stand as neighbours in the passage too."""
    if not following:
        return 0.0
    held = {(one, two) for (at, one), (after, two) in pairwise(found) if after == at + 1}
    worth = [math.sqrt(rarity[one] * rarity[two]) for one, two in following]
    return math.fsum(value for pair, value in zip(following, worth, strict=True) if pair in held) / math.fsum(worth)


def _closeness(found: _Matches, distinct: int) -> float:
    """Distinct matches over the length of the shortest stretch that holds them all; 1 when they stand together."""
    last: dict[str, int] = {}
    shortest = _FAR
    for at, term in found:
        last[term] = at
        if len(last) == distinct:
            shortest = min(shortest, at - min(last.values()) + 1)
    return distinct / shortest
