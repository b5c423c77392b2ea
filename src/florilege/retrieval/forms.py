"""What everything that retrieves can do, and can be used as."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from florilege.concurrency import Deadline
from florilege.interfaces.retrieval import Origin
from florilege.model.errors import ConfigError
from florilege.model.events import Subscriber
from florilege.model.filters import Filter, intersect, parse_filter
from florilege.model.hashing import fingerprint
from florilege.model.hit import Hit, Mode, Query
from florilege.model.ledger import Usage
from florilege.retrieval.trace import Run, Search, Trace

if TYPE_CHECKING:
    from florilege.retrieval.evidence import Grounding
    from florilege.retrieval.steps.base import Plan
    from florilege.retrieval.tools import Tool


class Found(NamedTuple):
    """One search's hits, best first, and what a trace keeps of it; see :class:`florilege.retrieval.trace.Search`."""

    hits: list[Hit]
    usage: Usage
    seq: int | None = None
    vector: str | None = None
    sparse: Mapping[int, float] | None = None
    trace: Trace | None = None


class Forms:
    """Base of retrievers and recipes: the uses that need no more than :meth:`search`, :meth:`plan` and an id."""

    id: str
    on_event: Subscriber | None = None

    def search(self, query: Query, *, deadline: Deadline | None = None, recorded: Search | None = None) -> Found:
        """Answer a checked query; ``recorded`` is to be run again as it was."""
        raise TypeError(f"{type(self).__name__} does not say how it searches")

    def plan(self) -> Plan:
        """The steps a traced run takes."""
        raise TypeError(f"{type(self).__name__} has no plan")

    def fingerprint(self) -> str:
        """Its identity as it is built, the state of its sources aside."""
        return fingerprint("retriever", "1", {"id": self.id})

    def origins(self) -> tuple[Origin, ...]:
        """The stores behind it, in order; none when hits come from elsewhere."""
        return ()

    def retrieve(
        self,
        query: str | Query,
        *,
        limit: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        mode: Mode | None = None,
        deadline: float | None = None,
    ) -> list[Hit]:
        """The best hits for ``query``, at most ``limit``. ``filter`` narrows; ``deadline`` is in seconds from now.

        Raises ConfigError for a wrong filter or limit, RetrievalError when it fails or the deadline passes.
        """
        return self.search(asked(query, limit, filter, mode), deadline=Deadline(deadline)).hits

    def retrieve_with_trace(
        self,
        query: str | Query,
        *,
        limit: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        mode: Mode | None = None,
        deadline: float | None = None,
    ) -> Run:
        """The same hits, and a trace that tells, step by step, how they came about. An error carries its ``trace``."""
        from florilege.retrieval.engine import execute

        request = asked(query, limit, filter, mode)
        return execute(self.plan(), request, deadline=Deadline(deadline), on_event=self.on_event)

    def replay(self, trace: Trace) -> Run:
        """Run a trace again: at the store's state of then, with the query vectors and the models' answers of then.

        The hits are the same while the generations are kept. Sources that are functions and custom steps are called
        anew. Raises RetrievalError (``trace_mismatch``) for a trace of another recipe, NotFound (``collected``) when
        what it saw is gone.
        """
        from florilege.retrieval.engine import replay

        return replay(self.plan(), trace, on_event=self.on_event)

    def as_retriever(self) -> Self:
        """Itself: whatever takes a retriever takes this."""
        return self

    def as_tools(
        self,
        prefix: str = "",
        include: Sequence[str] = ("search",),
        *,
        max_limit: int = 20,
        filters: Sequence[str] = (),
        max_chars: int = 20_000,
    ) -> list[Tool]:
        """Tools for a model, ``search`` and ``get_source``; options as in :func:`florilege.retrieval.tools.tools`."""
        from florilege.retrieval.tools import tools

        return tools(self, prefix=prefix, include=include, max_limit=max_limit, filters=filters, max_chars=max_chars)

    def as_grounding(
        self, query: Callable[..., str] | None = None, citations: Mapping[str, Any] | None = None, **options: Any
    ) -> Grounding:
        """Answers that cite verified evidence; options as in :func:`florilege.grounding`."""
        from florilege.retrieval.evidence import grounding

        return grounding(retriever=self, query=query, citations=citations, **{"id": self.id, **options})


def asked(
    query: str | Query,
    limit: int | None = None,
    filter: Filter | Mapping[str, Any] | None = None,
    mode: Mode | None = None,
) -> Query:
    """One query out of a query and the options of a call: filters meet, the call's limit and mode win."""
    if isinstance(query, str):
        query = Query(text=query)
    elif not isinstance(query, Query):
        raise ConfigError(f"query: must be a text or a Query, not a {type(query).__name__}")
    narrowed = [parse_filter(item) for item in (query.filter, filter) if item is not None]
    return Query(
        text=query.text,
        vector=query.vector,
        filter=intersect(*narrowed),
        limit=checked_limit(query.limit if limit is None else limit),
        mode=query.mode if mode is None else mode,
    )


def checked_limit(limit: int | None) -> int | None:
    """``limit`` if it is one: a whole number of at least 0, or None."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise ConfigError(f"limit: must be a whole number of at least 0, not {limit!r}")
    return limit
