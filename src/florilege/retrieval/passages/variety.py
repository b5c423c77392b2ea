"""Hits that do not say the same thing over and over."""

from __future__ import annotations

from collections.abc import Sequence

from florilege.model.hit import Hit
from florilege.retrieval.passages.changing import changed
from florilege.retrieval.passages.similarity import cosine, shingles, terms_of


def distinct(hits: Sequence[Hit], threshold: float) -> list[Hit]:
    """``hits`` without those whose text nearly repeats that of a better one: the share of common three-word runs
    (Jaccard) is at least ``threshold``.
    """
    kept: list[Hit] = []
    seen: list[frozenset[str]] = []
    for hit in hits:
        own = shingles(hit.text_for("citation"))
        if not any(_overlap(own, other) >= threshold for other in seen):
            kept.append(hit)
            seen.append(own)
    return kept


def diverse(hits: Sequence[Hit], relevance: float, limit: int | None = None) -> list[Hit]:
    """``hits``, at most ``limit``, by maximal marginal relevance (Carbonell and Goldstein 1998): each next one has the
    best ``relevance`` * its scaled score - (1 - ``relevance``) * its likeness to what is picked already.

    Likeness is the cosine of the texts' terms. What a hit was picked by is its score, so order and score agree.
    """
    worth = scaled([hit.score for hit in hits])
    terms = [terms_of(hit.text_for("citation")) for hit in hits]
    left = dict.fromkeys(range(len(hits)), 0.0)
    picked: list[Hit] = []
    while left and (limit is None or len(picked) < limit):
        value = {place: relevance * worth[place] - (1 - relevance) * nearest for place, nearest in left.items()}
        best = min(left, key=lambda place: (-value[place], hits[place].key))
        del left[best]
        picked.append(changed(hits[best], score=value[best]))
        for place in left:
            left[place] = max(left[place], cosine(terms[place], terms[best]))
    return picked


def scaled(scores: Sequence[float]) -> list[float]:
    """Scores from 0, the least, to 1, the greatest; all 1 when they are equal."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 1.0
