"""The step between queries and hits: every query over every source, at once, fused into one list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import NamedTuple

from florilege.concurrency import Outcome, concurrently
from florilege.model.errors import FlorilegeError, RecipeError, RetrievalError, SourceFailed
from florilege.model.hit import Hit, HitKey, Query, SourceRank
from florilege.model.ledger import Usage
from florilege.retrieval.forms import Found, checked_limit
from florilege.retrieval.passages.changing import changed
from florilege.retrieval.steps.base import PRODUCES, Call, Source, Step, Work
from florilege.retrieval.trace import Search, SourceStatus

RANK_CONSTANT = 10.0
"""Smaller than between the legs of one retriever: with 60 the first hit of a source of half weight would stand behind
the sixty-first of the others; with 10 it is twelfth, and what two sources agree on still comes first."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one source answered to one query."""

    source: Source
    query: Query
    hits: Sequence[Hit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieve(Step):
    """See :func:`retrieve`."""

    id: str = "retrieve"
    limit: int | None = 30

    kind = "retrieve"
    phase = PRODUCES

    def apply(self, work: Work, call: Call) -> Work:
        """Search, tell how each source did, fuse."""
        pairs = list(product(work.queries, work.sources))
        tasks = [
            partial(_search, source, self._query(query, call.request), call, place)
            for place, (query, source) in enumerate(pairs)
        ]
        outcomes = concurrently(
            tasks,
            limit=call.plan.concurrency,
            timeouts=[source.timeout for _, source in pairs],
            deadline=call.deadline,
        )
        _record(call, work.sources, pairs, outcomes)
        rankings = [
            Ranking(source, query, outcome.value.hits)
            for (query, source), outcome in zip(pairs, outcomes, strict=True)
            if outcome.value is not None
        ]
        limit = self.limit or call.request.limit
        hits = fused(rankings, limit=limit) if len(pairs) > 1 else _alone(rankings[0])[:limit]
        return replace(work, hits=tuple(hits))

    def _query(self, query: Query, request: Query) -> Query:
        limit = request.limit if self.limit is None else self.limit
        return replace(query, limit=limit, filter=request.filter, mode=query.mode or request.mode)


def retrieve(limit: int | None = 30, *, id: str = "retrieve") -> Retrieve:
    """Search every source with every planned query, concurrently, and keep the best ``limit`` hits
    (None: as many as the request wants of each source).

    One query over one source keeps the store's order and scores. Otherwise hits that are the same chunk become one, in
    the order of weighted reciprocal rank fusion; the fused score is scaled so that first place everywhere is 1.
    """
    if checked_limit(limit) == 0:
        raise RecipeError(f"retrieve limit: must be a whole number of at least 1, not {limit!r}")
    return Retrieve(id=id, limit=limit)


def _search(source: Source, query: Query, call: Call, place: int) -> Found:
    if call.recorded is None:
        return source.retriever.search(query, deadline=call.deadline)
    recorded = call.recorded.searches[place] if place < len(call.recorded.searches) else None
    if recorded is None or (recorded.retriever_id, recorded.query) != (source.id, query.text):
        raise RetrievalError("what is searched now is not what the trace recorded", code="trace_mismatch")
    if recorded.error is not None:
        raise RetrievalError(recorded.error, code="recorded_failure")
    return source.retriever.search(query, deadline=call.deadline, recorded=recorded)


def _record(
    call: Call,
    sources: Sequence[Source],
    pairs: Sequence[tuple[Query, Source]],
    outcomes: Sequence[Outcome[Found]],
) -> None:
    """Put searches and sources into the trace; raise SourceFailed where the recipe does not go on without one."""
    for (query, source), outcome in zip(pairs, outcomes, strict=True):
        found = outcome.value or Found([], Usage())
        call.usage += found.usage
        call.searches.append(
            Search(
                retriever_id=source.id,
                query=query.text,
                hit_count=len(found.hits),
                duration_seconds=outcome.seconds,
                seq=found.seq,
                vector=found.vector,
                sparse=None if found.sparse is None else tuple(sorted(found.sparse.items())),
                error=None if outcome.error is None else _reason(outcome.error),
                trace=found.trace,
            )
        )
    failures: list[tuple[Source, BaseException]] = []
    for source in sources:
        own = [outcome for (_, asked), outcome in zip(pairs, outcomes, strict=True) if asked is source]
        errors = [outcome.error for outcome in own if outcome.error is not None]
        call.sources.append(_status(source, own, errors))
        if errors:
            failures.append((source, errors[0]))
    for source, error in failures:
        call.warn(f"source {source.id!r} failed: {_reason(error)}")
    if failures and (not call.plan.skip_failed or all(outcome.error is not None for outcome in outcomes)):
        source, error = failures[0]
        if call.deadline.passed:
            raise error
        raise SourceFailed(
            f"source {source.id!r} failed: {_reason(error)}",
            code=error.code if isinstance(error, FlorilegeError) else _code(error),
            retryable=getattr(error, "retryable", isinstance(error, (TimeoutError, OSError))),
        ) from error


def _status(source: Source, own: Sequence[Outcome[Found]], errors: Sequence[BaseException]) -> SourceStatus:
    return SourceStatus(
        retriever_id=source.id,
        status="success" if not errors else "failed" if len(errors) == len(own) else "partial",
        weight=source.weight,
        query_count=len(own),
        hit_count=sum(len(outcome.value.hits) for outcome in own if outcome.value is not None),
        duration_seconds=max((outcome.seconds for outcome in own), default=0.0),
        error=_reason(errors[0]) if errors else None,
    )


def _reason(error: BaseException) -> str:
    """What may be told of an error: messages of ours and of time limits, of others the type."""
    if isinstance(error, FlorilegeError):
        return error.message
    return str(error) if type(error) is TimeoutError else type(error).__name__


def _code(error: BaseException) -> str:
    return "timeout" if isinstance(error, TimeoutError) else "source_failed"


def _alone(ranking: Ranking) -> list[Hit]:
    source = ranking.source
    queries = (ranking.query.text,) if ranking.query.text else ()
    return [
        changed(
            hit,
            provenance={
                "raw_score": hit.score,
                "matched_queries": queries,
                "per_source": (SourceRank(retriever_id=source.id, rank=rank, weight=source.weight, score=hit.score),),
            },
        )
        for rank, hit in enumerate(ranking.hits, 1)
    ]


def fused(rankings: Sequence[Ranking], *, limit: int | None = None, k: float = RANK_CONSTANT) -> list[Hit]:
    """Rankings of one or several queries and sources as one list, in total order, the best ``limit`` of it.

    Weighted reciprocal rank fusion (Cormack, Clarke and Buettcher 2009): a hit scores the sum over rankings of weight /
    (k + rank), over what first place in all of them would. Sums are exact, so the order of rankings does not matter.
    """
    best = math.fsum(ranking.source.weight / (k + 1) for ranking in rankings)
    found: dict[HitKey, list[_Place]] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking.hits, 1):
            found.setdefault(hit.key, []).append(_Place(rank, hit, ranking.source, ranking.query.text))
    scores = {
        key: math.fsum(place.source.weight / (k + place.rank) for place in places) / best
        for key, places in found.items()
    }
    order = sorted(found, key=lambda key: (-scores[key], key))[:limit]
    return [_joined(found[key], scores[key]) for key in order]


class _Place(NamedTuple):
    rank: int
    hit: Hit
    source: Source
    query: str


def _joined(places: list[_Place], score: float) -> Hit:
    """One hit out of its places; the text is that of its best place, whatever order they came in."""
    places.sort(key=lambda place: (place.rank, place.source.id, place.query))
    hit = places[0].hit
    per_source: dict[str, SourceRank] = {}
    for rank, own, source, _ in places:
        if source.id not in per_source:
            per_source[source.id] = SourceRank(retriever_id=source.id, rank=rank, weight=source.weight, score=own.score)
    provenance = {
        "raw_score": hit.score,
        "fused_score": score,
        "matched_queries": tuple(sorted({place.query for place in places if place.query})),
        "per_source": tuple(per_source.values()),
    }
    return changed(hit, score=score, provenance=provenance)
