"""The evidence of one question: shown under numbers, cited by them, checked against what was retrieved."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from florilege.interfaces.retrieval import Origin
from florilege.model.document import Document
from florilege.model.errors import GroundingError, StoreError
from florilege.model.hit import Hit
from florilege.retrieval.evidence.locating import Locator
from florilege.retrieval.evidence.policy import Policy
from florilege.retrieval.evidence.records import (
    Citation,
    CitationReport,
    CitationVerdict,
    Fault,
    Problem,
    as_citation,
)
from florilege.retrieval.passages.rendering import block, header, trust_of
from florilege.retrieval.tools import Tool
from florilege.retrieval.trace import Run, Trace
from florilege.text.fences import NOTICE, Fence
from florilege.text.quotes import normalised
from florilege.text.sentences import sentence_spans

_MARKER = re.compile(r"\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\]")
_LABEL = re.compile(r"[^\w .-]")

CITING = (
    "Answer from the evidence alone and mark each statement with the number of the evidence it rests on, as in [2]. "
    "Copy quotations word for word. Say that the evidence does not answer the question when it does not."
)


class Session:
    """The hits one question may cite, in order; the first is evidence [1]. Numbers never change.

    ``search`` is how a model that asks for evidence itself gets more of it (``inject="tool"``).
    """

    def __init__(
        self,
        question: str,
        policy: Policy,
        origins: Sequence[Origin],
        search: Callable[[str], Run],
        *,
        run: Run | None = None,
    ) -> None:
        self.question = question
        self.policy = policy
        self.trace: Trace | None = None if run is None else run.trace
        self._search = search
        self._origins = origins
        self._hits: list[Hit] = [] if run is None else list(run.hits)
        self._locators: dict[int, Locator] = {}
        self._documents: dict[tuple[str, str], Document | None] = {}

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The evidence, by number from 1."""
        return tuple(self._hits)

    def render(self) -> str:
        """The evidence for a prompt: each piece fenced by a delimiter of this call alone, with its trust label."""
        if not self._hits:
            return "There is no evidence."
        fence = Fence([block(number, hit) for number, hit in enumerate(self._hits, 1)])
        blocks = [
            fence.around(str(number), block(number, hit), _LABEL.sub("", f"trust {trust_of(hit)}"))
            for number, hit in enumerate(self._hits, 1)
        ]
        return "\n\n".join([NOTICE, *blocks])

    def search(self, query: str) -> list[int]:
        """Retrieve for ``query`` and add what is new to the evidence; the numbers of all that was found."""
        run = self._search(query)
        self.trace = self.trace or run.trace
        known = {hit.key: number for number, hit in enumerate(self._hits, 1)}
        for hit in run.hits:
            if hit.key not in known:
                self._hits.append(hit)
                known[hit.key] = len(self._hits)
        return [known[hit.key] for hit in run.hits]

    def tool(self, name: str = "search_evidence") -> Tool:
        """A tool for a model: what it finds becomes evidence that may be cited."""

        def run(query: str) -> dict[str, Any]:
            found = [(number, self._hits[number - 1]) for number in self.search(query)]
            evidence = [
                {
                    "evidence": number,
                    "header": header(number, hit),
                    "text": hit.text_for("context"),
                    "trust": trust_of(hit),
                }
                for number, hit in found
            ]
            return {"evidence": evidence}

        parameters = {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What to look for."}},
            "required": ["query"],
            "additionalProperties": False,
        }
        return Tool(name=name, description=f"Search for evidence. {CITING}", parameters=parameters, run=run)

    def check(self, citations: Iterable[Citation | Mapping[str, Any]], answer: str | None = None) -> CitationReport:
        """Check citations, and the markers of ``answer`` when it is given, against this evidence.

        A mapping names a hit by ``source_id``, ``chunk_id`` (and ``namespace``) or by ``evidence``, its number. Raises
        GroundingError (``bad_citation``) for a mapping that is no citation.
        """
        keys = tuple([hit.key for hit in self._hits])
        try:
            given = [as_citation(item, keys) for item in citations]
        except (TypeError, KeyError, ValueError) as error:
            raise GroundingError(f"citations: {error}", code="bad_citation") from None
        report = CitationReport(verdicts=tuple([self._verdict(item) for item in given]))
        problems = self._problems(report, answer)
        report = CitationReport(verdicts=report.verdicts, problems=tuple(problems))
        own = [
            Problem(fault="policy", message=message)
            for check in self.policy.checks
            for message in check(answer or "", report)
        ]
        return CitationReport(verdicts=report.verdicts, problems=(*report.problems, *own))

    def _verdict(self, citation: Citation) -> CitationVerdict:
        found = [
            number
            for number, hit in enumerate(self._hits, 1)
            if hit.source_id == citation.source_id
            and citation.chunk_id in (None, hit.chunk_id)
            and citation.namespace in (None, hit.namespace)
        ]
        if not found:
            return _faulty(citation, "unknown_hit", f"{citation.source_id!r} is not among the evidence")
        if len(found) > 1:
            return _faulty(citation, "ambiguous_hit", f"{citation.source_id!r} names {len(found)} pieces of evidence")
        number = found[0]
        hit = self._hits[number - 1]
        if self.policy.trusted and trust_of(hit) not in self.policy.trusted:
            return _faulty(citation, "untrusted", f"evidence [{number}] has no trust label that may be cited", number)
        return self._quoted(citation, number)

    def _quoted(self, citation: Citation, number: int) -> CitationVerdict:
        locator = self._locator(number)
        quote = citation.quote
        if citation.span is not None:
            return self._spanned(citation, number, locator)
        if quote is None or not quote.strip():
            if self.policy.quotes == "required":
                return _faulty(citation, "missing_quote", f"the citation of [{number}] has no quotation", number)
            return CitationVerdict(citation=citation, number=number)
        if self._short(quote):
            return _faulty(citation, "short_quote", self._floor(number), number)
        match, location = locator.find(quote)
        if location is None:
            return _absent(citation, "quote_not_found", f"the quotation is not in evidence [{number}]", number)
        return CitationVerdict(citation=citation, verdict=match.verdict, number=number, location=location)

    def _spanned(self, citation: Citation, number: int, locator: Locator) -> CitationVerdict:
        """A citation that says where: what stands there must be its quotation, when it has one."""
        assert citation.span is not None
        location = locator.at(*citation.span)
        if location is None:
            return _faulty(citation, "invalid_span", f"the span is none of evidence [{number}]", number)
        if self._short(location.text):
            return _faulty(citation, "short_quote", self._floor(number), number)
        quote = location.text if citation.quote is None else citation.quote
        if quote == location.text:
            return CitationVerdict(citation=citation, verdict="exact", number=number, location=location)
        if normalised(quote).text.strip() == normalised(location.text).text.strip():
            return CitationVerdict(citation=citation, verdict="normalised", number=number, location=location)
        message = f"the quotation does not stand at that span of evidence [{number}]"
        return _absent(citation, "invalid_span", message, number)

    def _short(self, quote: str) -> bool:
        seen = [char for char in " ".join(quote.split()) if unicodedata.category(char) != "Cf"]
        return len(seen) < self.policy.min_quote_chars

    def _floor(self, number: int) -> str:
        return f"the quotation from [{number}] is shorter than {self.policy.min_quote_chars} characters"

    def _problems(self, report: CitationReport, answer: str | None) -> Iterable[Problem]:
        if self.policy.required and not report.verdicts:
            yield Problem(fault="no_citations", message="The answer has no citations.")
        if answer is None:
            return
        for number in markers(answer):
            if not 1 <= number <= len(self._hits):
                message = f"The answer refers to [{number}]; evidence is numbered 1 to {len(self._hits)}."
                yield Problem(fault="unknown_marker", message=message)
        if self.policy.every_sentence:
            spans = sentence_spans(answer)
            bare = [place for place, (start, end) in enumerate(spans, 1) if not _cited(answer, start, end, spans)]
            if bare:
                told = ", ".join(map(str, bare))
                yield Problem(fault="uncited_sentence", message=f"No evidence is given for sentence {told}.")

    def _locator(self, number: int) -> Locator:
        locator = self._locators.get(number)
        if locator is None:
            locator = self._locators[number] = Locator(self._hits[number - 1], self._document)
        return locator

    def _document(self, hit: Hit) -> Document | None:
        """The stored document of a hit, where a store keeps it."""
        key = (hit.namespace, hit.source_id)
        if key not in self._documents:
            self._documents[key] = None
            for origin in self._origins:
                if origin.namespace == hit.namespace and self._documents[key] is None:
                    try:
                        with origin.snapshot() as snapshot:
                            self._documents[key] = snapshot.document(hit.source_id)
                    except StoreError:
                        continue
        return self._documents[key]


def markers(answer: str) -> list[int]:
    """The evidence numbers an answer refers to, in order, each once."""
    found = [int(number) for match in _MARKER.finditer(answer) for number in match[1].split(",")]
    return list(dict.fromkeys(found))


def _told(number: int, hit: Hit) -> dict[str, Any]:
    return {
        "evidence": number,
        "header": header(number, hit),
        "trust": trust_of(hit),
        "text": hit.text_for("context"),
    }


def _cited(answer: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a sentence has a marker, in it or right behind its full stop; one without letters needs none."""
    text = answer[start:end]
    if _MARKER.search(text) or not any(char.isalpha() for char in text):
        return True
    after = answer[end:].lstrip()
    return bool(_MARKER.match(after))


def _faulty(citation: Citation, fault: Fault, message: str, number: int | None = None) -> CitationVerdict:
    return CitationVerdict(citation=citation, fault=fault, message=message, number=number)


def _absent(citation: Citation, fault: Fault, message: str, number: int) -> CitationVerdict:
    return CitationVerdict(citation=citation, verdict="absent", fault=fault, message=message, number=number)
