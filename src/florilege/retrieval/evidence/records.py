"""Citations, what checking them found, and answers that rest on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from florilege.model.chunk import PageBox
from florilege.model.document import Span
from florilege.model.hit import Hit
from florilege.model.ledger import Usage
from florilege.retrieval.passages.rendering import inert
from florilege.retrieval.trace import Trace
from florilege.text.quotes import Verdict

Fault = Literal[
    "unknown_hit",
    "ambiguous_hit",
    "missing_quote",
    "short_quote",
    "quote_not_found",
    "invalid_span",
    "untrusted",
    "unknown_marker",
    "uncited_sentence",
    "no_citations",
    "policy",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A claim that a hit says something: ``quote`` is its words, ``span`` where they stand in the chunk."""

    source_id: str
    chunk_id: str | None = None
    quote: str | None = None
    span: tuple[int, int] | None = None
    namespace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a quotation stands. ``text`` is what stands there, verbatim.

    ``chunk`` is its span in the chunk (None when it lies outside, in a parent or window the hit was expanded to),
    ``source`` its spans in the document, ``pages`` and ``boxes`` where that is on the page. What is not certain is
    empty.
    """

    text: str
    basis: Literal["chunk", "parent", "window"]
    start: int
    end: int
    chunk: tuple[int, int] | None = None
    source: tuple[Span, ...] = ()
    pages: tuple[int, ...] = ()
    boxes: tuple[PageBox, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationVerdict:
    """What checking one citation found. ``verdict`` is that of its quote, None when there was none to look for.

    ``number`` is the evidence it points to, from 1. ``fault`` None: it passes.
    """

    citation: Citation
    verdict: Verdict | None = None
    fault: Fault | None = None
    message: str = ""
    number: int | None = None
    location: Location | None = None

    @property
    def ok(self) -> bool:
        """Whether it passes."""
        return self.fault is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something wrong with an answer as a whole."""

    fault: Fault
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationReport:
    """Whether an answer's citations hold: each verdict, in order, and what is wrong beyond them."""

    verdicts: tuple[CitationVerdict, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """All pass, and the required ones are there."""
        return not self.problems and all(verdict.ok for verdict in self.verdicts)

    def complaints(self) -> list[str]:
        """What is wrong, a sentence each."""
        faults = [f"Citation {place}: {item.message}" for place, item in enumerate(self.verdicts, 1) if not item.ok]
        return [*faults, *(problem.message for problem in self.problems)]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundedAnswer:
    """An answer whose citations were verified, or an abstention with its ``reason``.

    ``citations`` are the verdicts, ``hits`` the evidence they number. ``extractive``: it is made of quotations alone.
    """

    question: str
    text: str
    citations: tuple[CitationVerdict, ...] = ()
    hits: tuple[Hit, ...] = ()
    abstained: bool = False
    reason: str | None = None
    extractive: bool = False
    repaired: bool = False
    usage: Usage = field(default_factory=Usage)
    trace: Trace | None = None

    def markdown(self) -> str:
        """The answer with its quotations listed, for showing: nothing from a source is a link, an image or a tag."""
        lines = [inert(self.text) if self.text else f"No answer: {self.reason}."]
        for item in self.citations:
            quote = " ".join(item.location.text.split()) if item.location else ""
            where = inert(item.citation.source_id)
            pages = item.location.pages if item.location else ()
            where += f", page {pages[0]}" if pages else ""
            lines.append(f"- [{item.number}] {where}" + (f": “{inert(quote)}”" if quote else ""))
        return "\n\n".join([lines[0], "\n".join(lines[1:])]) if lines[1:] else lines[0]


def as_citation(value: Citation | Mapping[str, Any], keys: tuple[tuple[str, str, str], ...]) -> Citation:
    """A citation from its mapping; ``{"evidence": n}`` names a hit by its number, among the ``keys`` of the session.

    Raises ValueError for a mapping that is none.
    """
    if isinstance(value, Citation):
        return value
    if not isinstance(value, Mapping):
        raise ValueError(f"a citation is a mapping, not a {type(value).__name__}")
    unknown = value.keys() - {"source_id", "chunk_id", "quote", "span", "namespace", "evidence"}
    if unknown:
        raise ValueError(f"a citation has no {min(map(str, unknown))!r}")
    given = dict(value)
    number = given.pop("evidence", None)
    if number is not None:
        if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= len(keys):
            namespace, source_id, chunk_id = keys[number - 1]
            given = {"namespace": namespace, "source_id": source_id, "chunk_id": chunk_id, **given}
        else:
            given = {"source_id": f"[{number}]", **given}
    if not isinstance(given.get("source_id"), str):
        raise ValueError("a citation needs a source_id")
    span = given.get("span")
    if span is not None:
        span = (span["start"], span["end"]) if isinstance(span, Mapping) else tuple(span)
        if len(span) != 2 or not all(isinstance(item, int) for item in span):
            raise ValueError("a citation's span is its start and its end")
    return Citation(**{**given, "span": span})
