"""What every step is, what it works on, and what it may ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from florilege.concurrency import Deadline, concurrently, resolve
from florilege.interfaces.models import Generation, Message, Reranker, Reranking, Scored
from florilege.model.errors import ConfigError, ModelError, RecipeError, RetrievalError
from florilege.model.filters import Filter, filter_json
from florilege.model.hashing import fingerprint, plain
from florilege.model.hit import Hit, Query
from florilege.model.ledger import Usage
from florilege.models import CheckedModel, as_reranking
from florilege.retrieval.trace import ModelCall, Search, SourceStatus, TraceStep

if TYPE_CHECKING:
    from florilege.retrieval.forms import Forms

Kind = Literal["queries", "hits"]
Phase = tuple[Kind, Kind]
PLANS: Phase = ("queries", "queries")
PRODUCES: Phase = ("queries", "hits")
REFINES: Phase = ("hits", "hits")
PHASES = (PLANS, PRODUCES, REFINES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A retriever of a recipe: its id there, how much it counts, and how long it is waited for (seconds)."""

    id: str
    retriever: Forms
    weight: float = 1.0
    timeout: float | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """What steps hand on: the planned queries, the sources they go to, and the hits once there are some."""

    queries: tuple[Query, ...]
    sources: tuple[Source, ...]
    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A checked recipe, ready to run."""

    id: str
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    model: CheckedModel | None = None
    skip_failed: bool = False
    concurrency: int = 4

    @cached_property
    def fingerprint(self) -> str:
        """The identity of the recipe: its steps with their options, its sources with their weights and options."""
        parts = {
            "steps": [[step.id, step.kind, step.options()] for step in self.steps],
            "sources": [[source.id, source.weight, source.retriever.fingerprint()] for source in self.sources],
            "model": identity(self.model),
            "skip_failed": self.skip_failed,
        }
        return fingerprint(self.id, "1", parts)


class Step:
    """A step of a recipe. Its options are the fields of its dataclass; ``id`` is its name in traces."""

    id: str
    kind: str
    phase: Phase

    def apply(self, work: Work, call: Call) -> Work:
        """Do the step's work on ``work``; ``call`` is what it may ask for."""
        raise TypeError(f"{type(self).__name__} does not say what it does: a step has apply(work, call)")

    @property
    def needs_model(self) -> bool:
        """Whether it cannot run without a model, its own or the recipe's."""
        return False

    @property
    def own_model(self) -> CheckedModel | None:
        """The model it brings."""
        return None

    def bound(self, model: CheckedModel | None) -> Step:
        """The step in a recipe with ``model``; raises RecipeError when it cannot run there."""
        if self.needs_model and self.own_model is None and model is None:
            raise RecipeError(f"step {self.id!r} needs a model: give model= to the step or to the recipe", step=self.id)
        return self

    def options(self) -> dict[str, Any]:
        """Its options as JSON values: what it is told apart by."""
        return {item.name: identity(getattr(self, item.name)) for item in fields(self)}  # type: ignore[arg-type]


def identity(value: Any) -> Any:
    """A JSON value that tells an option from another: a fingerprint or a name where the value itself is none."""
    if callable(getattr(value, "fingerprint", None)):
        return value.fingerprint()
    if isinstance(value, Filter):
        return filter_json(value)
    if isinstance(value, Mapping):
        return {str(key): identity(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [identity(item) for item in value]
    try:
        return plain(value)
    except ConfigError:
        name = getattr(value, "name", None) or getattr(value, "__qualname__", None)
        return f"{type(value).__name__}:{name}" if name else type(value).__name__


class Call:
    """One step's turn in one run: what it may use, and what it leaves for the trace.

    With ``recorded``, a step of an earlier trace, models and rerankers are not asked again: their answers are read
    from it in order.
    """

    def __init__(
        self,
        plan: Plan,
        step: Step,
        request: Query,
        *,
        deadline: Deadline,
        now: datetime,
        recorded: TraceStep | None = None,
    ) -> None:
        self.plan = plan
        self.step = step
        self.request = request
        self.deadline = deadline
        self.now = now
        self.recorded = recorded
        self.warnings: list[str] = []
        self.searches: list[Search] = []
        self.sources: list[SourceStatus] = []
        self.calls: list[ModelCall] = []
        self.facts: dict[str, Any] = {}
        self.usage = Usage()

    def warn(self, text: str) -> None:
        """Leave a warning in the trace."""
        self.warnings.append(text)

    def generate(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Generation:
        """Ask the step's model, else the recipe's. Raises ModelError."""
        (answer,) = self.generate_all([messages], schema)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    def generate_all(
        self, prompts: Sequence[Sequence[Message]], schema: Mapping[str, Any] | None = None
    ) -> list[Generation | ModelError]:
        """Ask for each of ``prompts``, concurrently; one that fails is its error in the list."""
        model = self.step.own_model or self.plan.model
        if model is None:
            raise RecipeError(f"step {self.step.id!r} has no model", step=self.step.id)
        if self.recorded is not None:
            answers = [self._replayed() for _ in prompts]
        else:
            tasks = [partial(model.generate, messages, schema) for messages in prompts]
            outcomes = concurrently(tasks, limit=self.plan.concurrency, deadline=self.deadline)
            answers = [_call(outcome.value, outcome.error) for outcome in outcomes]
        self.calls += answers
        self.usage = sum((answer.usage for answer in answers), self.usage)
        return [_answer(answer) for answer in answers]

    def rerank(self, engine: Reranker, query: str, passages: Sequence[str]) -> Reranking:
        """Ask a reranker. Its scores are not checked here."""
        if self.recorded is not None:
            call = self._replayed()
            ranking = Reranking(scores=[Scored(*pair) for pair in call.scores or ()], usage=call.usage)
        else:
            ask: Callable[[], Any] = lambda: resolve(engine.rerank(query, passages))  # noqa: E731
            (outcome,) = concurrently([ask], deadline=self.deadline)
            ranking = as_reranking(outcome.result(), engine.name)
            pairs = tuple([(score.index, score.score) for score in ranking.scores])
            call = ModelCall(scores=pairs, usage=ranking.usage)
        self.calls.append(call)
        self.usage += call.usage
        return ranking

    def _replayed(self) -> ModelCall:
        assert self.recorded is not None
        if len(self.calls) >= len(self.recorded.calls):
            raise RetrievalError(
                f"step {self.step.id!r} asks for more than the trace holds: it was recorded by another recipe",
                code="trace_mismatch",
                step=self.step.id,
            )
        return self.recorded.calls[len(self.calls)]


def _call(generation: Generation | None, error: BaseException | None) -> ModelCall:
    if generation is not None:
        return ModelCall(text=generation.text, parsed=generation.parsed, usage=generation.usage)
    if isinstance(error, ModelError):
        return ModelCall(error=error.message)
    raise error or ModelError("the model gave no answer")


def _answer(call: ModelCall) -> Generation | ModelError:
    if call.error is not None:
        return ModelError(call.error)
    return Generation(text=call.text or "", parsed=call.parsed, usage=call.usage)
