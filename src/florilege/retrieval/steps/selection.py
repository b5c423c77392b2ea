"""Steps that keep, drop and reorder hits by what they carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from florilege.model.errors import RecipeError
from florilege.model.filters import Filter, field_path, parse_filter
from florilege.model.hashing import instant, revive
from florilege.model.hit import Hit
from florilege.model.matching import MISSING, lookup, matches
from florilege.retrieval.passages.changing import changed
from florilege.retrieval.passages.variety import distinct, diverse, scaled
from florilege.retrieval.steps.base import REFINES, Call, Step, Work

_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterHits(Step):
    """See :func:`filter_hits`."""

    id: str = "filter_hits"
    where: Filter | Callable[[Hit], object]

    kind = "filter"
    phase = REFINES

    def apply(self, work: Work, call: Call) -> Work:
        """Keep what passes."""
        return replace(work, hits=tuple([hit for hit in work.hits if self._passes(hit)]))

    def _passes(self, hit: Hit) -> bool:
        if not isinstance(self.where, Filter):
            return bool(self.where(hit))
        pages = hit.provenance.pages
        system = {"$source_id": hit.source_id, "$title": hit.title, "$page": pages[0] if pages else None}
        return matches(self.where, hit.metadata, system)


def filter_hits(where: Filter | Mapping[str, Any] | Callable[[Hit], object], *, id: str = "filter_hits") -> FilterHits:
    """Keep the hits a filter (over their metadata) or a function says yes to, in their order."""
    if isinstance(where, (Filter, Mapping)):
        return FilterHits(id=id, where=parse_filter(where))
    if not callable(where):
        raise RecipeError(f"filter_hits where: a {type(where).__name__} is neither a filter nor a function")
    return FilterHits(id=id, where=where)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dedupe(Step):
    """See :func:`dedupe`."""

    id: str = "dedupe"
    threshold: float = 0.9

    kind = "dedupe"
    phase = REFINES

    def apply(self, work: Work, call: Call) -> Work:
        """Drop a hit that repeats a better one."""
        kept = distinct(work.hits, self.threshold)
        call.facts["dropped"] = len(work.hits) - len(kept)
        return replace(work, hits=tuple(kept))


def dedupe(threshold: float = 0.9, *, id: str = "dedupe") -> Dedupe:
    """Drop hits whose text nearly repeats that of a better one: the share of common three-word runs (Jaccard) is at
    least ``threshold``. Chunks of different sources count too.
    """
    _check_share("dedupe threshold", threshold)
    return Dedupe(id=id, threshold=threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversify(Step):
    """See :func:`diversify`."""

    id: str = "diversify"
    relevance: float = 0.7
    limit: int | None = None

    kind = "diversify"
    phase = REFINES

    def apply(self, work: Work, call: Call) -> Work:
        """Pick greedily. The value a hit was picked by is its score, so order and score agree."""
        return replace(work, hits=tuple(diverse(work.hits, self.relevance, self.limit)))


def diversify(relevance: float = 0.7, *, limit: int | None = None, id: str = "diversify") -> Diversify:
    """Reorder by maximal marginal relevance (Carbonell and Goldstein 1998): each next hit is the one with the best
    ``relevance`` * its scaled score - (1 - ``relevance``) * its likeness to what is picked already.

    Likeness is the cosine of the texts' terms, so it needs no vectors. ``limit`` stops after so many.
    """
    _check_share("diversify relevance", relevance)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise RecipeError(f"diversify limit: must be a whole number of at least 1 or None, not {limit!r}")
    return Diversify(id=id, relevance=relevance, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boost(Step):
    """See :func:`boost`."""

    id: str = "boost"
    field: tuple[str, ...]
    weight: float = 0.3
    half_life_days: float | None = None
    values: Mapping[Any, float] | None = None

    kind = "boost"
    phase = REFINES

    def apply(self, work: Work, call: Call) -> Work:
        """Weigh and order again."""
        worth = scaled([hit.score for hit in work.hits])
        hits = [
            changed(hit, score=(score + self.weight * self._share(hit, call.now)) / (1 + self.weight))
            for hit, score in zip(work.hits, worth, strict=True)
        ]
        return replace(work, hits=tuple(sorted(hits, key=lambda hit: hit.order)))

    def options(self) -> dict[str, Any]:
        """Its options, values by their spelling."""
        named = None if self.values is None else {str(key): value for key, value in self.values.items()}
        return {
            "field": list(self.field),
            "weight": self.weight,
            "half_life_days": self.half_life_days,
            "values": named,
        }

    def _share(self, hit: Hit, now: datetime) -> float:
        """How much of the boost a hit earns, in [0, 1]; nothing without the field."""
        value = lookup(hit.metadata, self.field)
        if value is MISSING:
            return 0.0
        if self.values is not None:
            return min(1.0, max(0.0, self.values.get(value, 0.0))) if isinstance(value, (str, int, float)) else 0.0
        moment = _moment(value)
        if self.half_life_days is not None:
            if moment is None:
                return 0.0
            days = max(0.0, (instant(now) - instant(moment)).total_seconds() / _DAY)
            return float(0.5 ** (days / self.half_life_days))
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return min(1.0, max(0.0, float(value)))
        return 1.0 if value else 0.0


def boost(
    field: str | Sequence[str],
    *,
    weight: float = 0.3,
    half_life_days: float | None = None,
    values: Mapping[Any, float] | None = None,
    id: str = "boost",
) -> Boost:
    """Mix a metadata field into the scores: (scaled score + ``weight`` * share) / (1 + ``weight``).

    The share is, for a date with ``half_life_days``, half for each half-life of age; with ``values``, what they give
    the field's value; else a number in [0, 1] as it is, or 1 for anything true. A hit without the field earns nothing.
    """
    for option, number in (("weight", weight), ("half_life_days", half_life_days)):
        real = isinstance(number, (int, float)) and not isinstance(number, bool) and 0 < number < float("inf")
        if not real and not (option == "half_life_days" and number is None):
            raise RecipeError(f"boost {option}: must be a finite number above 0, not {number!r}")
    return Boost(id=id, field=field_path(field), weight=weight, half_life_days=half_life_days, values=values)


def _moment(value: Any) -> date | None:
    found = revive(value)
    if isinstance(found, str):
        try:
            return datetime.fromisoformat(found)
        except ValueError:
            return None
    return found if isinstance(found, date) else None


def _check_share(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise RecipeError(f"{name}: must be a number from 0 to 1, not {value!r}")
