"""Grounding: a retriever whose evidence is cited, and whose citations are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from florilege.concurrency import Deadline
from florilege.model.errors import ConfigError
from florilege.model.filters import Filter
from florilege.models import CheckedModel, as_model
from florilege.retrieval.evidence.answering import answer, extract
from florilege.retrieval.evidence.policy import Policy
from florilege.retrieval.evidence.records import GroundedAnswer
from florilege.retrieval.evidence.session import Session
from florilege.retrieval.forms import checked_limit
from florilege.retrieval.functions import as_forms
from florilege.retrieval.trace import Run

Inject = Literal["context", "tool"]


class Grounding:
    """See :func:`grounding`."""

    def __init__(
        self,
        *,
        id: str,
        retriever: Any,
        query: Callable[..., str] | None,
        limit: int,
        citations: Policy,
        inject: Inject,
        model: CheckedModel | None,
    ) -> None:
        self.id = id
        self.retriever = as_forms(retriever)
        self.query = query
        self.limit = limit
        self.citations = citations
        self.inject = inject
        self.model = model

    def session(
        self,
        question: str | Mapping[str, Any],
        *,
        filter: Filter | Mapping[str, Any] | None = None,
        deadline: float | None = None,
    ) -> Session:
        """The evidence for ``question`` (or for an input with one under "question"), ready to render and to check.

        With ``inject="tool"`` it begins empty, and fills as its :meth:`~Session.tool` is called. ``filter`` narrows.
        """
        given = {"question": question} if isinstance(question, str) else dict(question)
        told = given.get("question")
        if self.query is None and not isinstance(told, str):
            raise ConfigError(f"grounding {self.id!r}: the input has no 'question'; give one, or query=")
        query = str(told) if self.query is None else self.query(given)

        def search(text: str) -> Run:
            return self.retriever.retrieve_with_trace(text, limit=self.limit, filter=filter, deadline=deadline)

        run = search(query) if self.inject == "context" else None
        text = told if isinstance(told, str) else query
        return Session(text, self.citations, self.retriever.origins(), search, run=run)

    def answer(
        self,
        question: str | Mapping[str, Any],
        *,
        model: Any = None,
        instructions: str | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        deadline: float | None = None,
    ) -> GroundedAnswer:
        """Retrieve, let ``model`` (or the grounding's) answer, check, and let it repair its answer once.

        Abstains when there is no evidence, or the model says that it does not answer. Raises GroundingError when the
        repaired answer's citations do not hold either (``report`` tells why), ModelError when the model fails.
        """
        chosen = self.model if model is None else as_model(model)
        if chosen is None:
            raise ConfigError(f"grounding {self.id!r}: no model; give model=, or extract() an answer without one")
        ends = Deadline(deadline)
        session = self._evidence(question, filter, deadline)
        return answer(session, chosen, ends, instructions)

    def extract(
        self,
        question: str | Mapping[str, Any],
        *,
        sentences: int = 3,
        filter: Filter | Mapping[str, Any] | None = None,
        deadline: float | None = None,
    ) -> GroundedAnswer:
        """An answer without a model: the sentences that share most words with the question, verified.

        Abstains when none shares any.
        """
        if isinstance(sentences, bool) or not isinstance(sentences, int) or sentences < 1:
            raise ConfigError(f"extract sentences: must be a whole number of at least 1, not {sentences!r}")
        return extract(self._evidence(question, filter, deadline), sentences)

    def _evidence(self, question: Any, filter: Any, deadline: float | None) -> Session:
        session = self.session(question, filter=filter, deadline=deadline)
        if self.inject == "tool":
            session.search(session.question)
        return session


def grounding(
    *,
    retriever: Any,
    id: str | None = None,
    query: Callable[..., str] | None = None,
    limit: int = 8,
    citations: Mapping[str, Any] | Policy | None = None,
    inject: Inject = "context",
    model: Any = None,
) -> Grounding:
    """Answers from ``retriever`` that cite verified evidence.

    ``query`` makes the search text from the input (a mapping); None takes its "question". ``limit`` bounds the
    evidence. ``citations`` are the options of :class:`~florilege.retrieval.evidence.Policy`, by default ``{"required":
    True, "quotes": "required"}``. ``inject`` "tool" lets a model ask for evidence by a tool instead of finding it in
    its prompt. ``model`` is what :meth:`Grounding.answer` asks by default.
    """
    if inject not in ("context", "tool"):
        raise ConfigError(f'grounding inject: must be "context" or "tool", not {inject!r}')
    if query is not None and not callable(query):
        raise ConfigError(f"grounding query: {query!r} cannot be called")
    if not checked_limit(limit):
        raise ConfigError(f"grounding limit: must be a whole number of at least 1, not {limit!r}")
    forms = as_forms(retriever)
    return Grounding(
        id=id or forms.id,
        retriever=forms,
        query=query,
        limit=limit,
        citations=Policy.of(citations),
        inject=inject,
        model=None if model is None else as_model(model),
    )
