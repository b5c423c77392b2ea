"""The step that chooses which sources a question goes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from florilege.concurrency import resolve
from florilege.interfaces.models import Generation, Message
from florilege.model.errors import ModelError, RecipeError
from florilege.models import CheckedModel, as_model, json_of, object_schema
from florilege.retrieval.steps.base import PLANS, Call, Source, Step, Work
from florilege.text.fences import NOTICE, Fence

Choose = Callable[[str, Sequence[Source]], Iterable[str]]
_SCHEMA = object_schema({"sources": {"type": "array", "items": {"type": "string"}}})
_TASK = "Name the sources that may answer the question, by their ids; when in doubt, name more. "


@dataclass(frozen=True, slots=True, kw_only=True)
class Route(Step):
    """See :func:`route`."""

    id: str = "route"
    choose: Choose | None = None
    model: CheckedModel | None = None

    kind = "route"
    phase = PLANS

    @property
    def needs_model(self) -> bool:
        """When no function chooses."""
        return self.choose is None

    @property
    def own_model(self) -> CheckedModel | None:
        """The model it was given."""
        return self.model

    def apply(self, work: Work, call: Call) -> Work:
        """Keep the chosen sources; all of them when the choice is empty or cannot be read."""
        try:
            named = set(resolve(self.choose(call.request.text, work.sources)) if self.choose else _asked(work, call))
        except (ModelError, ValueError) as error:
            call.warn(f"{self.id}: all sources are asked: {error}")
            return work
        known = [source for source in work.sources if source.id in named]
        for name in sorted(named - {source.id for source in known}, key=str):
            call.warn(f"{self.id}: there is no source {name!r}")
        if not known:
            call.warn(f"{self.id}: no source was chosen; all are asked")
            return work
        call.facts["sources"] = [source.id for source in known]
        return replace(work, sources=tuple(known))


def route(*, choose: Choose | None = None, model: Any = None, id: str = "route") -> Route:
    """Ask only some of the recipe's sources: those whose ids ``choose(question, sources)`` returns, sync or async, or
    those a model names after their ``description``.

    Comes before ``retrieve()``. An empty or unreadable choice asks all, with a warning.
    """
    if choose is not None and not callable(choose):
        raise RecipeError(f"route choose: {choose!r} cannot be called")
    return Route(id=id, choose=choose, model=None if model is None else as_model(model))


def _asked(work: Work, call: Call) -> list[str]:
    question = call.request.text
    menu = "\n".join(f"- {source.id}: {source.description or 'no description'}" for source in work.sources)
    messages: list[Message] = [
        {"role": "system", "content": _TASK + NOTICE},
        {"role": "user", "content": f"Sources:\n{menu}\n\n{Fence([question]).around('question', question)}"},
    ]
    return _names(call.generate(messages, _SCHEMA))


def _names(answer: Generation) -> list[str]:
    value = json_of(answer)
    items = value.get("sources") if isinstance(value, Mapping) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError("the answer names no sources")
    return items
