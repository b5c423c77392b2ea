"""Recipes: named, checked sequences of retrieval steps, usable wherever a retriever is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from florilege.concurrency import Deadline
from florilege.interfaces.retrieval import Origin
from florilege.model.errors import ConfigError, RecipeError
from florilege.model.events import Subscriber
from florilege.model.hit import Query
from florilege.models import CheckedModel, as_model
from florilege.retrieval.engine import execute, replay
from florilege.retrieval.forms import Forms, Found
from florilege.retrieval.functions import as_forms
from florilege.retrieval.steps.base import PHASES, PRODUCES, Plan, Source, Step
from florilege.retrieval.trace import Search

_OPTIONS = ("retriever", "weight", "timeout", "id", "description")
_POLICIES = ("fail", "skip_with_warning")


class Recipe(Forms):
    """A retriever made of steps over one or several retrievers.

    ``retriever`` is a retriever, or a list of retrievers and of mappings ``{"retriever": R, "weight": 0.5, "timeout":
    2.0, "id": ..., "description": ...}``: weights say how much a source counts in fusion, timeouts (seconds) how long
    it is waited for. ``model`` serves every step that needs one and brings none. ``on_source_error``
    "skip_with_warning" goes on without a source that fails; when all fail it is an error anyway. At most
    ``concurrency`` searches and model calls of one step run at once.

    Raises RecipeError, naming what was expected where, for steps in a wrong order or a model that is missing.
    """

    def __init__(
        self,
        *,
        id: str,
        retriever: Any,
        steps: Sequence[Step],
        model: Any = None,
        on_source_error: str = "fail",
        concurrency: int = 4,
        on_event: Subscriber | None = None,
    ) -> None:
        if not isinstance(id, str) or not id.strip():
            raise RecipeError(f"Recipe id: must be a non-empty string, not {id!r}")
        policy = on_source_error.replace("-", "_") if isinstance(on_source_error, str) else on_source_error
        if policy not in _POLICIES:
            raise RecipeError(
                f"recipe {id!r} on_source_error: {on_source_error!r} is not one of {', '.join(_POLICIES)}"
            )
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
            raise RecipeError(f"recipe {id!r} concurrency: must be a whole number of at least 1, not {concurrency!r}")
        self.id = id
        self.on_event = on_event
        self.model: CheckedModel | None = None if model is None else as_model(model)
        self._plan = Plan(
            id=id,
            sources=_sources(id, retriever),
            steps=_checked(id, steps, self.model),
            model=self.model,
            skip_failed=policy == "skip_with_warning",
            concurrency=concurrency,
        )

    @property
    def sources(self) -> tuple[Source, ...]:
        """What it searches."""
        return self._plan.sources

    @property
    def steps(self) -> tuple[Step, ...]:
        """What it does, in order."""
        return self._plan.steps

    def plan(self) -> Plan:
        """The checked plan."""
        return self._plan

    def fingerprint(self) -> str:
        """The identity of the recipe as it is built; a trace replays only where it is the same."""
        return self._plan.fingerprint

    def search(self, query: Query, *, deadline: Deadline | None = None, recorded: Search | None = None) -> Found:
        """Run the steps on a checked query; see :meth:`Forms.search`."""
        if recorded is not None and recorded.trace is not None:
            run = replay(self._plan, recorded.trace)
        else:
            run = execute(self._plan, query, deadline=deadline, on_event=self.on_event)
        return Found(run.hits, run.trace.usage, trace=run.trace)

    def origins(self) -> tuple[Origin, ...]:
        """The stores behind its sources, each once."""
        return tuple([origin for source in self.sources for origin in source.retriever.origins()])

    def draw(self, format: str = "text") -> str:
        """The recipe's shape, as "text" or as "mermaid"."""
        from florilege.retrieval.drawing import draw

        return draw(self._plan, format)


def _sources(id: str, given: Any) -> tuple[Source, ...]:
    items = list(given) if isinstance(given, (list, tuple)) else [given]
    if not items:
        raise RecipeError(f"recipe {id!r} retriever: give at least one")
    sources: list[Source] = []
    taken: set[str] = set()
    for place, item in enumerate(items):
        source = _source(id, item, place)
        name, number = source.id, 2
        while name in taken:
            name, number = f"{source.id}-{number}", number + 1
        taken.add(name)
        sources.append(replace(source, id=name))
    return tuple(sources)


def _source(recipe: str, item: Any, place: int) -> Source:
    where = f"recipe {recipe!r} retriever[{place}]"
    options = dict(item) if isinstance(item, Mapping) else {"retriever": item}
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown or "retriever" not in options:
        what = f"unknown option {unknown[0]!r}" if unknown else "no 'retriever'"
        raise RecipeError(f"{where}: {what}; a source has {', '.join(_OPTIONS)}")
    try:
        retriever = as_forms(options["retriever"])
    except ConfigError as error:
        raise RecipeError(f"{where}: {error.message}") from None
    weight, timeout = options.get("weight", 1.0), options.get("timeout")
    for name, value in (("weight", weight), ("timeout", timeout)):
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf
        if not number and not (name == "timeout" and value is None):
            raise RecipeError(f"{where} {name}: must be a finite number above 0, not {value!r}")
    name = options.get("id", retriever.id)
    if not isinstance(name, str) or not name.strip():
        raise RecipeError(f"{where} id: must be a non-empty string, not {name!r}")
    return Source(
        id=name, retriever=retriever, weight=weight, timeout=timeout, description=str(options.get("description", ""))
    )


def _checked(recipe: str, steps: Sequence[Step], model: CheckedModel | None) -> tuple[Step, ...]:
    """``steps`` with their models bound, once order, ids and models are found right."""
    if isinstance(steps, Step) or not isinstance(steps, Sequence):
        raise RecipeError(f"recipe {recipe!r} steps: must be a list of steps, not a {type(steps).__name__}")
    bound: list[Step] = []
    seen: dict[str, int] = {}
    producer: str | None = None
    for place, step in enumerate(steps):
        where = f"recipe {recipe!r} steps[{place}]"
        if not isinstance(step, Step) or step.phase not in PHASES:
            raise RecipeError(f"{where}: a {type(step).__name__} is no step; make one with retrieval_step()")
        if step.id in seen:
            raise RecipeError(
                f"{where}: the id {step.id!r} is taken by steps[{seen[step.id]}]; give one of them another id="
            )
        seen[step.id] = place
        if step.phase == PRODUCES and producer is not None:
            raise RecipeError(f"{where}: {step.id!r} turns queries into hits, and so does {producer!r}; one step may")
        if step.phase[0] == "queries" and step.phase != PRODUCES and producer is not None:
            raise RecipeError(f"{where}: {step.id!r} works on queries; it must come before {producer!r}")
        if step.phase[0] == "hits" and producer is None:
            raise RecipeError(f"{where}: {step.id!r} works on hits; a step such as retrieve() must come before it")
        if step.phase == PRODUCES:
            producer = step.id
        try:
            bound.append(step.bound(model))
        except RecipeError as error:
            raise RecipeError(f"{where}: {error.message}", step=step.id) from None
    if producer is None:
        raise RecipeError(f"recipe {recipe!r} steps: none turns queries into hits; add retrieve()")
    return tuple(bound)
