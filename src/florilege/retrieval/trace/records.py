"""What a retrieval did, as data: counts, times, order, and all that a replay needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from florilege.model.hit import Hit
from florilege.model.ledger import Usage

Status = Literal["success", "failed"]
SourceState = Literal["success", "partial", "failed"]


@dataclass(frozen=True, slots=True)
class HitRef:
    """A hit in a trace: identity and score, no text."""

    namespace: str
    source_id: str
    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One query over one source.

    ``seq`` is the store's change number it saw, ``vector`` the query's (base64 of little-endian float32) and ``sparse``
    its weights by id; None where there are none. ``trace`` is the inner one when the source is a recipe.
    """

    retriever_id: str
    query: str
    hit_count: int
    duration_seconds: float
    seq: int | None = None
    vector: str | None = None
    sparse: tuple[tuple[int, float], ...] | None = None
    error: str | None = None
    trace: Trace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """What one source contributed to a retrieve step: "partial" when some of its queries failed."""

    retriever_id: str
    status: SourceState
    weight: float
    query_count: int
    hit_count: int
    duration_seconds: float
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """What a model or reranker answered; ``scores`` are ``(index, score)`` pairs of a reranker."""

    text: str | None = None
    parsed: Any = None
    scores: tuple[tuple[int, float], ...] | None = None
    error: str | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One declared step. ``queries`` are the planned ones behind it, ``hits`` their order behind it (None: not kept).

    ``facts`` are plain values: the reranker's identity, trust labels counted, options chosen by a model.
    """

    step_id: str
    kind: str
    status: Status
    started_at: datetime
    duration_seconds: float
    input_query_count: int
    output_query_count: int
    input_hit_count: int
    output_hit_count: int
    warnings: tuple[str, ...] = ()
    sources: tuple[SourceStatus, ...] = ()
    usage: Usage = field(default_factory=Usage)
    error: Mapping[str, Any] | None = None
    queries: tuple[str, ...] = ()
    hits: tuple[HitRef, ...] | None = None
    searches: tuple[Search, ...] = ()
    calls: tuple[ModelCall, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One run of a recipe or retriever. ``fingerprint`` is that of the recipe; ``filter`` the request's, as JSON."""

    id: str
    recipe_id: str
    fingerprint: str
    query: str
    status: Status
    started_at: datetime
    duration_seconds: float
    steps: tuple[TraceStep, ...] = ()
    usage: Usage = field(default_factory=Usage)
    filter: Mapping[str, Any] | None = None
    mode: str | None = None
    limit: int | None = None
    hits: tuple[HitRef, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Every step's warnings, in order."""
        return tuple(warning for step in self.steps for warning in step.warnings)

    def explain(self, chunk_id: str, *, source_id: str | None = None, namespace: str | None = None) -> Explanation:
        """Why a chunk stands where it does, or where it was dropped."""
        from florilege.retrieval.trace.explain import explain

        return explain(self, chunk_id, source_id=source_id, namespace=namespace)

    def to_json(self) -> bytes:
        """The trace as JSON; :func:`florilege.retrieval.read_trace` is the way back."""
        from florilege.codec import encode

        return encode(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedStep:
    """One step's effect on a chunk: ranks are 1-based, None where it was not among the hits."""

    step_id: str
    kind: str
    rank_before: int | None
    rank_after: int | None
    score_before: float | None
    score_after: float | None
    remark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A chunk's way through a run; ``str()`` tells it in lines. ``rank`` is the final one, None when it was dropped."""

    chunk_id: str
    rank: int | None
    steps: tuple[ExplainedStep, ...]

    def __str__(self) -> str:
        end = f"ends at rank {self.rank}" if self.rank is not None else "is not among the hits returned"
        return "\n".join([*(f"{step.step_id}: {step.remark}" for step in self.steps), f"{self.chunk_id} {end}"])


class Run(NamedTuple):
    """A retrieval's hits and its trace."""

    hits: list[Hit]
    trace: Trace


def refs(hits: list[Hit]) -> tuple[HitRef, ...]:
    """The hits as a trace keeps them."""
    return tuple([HitRef(hit.namespace, hit.source_id, hit.chunk_id, hit.score) for hit in hits])


def read_trace(data: bytes | str) -> Trace:
    """A trace from its JSON; raises :class:`florilege.model.errors.Corrupt` naming the place at fault."""
    from florilege.codec import decode

    return decode(Trace, data, what="trace")
