"""What holds of every recipe and every answer, whatever goes in."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import florilege
from florilege import Document, F, Hit, Query, Recipe, Retriever, Span, grounding
from florilege.corpus import Corpus
from florilege.interfaces import Scored
from florilege.model.filters import Filter
from florilege.model.hit import HitProvenance
from florilege.model.matching import matches
from florilege.retrieval import (
    boost,
    compress_to_budget,
    dedupe,
    diversify,
    fanout,
    rerank,
    rerankers,
    retrieval_step,
    retrieve,
)
from tests.retrieval.making import make_hit, make_source
from tests.text.test_quotes import OTHER, SAME, cut, ligatured, passage, words

QUOTES = 10_000
TEXTS = ["harp string", "pedal harp. Return it.", "wood and glue, and a harp", "a harp is returned within thirty days"]
STEPS: dict[str, Any] = {
    "dedupe": dedupe(),
    "diversify": diversify(0.5),
    "boost": boost("starred"),
    "rerank": rerank(engine=rerankers.lexical()),
    "compress": compress_to_budget(60),
}
found = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from([0.0, 0.5, 1.0])), max_size=8, unique_by=lambda pair: pair[0]
)


def listed(pairs: list[tuple[int, float]]) -> list[Hit]:
    """Hits with many ties; those of one number are the same chunk wherever they are found."""
    hits = [
        make_hit(f"s{number % 3}#c{number}", TEXTS[number % 4], score=score, metadata={"starred": number % 2 == 0})
        for number, score in pairs
    ]
    return sorted(hits, key=lambda hit: hit.order)


@given(st.lists(found, min_size=1, max_size=3), st.permutations(list(STEPS)), st.integers(0, 5), st.randoms())
def test_hits_are_in_total_order_whatever_the_order_of_sources(
    lists: list[list[tuple[int, float]]], order: list[str], count: int, shuffling: random.Random
) -> None:
    sources = [make_source(f"source-{number}", listed(pairs)) for number, pairs in enumerate(lists)]
    steps = [retrieve(limit=20), *(STEPS[name] for name in order[:count])]
    hits = Recipe(id="r", retriever=sources, steps=steps).retrieve("return a harp")
    assert hits == sorted(hits, key=lambda hit: hit.order)
    assert len({hit.key for hit in hits}) == len(hits)
    shuffling.shuffle(sources)
    again = Recipe(id="r", retriever=sources, steps=steps).retrieve("return a harp")
    assert [(hit.key, hit.score, hit.content) for hit in again] == [(hit.key, hit.score, hit.content) for hit in hits]


leaf = st.one_of(
    st.integers(2022, 2025).map(lambda year: F("year") >= year),
    st.integers(2022, 2025).map(lambda year: F("year") != year),
    st.sampled_from(["en", "de", "fr"]).map(lambda lang: F("lang") == lang),
    st.sampled_from(["en", "de"]).map(lambda lang: F("tags").contains(lang)),
    st.booleans().map(lambda there: F("lang").exists(there)),
)
filters = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        inner.map(lambda one: ~one),
    ),
    max_leaves=4,
)
DOCUMENTS = [
    Document(
        source_id=f"d{number}",
        content=f"harp number {number}",
        metadata={
            "year": 2021 + number % 5,
            **({"lang": ("en", "de")[number % 2]} if number % 3 else {}),
            "tags": ["en", "de"][: number % 3],
        },
    )
    for number in range(20)
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    with florilege.open(tmp_path_factory.mktemp("laws") / "store", dense=None) as corpus:
        corpus.sync(DOCUMENTS)
        yield corpus


@given(st.tuples(*[st.none() | filters] * 3))
def test_filters_only_ever_intersect(corpus: Corpus, given: tuple[Filter | None, ...]) -> None:
    floor, asked, narrowed = given
    allowed = {
        document.source_id
        for document in DOCUMENTS
        if all(matches(item, document.metadata) for item in given if item is not None)
    }
    retriever = corpus.retriever(filter=floor)
    query = Query(text="harp", filter=asked, limit=50)
    recipe = Recipe(id="r", retriever=[retriever, retriever], steps=[retrieve(limit=50)])
    outer = Recipe(id="o", retriever=recipe, steps=[retrieve(limit=50)])
    for forms in (retriever, recipe, outer):
        assert {hit.source_id for hit in forms.retrieve(query, filter=narrowed)} == allowed
    if asked is None and narrowed is None:
        search = outer.as_tools(max_limit=50, filters=["year"])[0]
        told = search(query="harp", limit=50, filter={"year": {"ge": 2023}})
        assert {hit["source_id"] for hit in told["hits"]} == {
            document.source_id
            for document in DOCUMENTS
            if document.source_id in allowed and document.metadata["year"] >= 2023
        }


def test_everything_may_be_asynchronous_inside_a_running_loop() -> None:
    async def find(query: str) -> list[Hit]:
        await asyncio.sleep(0)
        return [make_hit(query), make_hit("other", score=0.5)]

    async def think(messages: Any, schema: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"queries": ["more"]}

    class Engine:
        name = "engine"

        async def rerank(self, query: str, passages: Any) -> list[Scored]:
            await asyncio.sleep(0)
            return [Scored(place, float(place)) for place in range(len(passages))]

    async def keep(hits: list[Hit]) -> list[Hit]:
        await asyncio.sleep(0)
        return hits[:2]

    recipe = Recipe(
        id="r",
        retriever=Retriever.from_function(id="async", fn=find),
        model=think,
        steps=[fanout(), retrieve(), rerank(engine=Engine()), retrieval_step(id="keep", run=keep)],
    )

    async def main() -> tuple[list[Hit], list[Hit]]:
        from florilege import aio

        twin = aio.Recipe(
            id="r",
            retriever=Retriever.from_function(id="async", fn=find),
            model=think,
            steps=[fanout(), retrieve(), rerank(engine=Engine()), retrieval_step(id="keep", run=keep)],
        )
        return recipe.retrieve("q"), await twin.retrieve("q")

    here, awaited = asyncio.run(main())
    assert len(here) == 2
    assert here == awaited == recipe.retrieve("q")


def test_no_quotation_is_called_exact_that_is_not_in_the_source() -> None:
    rng = random.Random(11)
    pages = [passage(rng) for _ in range(6)]
    pages[::2] = [ligatured(rng, page) for page in pages[::2]]
    document = "\n\n".join(pages)
    hits, at = [], 0
    for number, page in enumerate(pages):
        spans = HitProvenance(source_spans=(Span(at, at + len(page)),))
        hits.append(make_hit(f"doc#c{number}", page, score=-number, provenance=spans))
        at += len(page) + 2
    session = grounding(retriever=make_source("docs", hits)).session("q")
    kinds = {"true": lambda rng, quote: quote, **SAME, **OTHER}
    verdicts: dict[str, list[str]] = {"same": [], "other": []}
    for _ in range(QUOTES):
        number = rng.randrange(len(pages))
        kind = rng.choice(list(kinds))
        quote = kinds[kind](rng, cut(rng, pages[number]))
        (verdict,) = session.check([{"evidence": number + 1, "quote": quote}]).verdicts
        place = verdict.location
        if verdict.ok:
            start, end = place.chunk
            ((low, high),) = [(span.start, span.end) for span in place.source]
            assert pages[number][start:end] == document[low:high] == place.text
            assert (place.text == quote) is (verdict.verdict == "exact")
            assert words(place.text) == words(quote)
        elif words(quote) not in words(pages[number]):
            assert verdict.fault in ("quote_not_found", "short_quote")
        if verdict.fault != "short_quote":
            verdicts["other" if kind in OTHER else "same"].append(verdict.verdict)
    assert verdicts["same"].count("absent") <= 0.01 * len(verdicts["same"])
    assert {"exact", "normalised"} <= set(verdicts["same"])
    assert "absent" in verdicts["other"]
