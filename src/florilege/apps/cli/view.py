"""How things look in a terminal, and as JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from florilege.model.hashing import plain
from florilege.retrieval.excerpt import Excerpt, excerpt

if TYPE_CHECKING:
    from florilege.model.chunk import Provenance
    from florilege.model.hit import Hit
    from florilege.retrieval.trace import Trace

BOLD, DIM, GREEN, RED, YELLOW, RESET = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[0m"


def coloured(stream: Any = None) -> bool:
    """Whether to colour what goes to ``stream`` (default: standard output); NO_COLOR is honoured."""
    stream = stream or sys.stdout
    return "NO_COLOR" not in os.environ and bool(getattr(stream, "isatty", lambda: False)())


def paint(text: str, style: str, on: bool) -> str:
    """``text`` in a style, where colours are on."""
    return f"{style}{text}{RESET}" if on else text


def counted(number: int, what: str) -> str:
    """``3 calls``, ``1 call``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def marked(found: Excerpt, on: bool) -> str:
    """An excerpt on one line, matching words bold, or between « and » where there are no colours."""
    before, after = (BOLD, RESET) if on else ("«", "»")
    pieces, at = [], 0
    for start, end in found.marks:
        pieces += [found.text[at:start], before, found.text[start:end], after]
        at = end
    return " ".join("".join([*pieces, found.text[at:]]).split())


def place(provenance: Provenance) -> str:
    """Where in its source a passage stands: page, sheet and cells, JSON path, headings; empty when unknown."""
    named = []
    if provenance.pages:
        named.append(("page " if len(provenance.pages) == 1 else "pages ") + _ranges(provenance.pages))
    if provenance.sheets:
        cells = "".join(f"!{cells}" for cells in provenance.cell_ranges[:1])
        named.append(f"sheet {', '.join(provenance.sheets)}{cells}")
    elif provenance.cell_ranges:
        named.append(", ".join(cells.replace("rows=", "rows ") for cells in provenance.cell_ranges))
    if provenance.json_paths:
        more = f" (+{len(provenance.json_paths) - 1})" if len(provenance.json_paths) > 1 else ""
        named.append(provenance.json_paths[0] + more)
    if provenance.headings:
        named.append(" > ".join(provenance.headings))
    return ", ".join(named)


def hit_lines(number: int, hit: Hit, query: str, *, on: bool, full: bool = False) -> list[str]:
    """A hit for people: rank, score, source, place; then the excerpt."""
    where = place(hit.provenance)
    head = f"{number:>2}. {paint(f'{hit.score:.4f}', DIM, on)}  {paint(hit.source_id, GREEN, on)}"
    body = hit.content if full else marked(excerpt(hit.content, query), on)
    return [head + (f"  {paint(where, DIM, on)}" if where else ""), *(f"    {line}" for line in body.splitlines())]


def trace_lines(trace: Trace, *, on: bool) -> list[str]:
    """A trace as a table: a line a step, its warnings and sources below it."""
    rows = []
    for step in trace.steps:
        counts = f"{step.input_query_count} -> {step.output_query_count} queries"
        if step.output_hit_count or step.input_hit_count:
            counts += f", {step.input_hit_count} -> {step.output_hit_count} hits"
        usage = step.usage
        calls = f", {counted(usage.calls, 'call')}, {counted(usage.tokens, 'token')}" if usage.calls else ""
        head = f"{step.step_id:<20} {step.status:<8} {1000 * step.duration_seconds:8.1f} ms  {counts}{calls}"
        rows.append(paint(head, GREEN if step.status == "success" else RED, on))
        for source in step.sources:
            found = counted(source.hit_count, "hit")
            told = f"{source.retriever_id}: {found}, weight {source.weight:g}, {source.status}"
            rows.append(paint(f"    {told}", DIM, on))
        rows += [paint(f"    warning: {warning}", YELLOW, on) for warning in step.warnings]
    return [*rows, ""]


def jsonable(record: Any) -> Any:
    """A record of the model as plain JSON values; times as ISO text."""
    return _dates(plain(asdict(record)))


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    import json

    print(json.dumps(value, ensure_ascii=False, indent=None if not sys.stdout.isatty() else 2))


def _dates(value: Any) -> Any:
    if isinstance(value, dict):
        if len(value) == 1 and "$date" in value:
            return value["$date"]
        return {key: _dates(item) for key, item in value.items()}
    return [_dates(item) for item in value] if isinstance(value, list) else value


def _ranges(numbers: Sequence[int]) -> str:
    pieces: list[list[int]] = []
    for number in sorted(numbers):
        if pieces and number == pieces[-1][1] + 1:
            pieces[-1][1] = number
        else:
            pieces.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in pieces)
