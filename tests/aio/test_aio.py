"""The awaitable twins: same signatures, same results, and at home on a loop."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import florilege
from florilege import Document, aio
from florilege.aio.bridge import Twin
from florilege.corpus import Corpus
from florilege.indexing.indexer import Indexer
from florilege.opening import open as open_corpus
from florilege.retrieval import FunctionRetriever, Grounding, Recipe, Retriever, Tool, fanout, grounding, retrieve
from florilege.retrieval.evidence import Session
from florilege.testing import CountingEmbedder
from tests.retrieval.making import make_hit
from tests.support import ROOT

PAIRS: list[tuple[type, type[Twin]]] = [
    (Corpus, aio.Corpus),
    (Indexer, aio.Indexer),
    (Retriever, aio.Retriever),
    (FunctionRetriever, aio.FunctionRetriever),
    (Recipe, aio.Recipe),
    (Grounding, aio.Grounding),
    (Session, aio.Session),
    (Tool, aio.Tool),
]
INTERNAL = {"search", "plan", "origins", "embeddings", "execution"}


def public(kind: type) -> dict[str, Any]:
    found = {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}
    return {name: item for name, item in found.items() if isinstance(item, (staticmethod, property)) or callable(item)}


def test_the_modules_are_what_the_script_writes() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "generate_aio.py"), "--check"]
    run = subprocess.run(script, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(("kind", "twin"), PAIRS)
def test_every_verb_has_a_twin_of_the_same_signature(kind: type, twin: type[Twin]) -> None:
    methods = public(kind).keys()
    fields = set(getattr(kind, "__dataclass_fields__", ()))
    missing = methods - public(twin).keys() - fields - (INTERNAL if kind is not Corpus else set())
    assert not missing, missing
    for name in methods & public(twin).keys():
        ours, theirs = getattr(kind, name), getattr(twin, name)
        if callable(ours) and not isinstance(inspect.getattr_static(kind, name), property):
            assert inspect.signature(theirs).parameters.keys() == inspect.signature(ours).parameters.keys(), name
            defaults = [item.default for item in inspect.signature(ours).parameters.values()]
            assert [item.default for item in inspect.signature(theirs).parameters.values()] == defaults, name


def test_functions_have_the_same_signatures() -> None:
    for ours, theirs in ((open_corpus, aio.open), (grounding, aio.grounding)):
        assert inspect.signature(theirs).parameters.keys() == inspect.signature(ours).parameters.keys()


def documents() -> list[Document]:
    return [Document(source_id=f"d{number}", content=f"Note {number} on harps and strings.") for number in range(8)]


def on_a_loop(tmp_path: Path, body: Callable[[aio.Corpus], Awaitable[None]]) -> None:
    async def run() -> None:
        async with aio.open(tmp_path / "s", dense=CountingEmbedder(dimensions=16)) as corpus:
            await corpus.sync(documents())
            await body(corpus)

    asyncio.run(run())


def test_the_whole_way(tmp_path: Path) -> None:
    async def body(corpus: aio.Corpus) -> None:
        hits = await corpus.retrieve("harps", limit=3)
        assert len(hits) == 3
        assert hits == corpus.inner.retrieve("harps", limit=3)
        assert (await corpus.get_source("d1")).chunk_count == 1
        rows, cursor = await corpus.list_sources(limit=3)
        assert (len(rows), cursor is None) == (3, False)
        recipe = aio.Recipe(
            id="r", retriever=[corpus.retriever(), corpus.retriever(mode="lexical")], steps=[retrieve()]
        )
        run = await recipe.retrieve_with_trace("strings")
        assert (await recipe.replay(run.trace)).hits == run.hits
        answer = await recipe.as_grounding().extract("which note is on harps?")
        assert answer.citations
        session = await aio.grounding(retriever=recipe).session("harps")
        report = await session.check([{"evidence": 1, "quote": session.hits[0].content}])
        assert report.ok
        (tool,) = recipe.as_tools(prefix="docs")
        assert isinstance(tool, aio.Tool)
        assert "hits" in await tool.answer({"query": "harps"})

    on_a_loop(tmp_path, body)


def test_awaiting_open_gives_the_corpus(tmp_path: Path) -> None:
    async def run() -> None:
        corpus = await aio.open(tmp_path / "s", dense=None)
        assert (corpus.id, corpus.namespace) == ("corpus", "default")
        await corpus.close()
        with pytest.raises(florilege.NotFound):
            await aio.open(tmp_path / "nothing", dense=None, create=False)

    asyncio.run(run())


def test_asynchronous_iterables_are_pulled_on_the_callers_loop(tmp_path: Path) -> None:
    async def body(corpus: aio.Corpus) -> None:
        here = asyncio.get_running_loop()
        seen: list[bool] = []

        async def feed() -> AsyncIterator[Document]:
            for number in range(5):
                seen.append(asyncio.get_running_loop() is here)
                found = await corpus.retrieve("harps", limit=1)
                await asyncio.sleep(0)
                yield Document(source_id=f"n{number}", content=f"Number {number} after {found[0].source_id}.")

        result = await corpus.sync(feed())
        assert (result.added, seen) == (5, [True] * 5)

    on_a_loop(tmp_path, body)


def test_an_iterables_failure_reaches_the_caller(tmp_path: Path) -> None:
    async def body(corpus: aio.Corpus) -> None:
        async def feed() -> AsyncIterator[Document]:
            yield Document(source_id="n", content="one")
            raise RuntimeError("the feed broke")

        with pytest.raises(RuntimeError, match="the feed broke"):
            await corpus.sync(feed())

    on_a_loop(tmp_path, body)


def test_iterators_become_asynchronous(tmp_path: Path) -> None:
    async def body(corpus: aio.Corpus) -> None:
        cut = [chunking async for chunking in corpus.indexer.chunk(documents()[:3])]
        assert [chunking.chunks[0].source_id for chunking in cut] == ["d0", "d1", "d2"]

    on_a_loop(tmp_path, body)


def test_the_loop_goes_on_while_a_source_is_slow() -> None:
    async def slow(query: str) -> list[Any]:
        await asyncio.sleep(0.2)
        return [make_hit(query)]

    async def model(messages: Any) -> str:
        return '{"queries": ["other"]}'

    async def run() -> None:
        source = aio.Retriever.from_function(id="slow", fn=slow)
        recipe = aio.Recipe(id="r", retriever=source, model=model, steps=[fanout(), retrieve()])
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        hits = await recipe.retrieve("q")
        ticking.cancel()
        assert len(hits) == 2
        assert ticks > 5

    asyncio.run(run())
