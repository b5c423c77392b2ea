"""A recipe's shape, for people."""

from __future__ import annotations

from florilege.model.errors import ConfigError
from florilege.retrieval.steps.base import PRODUCES, Plan, Step


def draw(plan: Plan, format: str = "text") -> str:
    """``plan`` as "text", a line a step, or as a "mermaid" flow chart."""
    if format == "text":
        return _text(plan)
    if format == "mermaid":
        return _mermaid(plan)
    raise ConfigError(f'draw format: must be "text" or "mermaid", not {format!r}')


def _text(plan: Plan) -> str:
    rows = [(" -> ".join(step.phase), step.id, _told(plan, step)) for step in plan.steps]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{phase:<{widths[0]}}  {id:<{widths[1]}}  {told}".rstrip() for phase, id, told in rows]
    return "\n".join([plan.id, *(f"  {line}" for line in lines)])


def _mermaid(plan: Plan) -> str:
    lines = ["flowchart TD", '    question(["question"])']
    before = "question"
    for number, step in enumerate(plan.steps):
        node = f"step{number}"
        told = _told(plan, step) if step.phase != PRODUCES else ""
        lines.append(f'    {node}["{_safe(step.id)}{"<br/>" + _safe(told) if told else ""}"]')
        lines.append(f"    {before} -->|{step.phase[0]}| {node}")
        if step.phase == PRODUCES:
            for place, source in enumerate(plan.sources):
                lines.append(f'    source{place}[("{_safe(source.id)}")] -->|weight {source.weight:g}| {node}')
        before = node
    return "\n".join([*lines, '    hits(["hits"])', f"    {before} -->|hits| hits"])


def _told(plan: Plan, step: Step) -> str:
    options = {name: value for name, value in step.options().items() if name not in ("id", "kind", "phase", "model")}
    told = [f"{name}={_short(value)}" for name, value in options.items() if value is not None and value is not False]
    if step.phase == PRODUCES:
        told.append("from " + ", ".join(f"{source.id} ({source.weight:g})" for source in plan.sources))
    if step.needs_model:
        told.append(f"model={getattr(step.own_model or plan.model, 'name', None)}")
    return ", ".join(told)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _safe(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
