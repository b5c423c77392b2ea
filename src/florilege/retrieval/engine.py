"""Running a plan: step after step, each timed, told, and kept in the trace."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime

from florilege.concurrency import Deadline
from florilege.model.errors import FlorilegeError, NotFound, RetrievalError, StepError
from florilege.model.events import Event, Subscriber, emit
from florilege.model.filters import Filter, filter_json, parse_filter
from florilege.model.hit import Query
from florilege.model.ledger import Usage
from florilege.retrieval.passages.rendering import trust_counts
from florilege.retrieval.steps.base import PRODUCES, Call, Plan, Step, Work
from florilege.retrieval.trace import HitRef, Run, Trace, TraceStep, refs
from florilege.retrieval.trace.records import Status


def execute(
    plan: Plan,
    request: Query,
    *,
    deadline: Deadline | None = None,
    on_event: Subscriber | None = None,
    recorded: Trace | None = None,
) -> Run:
    """Run ``plan`` on a checked request. ``recorded``: with the answers and the store's state of an earlier run.

    Whatever a step raises becomes a RetrievalError that carries the trace so far, the failed step in it.
    """
    return _Execution(plan, request, deadline or Deadline(), on_event, recorded).run()


def replay(plan: Plan, trace: Trace, *, on_event: Subscriber | None = None) -> Run:
    """Run ``trace`` again; see :meth:`florilege.retrieval.forms.Forms.replay`."""
    if trace.fingerprint != plan.fingerprint:
        raise RetrievalError(
            f"the trace was recorded by {trace.recipe_id!r} as it was built then; {plan.id!r} is built otherwise",
            code="trace_mismatch",
        )
    if trace.status != "success":
        raise RetrievalError("the trace is of a run that failed; there is nothing to repeat", code="trace_mismatch")
    request = Query(
        text=trace.query,
        filter=None if trace.filter is None else parse_filter(trace.filter),
        limit=trace.limit,
        mode=trace.mode,  # type: ignore[arg-type]  # a mode when it was recorded
    )
    try:
        return execute(plan, request, on_event=on_event, recorded=trace)
    except RetrievalError as error:
        if error.code == "collected":
            raise NotFound(error.message, code="collected") from error
        raise


class _Execution:
    def __init__(
        self, plan: Plan, request: Query, deadline: Deadline, on_event: Subscriber | None, recorded: Trace | None
    ) -> None:
        self._plan = plan
        self._request = request
        self._deadline = deadline
        self._on_event = on_event
        self._recorded = recorded
        self._id = uuid.uuid4().hex
        self._at = datetime.now(UTC)
        self._started = time.perf_counter()
        self._steps: list[TraceStep] = []

    def run(self) -> Run:
        self._tell("recipe.start")
        work = Work(queries=(self._request,), sources=self._plan.sources)
        for place, step in enumerate(self._plan.steps):
            work = self._step(step, place, work)
        hits = list(work.hits if self._request.limit is None else work.hits[: self._request.limit])
        trace = self._trace("success", hits=refs(hits))
        self._tell("recipe.end", hits=len(hits), warnings=len(trace.warnings))
        return Run(hits, trace)

    def _step(self, step: Step, place: int, work: Work) -> Work:
        recorded = None if self._recorded is None else self._recorded.steps[place]
        now = self._at if self._recorded is None else self._recorded.started_at
        call = Call(self._plan, step, self._request, deadline=self._deadline, now=now, recorded=recorded)
        at, started = datetime.now(UTC), time.perf_counter()
        self._tell("recipe.step.start", step=step)
        try:
            if self._deadline.passed:
                raise TimeoutError("the deadline passed")
            after = step.apply(work, call)
        except Exception as error:
            failure = self._failure(step, error)
            self._keep(step, call, at, started, work, work, failure)
            failure.trace = self._trace("failed")
            self._tell("recipe.step.end", step=step, failed=1)
            if failure is error:
                raise
            raise failure from error
        self._keep(step, call, at, started, work, after)
        self._tell("recipe.step.end", step=step, queries=len(after.queries), hits=len(after.hits))
        return after

    def _failure(self, step: Step, error: Exception) -> RetrievalError:
        if isinstance(error, RetrievalError):
            error.step = error.step or step.id
            return error
        where = f"{self._plan.id!r}, step {step.id!r}"
        if isinstance(error, TimeoutError) and self._deadline.passed:
            return RetrievalError(f"{where}: the deadline passed", code="deadline", step=step.id, retryable=True)
        if isinstance(error, FlorilegeError):
            return StepError(f"{where}: {error.message}", code=error.code, step=step.id, retryable=error.retryable)
        return StepError(f"{where} failed with {type(error).__name__}", step=step.id)

    def _keep(
        self,
        step: Step,
        call: Call,
        at: datetime,
        started: float,
        before: Work,
        after: Work,
        failure: RetrievalError | None = None,
    ) -> None:
        if step.phase == PRODUCES and failure is None:
            call.facts["trust"] = trust_counts(after.hits)
        self._steps.append(
            TraceStep(
                step_id=step.id,
                kind=step.kind,
                status="success" if failure is None else "failed",
                started_at=at,
                duration_seconds=time.perf_counter() - started,
                input_query_count=len(before.queries),
                output_query_count=len(after.queries),
                input_hit_count=len(before.hits),
                output_hit_count=len(after.hits) if failure is None else 0,
                warnings=tuple(call.warnings),
                sources=tuple(call.sources),
                usage=call.usage,
                error=None if failure is None else {"code": failure.code, "message": failure.message},
                queries=tuple([query.text for query in after.queries]),
                hits=refs(list(after.hits)) if failure is None and step.phase[1] == "hits" else None,
                searches=tuple(call.searches),
                calls=tuple(call.calls),
                facts=call.facts,
            )
        )

    def _trace(self, status: Status, hits: tuple[HitRef, ...] = ()) -> Trace:
        narrowed = self._request.filter
        return Trace(
            id=self._id,
            recipe_id=self._plan.id,
            fingerprint=self._plan.fingerprint,
            query=self._request.text,
            status=status,
            started_at=self._at if self._recorded is None else self._recorded.started_at,
            duration_seconds=time.perf_counter() - self._started,
            steps=tuple(self._steps),
            usage=sum((step.usage for step in self._steps), Usage()),
            filter=filter_json(narrowed) if isinstance(narrowed, Filter) else None,
            mode=self._request.mode,
            limit=self._request.limit,
            hits=hits,
        )

    def _tell(self, kind: str, step: Step | None = None, **counts: int) -> None:
        if self._on_event is None:
            return
        facts = {"recipe": self._plan.id} if step is None else {"recipe": self._plan.id, "step": step.id}
        span = self._id if step is None else f"{self._id}/{step.id}"
        parent = None if step is None else self._id
        emit(self._on_event, Event(kind=kind, span_id=span, parent_id=parent, counts=counts, facts=facts))
