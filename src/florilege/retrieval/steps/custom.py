"""Steps of the caller's own: same checks, same trace, same events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any, overload

from florilege.concurrency import concurrently, resolve
from florilege.interfaces.models import Generation, Message
from florilege.model.errors import RecipeError, StepError
from florilege.model.hit import Hit, Query
from florilege.models import CheckedModel, as_model
from florilege.retrieval.steps.base import PHASES, REFINES, Call, Phase, Step, Work

StepFunction = Callable[..., Any]
_OFFERED = ("hits", "queries", "query", "request", "sources", "model", "recipe_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomStep(Step):
    """See :func:`retrieval_step`. Calling it calls the function."""

    id: str
    kind: str = "custom"
    phase: Phase = REFINES
    run: StepFunction
    needs_a_model: bool = False
    model: CheckedModel | None = None
    version: str = "1"

    def __post_init__(self) -> None:
        for option in ("id", "kind", "version"):
            value = getattr(self, option)
            if not isinstance(value, str) or not value.strip():
                raise RecipeError(f"retrieval_step {option}: must be a non-empty string, not {value!r}")
        if self.phase not in PHASES:
            known = ", ".join(map(str, PHASES))
            raise RecipeError(f"retrieval_step {self.id!r} phase: must be one of {known}, not {self.phase!r}")
        if not callable(self.run):
            raise RecipeError(f"retrieval_step {self.id!r} run: {self.run!r} cannot be called")
        _wanted(self.id, self.run, self.phase)

    @property
    def needs_model(self) -> bool:
        """As declared."""
        return self.needs_a_model

    @property
    def own_model(self) -> CheckedModel | None:
        """The model it was given."""
        return self.model

    def options(self) -> dict[str, Any]:
        """Its identity; a changed function needs a changed version to be told apart."""
        return {"id": self.id, "kind": self.kind, "phase": list(self.phase), "version": self.version}

    def __call__(self, *args: Any, **given: Any) -> Any:
        return self.run(*args, **given)

    def apply(self, work: Work, call: Call) -> Work:
        """Call the function with what it declares, and check what it returns."""
        model = self.model or call.plan.model
        offered = {
            "hits": list(work.hits),
            "queries": list(work.queries),
            "query": call.request.text,
            "request": call.request,
            "sources": list(work.sources),
            "model": None if model is None else _Asked(call),
            "recipe_id": call.plan.id,
        }
        given = {name: offered[name] for name in _wanted(self.id, self.run, self.phase)}
        (outcome,) = concurrently([lambda: resolve(self.run(**given))], deadline=call.deadline)
        return self._checked(outcome.result(), work)

    def _checked(self, value: Any, work: Work) -> Work:
        kind = self.phase[1]
        if isinstance(value, Mapping):
            if value.keys() != {kind}:
                raise self._broken(f"a mapping with {sorted(map(str, value))}, not with {kind!r} alone")
            value = value[kind]
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            raise self._broken(f"a {type(value).__name__}, not a list of {kind}")
        if kind == "hits":
            wrong = next((item for item in value if not isinstance(item, Hit)), None)
            if wrong is not None:
                raise self._broken(f"a {type(wrong).__name__} among the hits")
            return replace(work, hits=tuple(value))
        queries = [Query(text=item) if isinstance(item, str) else item for item in value]
        wrong = next((item for item in queries if not isinstance(item, Query)), None)
        if wrong is not None:
            raise self._broken(f"a {type(wrong).__name__} among the queries")
        if not queries:
            raise self._broken("no queries")
        return replace(work, queries=tuple(queries))

    def _broken(self, what: str) -> StepError:
        return StepError(f"step {self.id!r} returned {what}", code="bad_step_result", step=self.id)


class _Asked:
    """The model a function sees: its answers are counted, recorded and replayed like those of built-in steps."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def generate(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Generation:
        """Answer ``messages``."""
        return self._call.generate(messages, schema)


@overload
def retrieval_step(
    *,
    id: str,
    run: StepFunction,
    kind: str = ...,
    phase: Phase = ...,
    needs_model: bool = ...,
    model: Any = ...,
    version: str = ...,
) -> CustomStep: ...
@overload
def retrieval_step(
    *,
    id: str,
    run: None = ...,
    kind: str = ...,
    phase: Phase = ...,
    needs_model: bool = ...,
    model: Any = ...,
    version: str = ...,
) -> Callable[[StepFunction], CustomStep]: ...
def retrieval_step(
    *,
    id: str,
    run: StepFunction | None = None,
    kind: str = "custom",
    phase: Phase = REFINES,
    needs_model: bool = False,
    model: Any = None,
    version: str = "1",
) -> CustomStep | Callable[[StepFunction], CustomStep]:
    """A step of your own: by call with ``run=``, or as a decorator.

    ``run``, sync or async, is given those of ``hits``, ``queries``, ``query`` (the text asked), ``request``,
    ``sources``, ``model`` and ``recipe_id`` it has parameters for. ``phase`` says what goes in and what comes out:
    ("queries", "queries"), ("queries", "hits") or ("hits", "hits"). It returns a list of that, or ``{"hits": [...]}``,
    ``{"queries": [...]}``; anything else is a StepError. Raise ``version`` when the function changes.
    """

    def wrap(function: StepFunction) -> CustomStep:
        return CustomStep(
            id=id,
            kind=kind,
            phase=_phase(phase),
            run=function,
            needs_a_model=needs_model,
            model=None if model is None else as_model(model),
            version=version,
        )

    return wrap if run is None else wrap(run)


def _phase(phase: Any) -> Any:
    return tuple(phase) if isinstance(phase, (list, tuple)) else phase


def _wanted(id: str, run: StepFunction, phase: Phase) -> tuple[str, ...]:
    """The names of what ``run`` takes; RecipeError for a required parameter that nothing is offered for."""
    offered = [name for name in _OFFERED if name != ("queries" if phase[0] == "hits" else "hits")]
    try:
        parameters = signature(run).parameters.values()
    except (TypeError, ValueError):
        return (phase[0],)
    if any(item.kind is Parameter.VAR_KEYWORD for item in parameters):
        return tuple(offered)
    for item in parameters:
        positional = item.kind is Parameter.POSITIONAL_ONLY
        if (
            (positional or item.name not in offered)
            and item.default is Parameter.empty
            and (item.kind is not Parameter.VAR_POSITIONAL)
        ):
            raise RecipeError(
                f"retrieval_step {id!r}: run() wants {item.name!r}; a step is given {', '.join(offered)}", step=id
            )
    return tuple([item.name for item in parameters if item.name in offered])
