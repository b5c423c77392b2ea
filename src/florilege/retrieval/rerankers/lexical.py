"""A reranker without a model: how completely, how closely and how literally a passage repeats the question's words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from florilege.interfaces.models import Reranking, Scored
from florilege.model.errors import ConfigError
from florilege.model.ledger import Usage
from florilege.retrieval.passages.similarity import analyzer

_FAR = 1 << 30


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
        texts = [analyzer().analyze(passage) for passage in passages]
        rarity = _rarity(wanted, texts)
        following = [pair for pair in pairwise(asked) if pair[0] != pair[1]]
        scores = [
            Scored(place, self._score(place, terms, wanted, following, rarity)) for place, terms in enumerate(texts)
        ]
        return Reranking(scores=scores, usage=Usage(texts=len(passages)))

    def _score(
        self,
        place: int,
        terms: Sequence[str],
        wanted: frozenset[str],
        following: Sequence[tuple[str, str]],
        rarity: Mapping[str, float],
    ) -> float:
        weights = self._weights
        prior = weights.depth / (weights.depth + place)
        whole = math.fsum(sorted(rarity.values()))
        if not whole:
            return prior
        present = wanted.intersection(terms)
        coverage = math.fsum(sorted(rarity[term] for term in present)) / whole
        return math.fsum(
            (
                prior,
                weights.coverage * coverage,
                weights.pairs * _pairs(terms, following, rarity),
                weights.closeness * coverage * _closeness(terms, present),
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


def _rarity(wanted: frozenset[str], texts: Sequence[Sequence[str]]) -> dict[str, float]:
    """How rare each wanted term is among the candidates: log(1 + N / df); one that none holds weighs as if one did."""
    sets = [wanted.intersection(terms) for terms in texts]
    return {term: math.log(1 + len(texts) / max(1, sum(term in own for own in sets))) for term in wanted}


def _pairs(terms: Sequence[str], following: Sequence[tuple[str, str]], rarity: Mapping[str, float]) -> float:
    if not following:
        return 0.0
    held = frozenset(pairwise(terms))
    worth = [math.sqrt(rarity[one] * rarity[two]) for one, two in following]
    return math.fsum(value for pair, value in zip(following, worth, strict=True) if pair in held) / math.fsum(worth)


def _closeness(terms: Sequence[str], present: frozenset[str]) -> float:
    """Distinct matches over the length of the shortest stretch that holds them all; 1 when they stand together."""
    if not present:
        return 0.0
    last: dict[str, int] = {}
    shortest = _FAR
    for place, term in enumerate(terms):
        if term in present:
            last[term] = place
            if len(last) == len(present):
                shortest = min(shortest, place - min(last.values()) + 1)
    return len(present) / shortest
