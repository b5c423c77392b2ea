"""From a question to an answer that is verified, or to none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from florilege.concurrency import Deadline, concurrently
from florilege.interfaces.models import Generation, Message
from florilege.model.errors import GroundingError
from florilege.model.ledger import Usage
from florilege.models import CheckedModel, field_of, json_of, object_schema
from florilege.retrieval.evidence.records import CitationReport, GroundedAnswer
from florilege.retrieval.evidence.session import CITING, Session
from florilege.retrieval.passages.relevance import Relevance
from florilege.text.fences import Fence

_QUESTION_MARKS = ("?", "？", "؟")
_SCHEMA = object_schema(
    {
        "answer": {"type": "string"},
        "answerable": {"type": "boolean"},
        "citations": {
            "type": "array",
            "items": object_schema({"evidence": {"type": "integer"}, "quote": {"type": "string"}}),
        },
    }
)
_TASK = (
    CITING
    + " Give your answer as JSON: answer (with markers), answerable (false when the evidence does not answer the "
    "question; answer may then be empty), citations (for each marker the evidence number and a quotation from it)."
)


@dataclass(frozen=True, slots=True)
class _Draft:
    text: str
    answerable: bool
    citations: Sequence[Mapping[str, Any]]


def answer(session: Session, model: CheckedModel, deadline: Deadline, instructions: str | None) -> GroundedAnswer:
    """Generate, check, repair once. GroundingError when it still does not hold; its ``report`` tells why."""
    if not session.hits:
        return _abstained(session, "no_evidence", Usage())
    messages = _messages(session, instructions)
    usage = Usage()
    complaints: list[str] = []
    report: CitationReport | None = None
    for attempt in range(2):
        generation = _generated(model, messages, deadline)
        usage += generation.usage
        try:
            draft = _read(generation)
        except ValueError as error:
            complaints, report = [f"The answer is not as asked: {error}."], None
        else:
            if not draft.answerable:
                return _abstained(session, "not_answerable", usage)
            report = session.check(draft.citations, draft.text)
            if report.ok:
                return GroundedAnswer(
                    question=session.question,
                    text=draft.text,
                    citations=report.verdicts,
                    hits=session.hits,
                    repaired=attempt > 0,
                    usage=_total(session, usage),
                    trace=session.trace,
                )
            complaints = report.complaints()
        messages = [*messages, {"role": "assistant", "content": generation.text}, _repair(complaints)]
    failure = GroundingError(f"the answer does not hold: {complaints[0]}", code="not_grounded")
    failure.report = report
    raise failure


def extract(session: Session, most: int) -> GroundedAnswer:
    """The ``most`` sentences of the evidence that share most with the question, each verified, as the answer.

    Fewer when the others say less than half of what the best one says. Questions answer nothing and are left out.
    """
    texts = [hit.text_for("context") for hit in session.hits]
    relevance = Relevance(session.question, texts)
    found = []
    for number, text in enumerate(texts, 1):
        for item in relevance.candidates(text):
            quote = text[item.start : item.end]
            long_enough = len(" ".join(quote.split())) >= session.policy.min_quote_chars
            if item.weight > 0 and long_enough and not quote.endswith(_QUESTION_MARKS):
                found.append((-item.weight / (number + 9), number, item.start, quote))
    found.sort()
    chosen: list[tuple[int, int, str]] = []
    seen: set[str] = set()
    for negative, number, start, quote in found:
        if negative > found[0][0] / 2:
            break
        folded = " ".join(quote.split()).casefold()
        if folded not in seen and len(chosen) < most:
            seen.add(folded)
            chosen.append((number, start, quote))
    chosen.sort()
    if not chosen:
        return _abstained(session, "no_evidence", Usage(), extractive=True)
    lines = [f"“{' '.join(quote.split())}” [{number}]" for number, _, quote in chosen]
    report = session.check([{"evidence": number, "quote": quote} for number, _, quote in chosen])
    if not report.ok:
        return _abstained(session, "not_citeable", Usage(), extractive=True)
    return GroundedAnswer(
        question=session.question,
        text="\n".join(lines),
        citations=report.verdicts,
        hits=session.hits,
        extractive=True,
        usage=_total(session, Usage()),
        trace=session.trace,
    )


def _generated(model: CheckedModel, messages: Sequence[Message], deadline: Deadline) -> Generation:
    (outcome,) = concurrently([partial(model.generate, messages, _SCHEMA)], deadline=deadline)
    if isinstance(outcome.error, TimeoutError):
        raise GroundingError("the deadline passed before there was an answer", code="deadline", retryable=True)
    return outcome.result()


def _messages(session: Session, instructions: str | None) -> list[Message]:
    fence = Fence([session.question])
    return [
        {"role": "system", "content": " ".join(filter(None, [_TASK, instructions]))},
        {"role": "user", "content": f"{session.render()}\n\n{fence.around('question', session.question)}"},
    ]


def _repair(complaints: Sequence[str]) -> Message:
    listed = "\n".join(f"- {item}" for item in complaints)
    return {"role": "user", "content": f"That answer cannot be accepted:\n{listed}\nAnswer again, as JSON."}


def _read(generation: Generation) -> _Draft:
    value = json_of(generation)
    citations = field_of(value, "citations", list)
    for item in citations:
        field_of(item, "evidence", int)
    answerable = value.get("answerable", True)
    text = field_of(value, "answer", str)
    if answerable and not text.strip():
        raise ValueError("'answer' is empty")
    kept = [{name: item[name] for name in ("evidence", "quote") if item.get(name) is not None} for item in citations]
    return _Draft(text.strip(), bool(answerable), kept)


def _abstained(session: Session, reason: str, usage: Usage, *, extractive: bool = False) -> GroundedAnswer:
    return GroundedAnswer(
        question=session.question,
        text="",
        hits=session.hits,
        abstained=True,
        reason=reason,
        extractive=extractive,
        usage=_total(session, usage),
        trace=session.trace,
    )


def _total(session: Session, usage: Usage) -> Usage:
    return usage if session.trace is None else session.trace.usage + usage
