"""One chunk's way through a run."""

from __future__ import annotations

from florilege.retrieval.trace.records import ExplainedStep, Explanation, HitRef, Trace, TraceStep

_Place = tuple[int, float] | None


def explain(trace: Trace, chunk_id: str, *, source_id: str | None = None, namespace: str | None = None) -> Explanation:
    """See :meth:`Trace.explain`."""

    def place(hits: tuple[HitRef, ...]) -> _Place:
        for rank, hit in enumerate(hits, 1):
            if hit.chunk_id == chunk_id and source_id in (None, hit.source_id) and namespace in (None, hit.namespace):
                return rank, hit.score
        return None

    before: _Place = None
    steps: list[ExplainedStep] = []
    for step in trace.steps:
        after = before if step.hits is None else place(step.hits)
        steps.append(_explained(step, before, after))
        before = after
    final = place(trace.hits)
    return Explanation(chunk_id=chunk_id, rank=None if final is None else final[0], steps=tuple(steps))


def _explained(step: TraceStep, before: _Place, after: _Place) -> ExplainedStep:
    return ExplainedStep(
        step_id=step.step_id,
        kind=step.kind,
        rank_before=None if before is None else before[0],
        rank_after=None if after is None else after[0],
        score_before=None if before is None else before[1],
        score_after=None if after is None else after[1],
        remark=_remark(step, before, after),
    )


def _remark(step: TraceStep, before: _Place, after: _Place) -> str:
    if step.status == "failed":
        return f"failed ({(step.error or {}).get('code', 'error')})"
    if step.output_hit_count == 0 and step.input_hit_count == 0:
        return f"{step.output_query_count} queries planned" if step.output_query_count > 1 else "no hits yet"
    if step.hits is None:
        return "the order of hits was not recorded"
    if after is None:
        if before is None:
            return "not found" if step.searches else "not among the hits"
        return f"dropped from rank {before[0]} (kept {step.output_hit_count} of {step.input_hit_count})"
    rank, score = after
    if before is None:
        return f"found at rank {rank} of {step.output_hit_count}, score {score:.4f}"
    if before == after:
        return f"stays at rank {rank}, score {score:.4f}"
    moved = "stays" if rank == before[0] else f"from rank {before[0]}"
    return f"{moved} {'at' if rank == before[0] else 'to'} rank {rank}, score {before[1]:.4f} to {score:.4f}"
