"""Awaitable twins of synchronous classes. Written by ``scripts/generate_aio.py``; change that, not this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from florilege.aio.bridge import Twin, hop, unwrapped
from florilege.retrieval.evidence.asking import Grounding as _Grounding
from florilege.retrieval.evidence.asking import grounding as _grounding
from florilege.retrieval.evidence.session import Session as _Session
from florilege.retrieval.functions import FunctionRetriever as _FunctionRetriever
from florilege.retrieval.recipe import Recipe as _Recipe
from florilege.retrieval.retriever import Retriever as _Retriever
from florilege.retrieval.tools import Tool as _Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Self

    from florilege.interfaces.embedding import Embedder, SparseEmbedder
    from florilege.interfaces.stores import DataStore
    from florilege.model.events import Subscriber
    from florilege.model.filters import Filter
    from florilege.model.hit import Hit, Mode, Query
    from florilege.retrieval.evidence.asking import Inject
    from florilege.retrieval.evidence.policy import Policy
    from florilege.retrieval.evidence.records import Citation, CitationReport, GroundedAnswer
    from florilege.retrieval.functions import SearchFunction
    from florilege.retrieval.legs.fusion import Fusion
    from florilege.retrieval.steps.base import Source, Step
    from florilege.retrieval.trace import Run, Trace


class Tool(Twin):
    """A named function with a JSON Schema of its arguments. Call it with arguments; it returns JSON values."""

    inner: _Tool

    @property
    def name(self) -> str:
        """As of the Tool it speaks for."""
        return self.inner.name

    @property
    def description(self) -> str:
        """As of the Tool it speaks for."""
        return self.inner.description

    @property
    def parameters(self) -> Mapping[str, Any]:
        """As of the Tool it speaks for."""
        return self.inner.parameters

    async def __call__(self, **arguments: Any) -> dict[str, Any]:
        """The result for checked ``arguments``; raises ConfigError for wrong ones."""
        return await hop(self.inner.__call__, **arguments)

    async def answer(self, arguments: Mapping[str, Any] | str) -> str:
        """The result as JSON text, for a model's tool call: an error is told in it, never raised."""
        return await hop(self.inner.answer, arguments)

    def openai(self) -> dict[str, Any]:
        """Its definition in the shape of the OpenAI chat API."""
        return self.inner.openai()

    def anthropic(self) -> dict[str, Any]:
        """Its definition in the shape of the Anthropic messages API."""
        return self.inner.anthropic()

    def mcp(self) -> dict[str, Any]:
        """Its definition in the shape of the Model Context Protocol."""
        return self.inner.mcp()


class Session(Twin):
    """The hits one question may cite, in order; the first is evidence [1]. Numbers never change."""

    inner: _Session

    @property
    def question(self) -> str:
        """As of the Session it speaks for."""
        return self.inner.question

    @property
    def trace(self) -> Trace | None:
        """As of the Session it speaks for."""
        return self.inner.trace

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The evidence, by number from 1."""
        return self.inner.hits

    def render(self) -> str:
        """The evidence for a prompt: each piece fenced by a delimiter of this call alone, with its trust label."""
        return self.inner.render()

    async def search(self, query: str) -> list[int]:
        """Retrieve for ``query`` and add what is new to the evidence; the numbers of all that was found."""
        return await hop(self.inner.search, query)

    def tool(self, name: str = "search_evidence") -> Tool:
        """A tool for a model: what it finds becomes evidence that may be cited."""
        return Tool.of(self.inner.tool(unwrapped(name)))

    async def check(
        self, citations: Iterable[Citation | Mapping[str, Any]], answer: str | None = None
    ) -> CitationReport:
        """Check citations, and the markers of ``answer`` when it is given, against this evidence."""
        return await hop(self.inner.check, citations, answer)


class Grounding(Twin):
    """See :func:`grounding`."""

    inner: _Grounding

    @property
    def id(self) -> str:
        """As of the Grounding it speaks for."""
        return self.inner.id

    async def session(
        self,
        question: str | Mapping[str, Any],
        *,
        filter: Filter | Mapping[str, Any] | None = None,
        deadline: float | None = None,
    ) -> Session:
        """The evidence for ``question`` (or for an input with one under "question"), ready to render and to check."""
        return Session.of(await hop(self.inner.session, question, filter=filter, deadline=deadline))

    async def answer(
        self,
        question: str | Mapping[str, Any],
        *,
        model: Any = None,
        instructions: str | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        deadline: float | None = None,
    ) -> GroundedAnswer:
        """Retrieve, let ``model`` (or the grounding's) answer, check, and let it repair its answer once."""
        return await hop(
            self.inner.answer, question, model=model, instructions=instructions, filter=filter, deadline=deadline
        )

    async def extract(
        self,
        question: str | Mapping[str, Any],
        *,
        sentences: int = 3,
        filter: Filter | Mapping[str, Any] | None = None,
        deadline: float | None = None,
    ) -> GroundedAnswer:
        """An answer without a model: the sentences that share most words with the question, verified."""
        return await hop(self.inner.extract, question, sentences=sentences, filter=filter, deadline=deadline)


class FunctionRetriever(Twin):
    """A retriever over ``fn(query)``, sync or async: ``query`` is the text."""

    inner: _FunctionRetriever

    @property
    def id(self) -> str:
        """As of the FunctionRetriever it speaks for."""
        return self.inner.id

    @property
    def namespace(self) -> str:
        """As of the FunctionRetriever it speaks for."""
        return self.inner.namespace

    def fingerprint(self) -> str:
        """Its identity as it is built, the state of its sources aside."""
        return self.inner.fingerprint()

    async def retrieve(
        self,
        query: str | Query,
        *,
        limit: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        mode: Mode | None = None,
        deadline: float | None = None,
    ) -> list[Hit]:
        """The best hits for ``query``, at most ``limit``. ``filter`` narrows; ``deadline`` is in seconds from now."""
        return await hop(self.inner.retrieve, query, limit=limit, filter=filter, mode=mode, deadline=deadline)

    async def retrieve_with_trace(
        self,
        query: str | Query,
        *,
        limit: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        mode: Mode | None = None,
        deadline: float | None = None,
    ) -> Run:
        """The same hits, and a trace that tells, step by step, how they came about. An error carries its ``trace``."""
        return await hop(
            self.inner.retrieve_with_trace, query, limit=limit, filter=filter, mode=mode, deadline=deadline
        )

    async def replay(self, trace: Trace) -> Run:
        """Run a trace again: at the store's state of then, with the query vectors and the models' answers of then."""
        return await hop(self.inner.replay, trace)

    def as_retriever(self) -> Self:
        """Itself: whatever takes a retriever takes this."""
        return type(self).of(self.inner.as_retriever())

    def as_tools(
        self,
        prefix: str = "",
        include: Sequence[str] = ("search",),
        *,
        max_limit: int = 20,
        filters: Sequence[str] = (),
        max_chars: int = 20000,
    ) -> list[Tool]:
        """Tools for a model, ``search`` and ``get_source``; options as in :func:`florilege.retrieval.tools.tools`."""
        return [
            Tool.of(item)
            for item in self.inner.as_tools(
                unwrapped(prefix),
                unwrapped(include),
                max_limit=unwrapped(max_limit),
                filters=unwrapped(filters),
                max_chars=unwrapped(max_chars),
            )
        ]

    def as_grounding(
        self, query: Callable[..., str] | None = None, citations: Mapping[str, Any] | None = None, **options: Any
    ) -> Grounding:
        """Answers that cite verified evidence; options as in :func:`florilege.grounding`."""
        return Grounding.of(self.inner.as_grounding(unwrapped(query), unwrapped(citations), **unwrapped(options)))


class Retriever(Twin):
    """Retrieves hits from the active generations of one namespace."""

    inner: _Retriever

    def __init__(
        self,
        *,
        data: DataStore,
        namespace: str = "default",
        id: str = "retriever",
        vectors: object | None = None,
        dense: Embedder | None = None,
        sparse: SparseEmbedder | None = None,
        mode: Mode = "auto",
        limit: int = 10,
        threshold: float | Mapping[str, float] | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        fusion: Fusion | None = None,
        dedupe: float | None = None,
        diversify: float | None = None,
        on_event: Subscriber | None = None,
    ) -> None:
        self.inner = _Retriever(
            data=unwrapped(data),
            namespace=unwrapped(namespace),
            id=unwrapped(id),
            vectors=unwrapped(vectors),
            dense=unwrapped(dense),
            sparse=unwrapped(sparse),
            mode=unwrapped(mode),
            limit=unwrapped(limit),
            threshold=unwrapped(threshold),
            filter=unwrapped(filter),
            fusion=unwrapped(fusion),
            dedupe=unwrapped(dedupe),
            diversify=unwrapped(diversify),
            on_event=unwrapped(on_event),
        )

    @property
    def id(self) -> str:
        """As of the Retriever it speaks for."""
        return self.inner.id

    @property
    def namespace(self) -> str:
        """As of the Retriever it speaks for."""
        return self.inner.namespace

    @staticmethod
    def from_function(*, id: str, fn: SearchFunction, namespace: str = "default", limit: int = 10) -> FunctionRetriever:
        """A retriever over any function; see :class:`florilege.retrieval.functions.FunctionRetriever`."""
        return FunctionRetriever.of(
            _Retriever.from_function(
                id=unwrapped(id), fn=unwrapped(fn), namespace=unwrapped(namespace), limit=unwrapped(limit)
            )
        )

    def fingerprint(self) -> str:
        """Its identity: namespace, spaces, and every option that decides what it finds."""
        return self.inner.fingerprint()

    def with_options(self, **options: Any) -> Retriever:
        """A copy with other options, named as in the constructor."""
        return Retriever.of(self.inner.with_options(**unwrapped(options)))

    async def retrieve(
        self,
        query: str | Query,
        *,
        limit: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        mode: Mode | None = None,
        deadline: float | None = None,
    ) -> list[Hit]:
        """The best hits for ``query``, at most ``limit``. ``filter`` narrows; ``deadline`` is in seconds from now."""
        return await hop(self.inner.retrieve, query, limit=limit, filter=filter, mode=mode, deadline=deadline)

    async def retrieve_with_trace(
        self,
        query: str | Query,
        *,
        limit: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        mode: Mode | None = None,
        deadline: float | None = None,
    ) -> Run:
        """The same hits, and a trace that tells, step by step, how they came about. An error carries its ``trace``."""
        return await hop(
            self.inner.retrieve_with_trace, query, limit=limit, filter=filter, mode=mode, deadline=deadline
        )

    async def replay(self, trace: Trace) -> Run:
        """Run a trace again: at the store's state of then, with the query vectors and the models' answers of then."""
        return await hop(self.inner.replay, trace)

    def as_retriever(self) -> Self:
        """Itself: whatever takes a retriever takes this."""
        return type(self).of(self.inner.as_retriever())

    def as_tools(
        self,
        prefix: str = "",
        include: Sequence[str] = ("search",),
        *,
        max_limit: int = 20,
        filters: Sequence[str] = (),
        max_chars: int = 20000,
    ) -> list[Tool]:
        """Tools for a model, ``search`` and ``get_source``; options as in :func:`florilege.retrieval.tools.tools`."""
        return [
            Tool.of(item)
            for item in self.inner.as_tools(
                unwrapped(prefix),
                unwrapped(include),
                max_limit=unwrapped(max_limit),
                filters=unwrapped(filters),
                max_chars=unwrapped(max_chars),
            )
        ]

    def as_grounding(
        self, query: Callable[..., str] | None = None, citations: Mapping[str, Any] | None = None, **options: Any
    ) -> Grounding:
        """Answers that cite verified evidence; options as in :func:`florilege.grounding`."""
        return Grounding.of(self.inner.as_grounding(unwrapped(query), unwrapped(citations), **unwrapped(options)))


class Recipe(Twin):
    """A retriever made of steps over one or several retrievers."""

    inner: _Recipe

    def __init__(
        self,
        *,
        id: str,
        retriever: Any,
        steps: Sequence[Step],
        model: Any = None,
        on_source_error: str = "fail",
        concurrency: int = 4,
        on_event: Subscriber | None = None,
    ) -> None:
        self.inner = _Recipe(
            id=unwrapped(id),
            retriever=unwrapped(retriever),
            steps=unwrapped(steps),
            model=unwrapped(model),
            on_source_error=unwrapped(on_source_error),
            concurrency=unwrapped(concurrency),
            on_event=unwrapped(on_event),
        )

    @property
    def id(self) -> str:
        """As of the Recipe it speaks for."""
        return self.inner.id

    @property
    def sources(self) -> tuple[Source, ...]:
        """What it searches."""
        return self.inner.sources

    @property
    def steps(self) -> tuple[Step, ...]:
        """What it does, in order."""
        return self.inner.steps

    def fingerprint(self) -> str:
        """The identity of the recipe as it is built; a trace replays only where it is the same."""
        return self.inner.fingerprint()

    def draw(self, format: str = "text") -> str:
        """The recipe's shape, as "text" or as "mermaid"."""
        return self.inner.draw(unwrapped(format))

    async def retrieve(
        self,
        query: str | Query,
        *,
        limit: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        mode: Mode | None = None,
        deadline: float | None = None,
    ) -> list[Hit]:
        """The best hits for ``query``, at most ``limit``. ``filter`` narrows; ``deadline`` is in seconds from now."""
        return await hop(self.inner.retrieve, query, limit=limit, filter=filter, mode=mode, deadline=deadline)

    async def retrieve_with_trace(
        self,
        query: str | Query,
        *,
        limit: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        mode: Mode | None = None,
        deadline: float | None = None,
    ) -> Run:
        """The same hits, and a trace that tells, step by step, how they came about. An error carries its ``trace``."""
        return await hop(
            self.inner.retrieve_with_trace, query, limit=limit, filter=filter, mode=mode, deadline=deadline
        )

    async def replay(self, trace: Trace) -> Run:
        """Run a trace again: at the store's state of then, with the query vectors and the models' answers of then."""
        return await hop(self.inner.replay, trace)

    def as_retriever(self) -> Self:
        """Itself: whatever takes a retriever takes this."""
        return type(self).of(self.inner.as_retriever())

    def as_tools(
        self,
        prefix: str = "",
        include: Sequence[str] = ("search",),
        *,
        max_limit: int = 20,
        filters: Sequence[str] = (),
        max_chars: int = 20000,
    ) -> list[Tool]:
        """Tools for a model, ``search`` and ``get_source``; options as in :func:`florilege.retrieval.tools.tools`."""
        return [
            Tool.of(item)
            for item in self.inner.as_tools(
                unwrapped(prefix),
                unwrapped(include),
                max_limit=unwrapped(max_limit),
                filters=unwrapped(filters),
                max_chars=unwrapped(max_chars),
            )
        ]

    def as_grounding(
        self, query: Callable[..., str] | None = None, citations: Mapping[str, Any] | None = None, **options: Any
    ) -> Grounding:
        """Answers that cite verified evidence; options as in :func:`florilege.grounding`."""
        return Grounding.of(self.inner.as_grounding(unwrapped(query), unwrapped(citations), **unwrapped(options)))


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
    """Answers from ``retriever`` that cite verified evidence."""
    return Grounding.of(
        _grounding(
            retriever=unwrapped(retriever),
            id=unwrapped(id),
            query=unwrapped(query),
            limit=unwrapped(limit),
            citations=unwrapped(citations),
            inject=unwrapped(inject),
            model=unwrapped(model),
        )
    )
