"""The step that lets a named engine judge hits again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from florilege.interfaces.models import Reranker, Reranking
from florilege.model.errors import RecipeError, StepError
from florilege.model.hit import Hit
from florilege.models import CheckedModel, JudgeReranker
from florilege.retrieval.passages.changing import changed
from florilege.retrieval.steps.base import REFINES, Call, Step, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank(Step):
    """See :func:`rerank`."""

    id: str = "rerank"
    engine: Reranker
    top_k: int | None = None

    kind = "rerank"
    phase = REFINES

    def bound(self, model: CheckedModel | None) -> Step:
        """With the recipe's model for a judge that brings none; RecipeError when neither has one."""
        if not isinstance(self.engine, JudgeReranker) or self.engine.model is not None:
            return self
        if model is None:
            raise RecipeError(f"reranker {self.engine.name!r} has no model: give it one, or the recipe", step=self.id)
        return replace(self, engine=self.engine.bind(model))

    def options(self) -> dict[str, Any]:
        """The engine's name and how many are kept."""
        return {"engine": self.engine.name, "top_k": self.top_k}

    def apply(self, work: Work, call: Call) -> Work:
        """Score, order, cut."""
        call.facts["engine"] = f"rag.reranker:{self.engine.name}"
        if not work.hits:
            return work
        ranking = call.rerank(self.engine, call.request.text, [_passage(hit) for hit in work.hits])
        for warning in getattr(ranking, "warnings", ()):
            call.warn(warning)
        return replace(work, hits=tuple(self._ordered(work.hits, self._scores(ranking, len(work.hits), call), call)))

    def _scores(self, ranking: Reranking, count: int, call: Call) -> dict[int, float]:
        """Scores by place; those of unknown or repeated places are dropped, with a warning."""
        scores: dict[int, float] = {}
        for item in ranking.scores:
            if isinstance(item.index, bool) or not isinstance(item.index, int) or not 0 <= item.index < count:
                call.warn(f"{self.id}: there is no passage {item.index!r} among {count}; dropped")
            elif item.index in scores:
                call.warn(f"{self.id}: passage {item.index} was scored twice; the first score counts")
            elif not math.isfinite(item.score):
                raise StepError(
                    f"reranker {self.engine.name!r} returned a score that is not a finite number",
                    code="bad_output",
                    step=self.id,
                )
            else:
                scores[item.index] = float(item.score)
        return scores

    def _ordered(self, hits: Sequence[Hit], scores: dict[int, float], call: Call) -> list[Hit]:
        if not scores:
            call.warn(f"{self.id}: no hit was scored; the order stays")
            return list(hits[: self.top_k])
        places = sorted(scores, key=lambda place: (-scores[place], *hits[place].key))
        rest = [hit for place, hit in enumerate(hits) if place not in scores]
        if rest:
            call.warn(f"{self.id}: {len(rest)} of {len(hits)} hits were not scored; they follow in their old order")
        name = f"rag.reranker:{self.engine.name}"
        judged = [_scored(hits[place], scores[place], name) for place in places[: self.top_k]]
        below = scores[places[-1]]
        for hit in rest[: None if self.top_k is None else self.top_k - len(judged)]:
            below = math.nextafter(below, -math.inf)  # keeps scores falling, so that order and score agree
            judged.append(changed(hit, score=below))
        return judged


def rerank(*, engine: Reranker, top_k: int | None = None, id: str = "rerank") -> Rerank:
    """Order hits by what ``engine`` scores them, and keep the best ``top_k`` (None: all).

    Engines are named: :func:`florilege.retrieval.judge_reranker`, those of :mod:`florilege.retrieval.rerankers`, or any
    :class:`florilege.interfaces.Reranker`. They read the expanded text where a step before expanded it. Hits the engine
    leaves out come below all it scored, in their old order, with ``provenance.rerank_score`` None.
    """
    if isinstance(engine, type) or not callable(getattr(engine, "rerank", None)):
        raise RecipeError(f"rerank engine: a {type(engine).__name__} has no rerank(query, passages)")
    name = getattr(engine, "name", None)
    if not isinstance(name, str) or not name.strip():
        raise RecipeError("rerank engine: needs a name, by which traces know it")
    if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1):
        raise RecipeError(f"rerank top_k: must be a whole number of at least 1 or None, not {top_k!r}")
    return Rerank(id=id, engine=engine, top_k=top_k)


def _passage(hit: Hit) -> str:
    text = hit.text_for("context")
    return f"{hit.context}\n\n{text}" if hit.context else text


def _scored(hit: Hit, score: float, name: str) -> Hit:
    return changed(hit, score=score, provenance={"rerank_score": score, "reranker": name})
