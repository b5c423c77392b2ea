"""Mistakes that retrieval libraries are known for, each with the smallest input that shows it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import florilege
from florilege import ConfigError, Document, F, Recipe, grounding
from florilege.corpus import Corpus
from florilege.retrieval import (
    compress_to_budget,
    fanout,
    judge_reranker,
    render,
    rerank,
    retrieve,
)
from florilege.testing import CountingEmbedder, FakeModel
from florilege.text.tokens import tokenizer
from tests.retrieval.making import make_hit, make_source, names


def corpus_of(path: Path, documents: list[Document], **options: Any) -> Corpus:
    corpus = florilege.open(path, dense=CountingEmbedder(dimensions=32), **options)
    corpus.sync(documents)
    return corpus


@pytest.fixture
def dated(tmp_path: Path) -> Iterator[Corpus]:
    stored = {
        "date": datetime(2025, 1, 1, tzinfo=UTC).date(),
        "zulu": datetime(2025, 1, 1, tzinfo=UTC),
        "offset": datetime.fromisoformat("2025-01-01T01:00:00+01:00"),
        "later": datetime(2025, 6, 1, tzinfo=UTC),
    }
    documents = [Document(source_id=name, content="due", metadata={"due": value}) for name, value in stored.items()]
    with corpus_of(tmp_path / "s", documents) as corpus:
        yield corpus


def found(corpus: Corpus, filter: Any, query: str = "due") -> set[str]:
    return {hit.source_id for hit in corpus.retrieve(query, filter=filter, limit=50, mode="dense")}


@pytest.mark.parametrize(
    "bound", [datetime(2025, 1, 1, tzinfo=UTC), datetime.fromisoformat("2025-01-01T01:00:00+01:00")]
)
def test_equal_moments_in_different_spellings_are_equal(dated: Corpus, bound: datetime) -> None:
    """21: all six comparisons agree, whatever the spelling."""
    same, all_ = {"date", "zulu", "offset"}, {"date", "zulu", "offset", "later"}
    assert found(dated, F("due") >= bound) == all_
    assert found(dated, F("due") > bound) == {"later"}
    assert found(dated, F("due") == bound) == same
    assert found(dated, F("due") != bound) == {"later"}
    assert found(dated, F("due") <= bound) == same
    assert found(dated, F("due") < bound) == set()


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[Corpus]:
    documents = [
        Document(source_id="O'Brien.md", content="owned words", metadata={"owner": "O'Brien", "year": 2024}),
        Document(source_id="abc.md", content="owned words", metadata={"owner": "a", "year": 2023}),
        Document(source_id="x' OR 1=1 --", content="owned words", metadata={"owner": "x"}),
    ]
    with corpus_of(tmp_path / "s", documents) as corpus:
        yield corpus


def test_filter_values_are_values(owned: Corpus) -> None:
    """22: an apostrophe matches, an injection matches nothing, a string is no list."""
    assert found(owned, F("owner").in_(["O'Brien"]), "owned") == {"O'Brien.md"}
    assert found(owned, F("owner").in_(["x') OR 1=1 --"]), "owned") == set()
    with pytest.raises(ConfigError):
        F("owner").in_("abc")


def test_a_delete_takes_exactly_its_source(owned: Corpus) -> None:
    """23: a quote in an id widens nothing."""
    for source_id in ("x' OR 1=1 --", "O'Brien.md"):
        before = found(owned, None, "owned")
        assert owned.delete_source(source_id) == 1
        assert found(owned, None, "owned") == before - {source_id}


def test_in_keeps_types(owned: Corpus) -> None:
    """24: the number is in the list of numbers, and not in that of its spelling."""
    assert found(owned, F("year").in_([2024]), "owned") == {"O'Brien.md"}
    assert found(owned, F("year").in_(["2024"]), "owned") == set()


def test_metadata_of_every_json_kind(tmp_path: Path) -> None:
    """25: round trip, or refused by its key before anything is embedded."""
    metadata = {"tags": ["a", "b"], "page": None, "due": datetime(2025, 1, 1, tzinfo=UTC), "nested": {"deep": [1, {}]}}
    with corpus_of(tmp_path / "s", [Document(source_id="d", content="words", metadata=metadata)]) as corpus:
        assert corpus.retrieve("words", mode="dense")[0].metadata == metadata
        embedder = corpus.indexer.dense
        assert isinstance(embedder, CountingEmbedder)
        calls = embedder.calls
        result = corpus.sync([Document(source_id="bad", content="other words", metadata={"file": object()})])
        assert result.failed == 1
        assert "file" in str(result.sources[0].error)
        assert embedder.calls == calls


def test_more_asked_than_exists(tmp_path: Path) -> None:
    """26."""
    documents = [Document(source_id=f"d{n}", content=f"word {n}", metadata={"few": n < 2}) for n in range(5)]
    with corpus_of(tmp_path / "s", documents) as corpus:
        recipe = Recipe(id="r", retriever=corpus.retriever(mode="dense"), steps=[retrieve(limit=10)])
        assert len(recipe.retrieve("word", limit=10)) == 5
        assert len(recipe.retrieve("word", limit=10, filter=F("few") == True)) == 2  # noqa: E712


@pytest.mark.parametrize(
    "text", ['who is "waldo"?', "C++ & C#", "error:{0}", '"unbalanced', "OR", "a AND (b", "-x", "{}"]
)
def test_text_is_text_in_a_recipe_too(tmp_path: Path, text: str) -> None:
    """27: operators come through no query, also not through one a model wrote."""
    documents = [Document(source_id="d", content='waldo wrote C++ and C# "unbalanced error:{0} OR not')]
    with corpus_of(tmp_path / "s", documents) as corpus:
        model = FakeModel({"queries": [text]})
        steps = [fanout(model=model), retrieve()]
        assert names(Recipe(id="r", retriever=corpus.retriever(), steps=steps).retrieve(text)) != []


def test_nothing_in_nothing_out_quickly(tmp_path: Path) -> None:
    """28: empty corpora, empty documents, stop words, punctuation."""
    started = time.perf_counter()
    for number, documents in enumerate(
        [[], [Document(source_id="e", content=""), Document(source_id="f", content="  ")]]
    ):
        with corpus_of(tmp_path / f"s{number}", documents) as corpus:
            for text in ("anything", "the of and", "?!", "", "   "):
                assert Recipe(id="r", retriever=corpus.retriever(), steps=[retrieve()]).retrieve(text) == []
    assert time.perf_counter() - started < 5


def test_ties_have_one_order_whatever_the_order_of_sources() -> None:
    """29: two sources, each with its own hit at rank 1, equal weights."""
    sources = [make_source("one", [make_hit("zebra")]), make_source("two", [make_hit("apple")])]
    orders = {
        tuple(names(Recipe(id="r", retriever=list(order), steps=[retrieve()]).retrieve("q")))
        for order in permutations(sources)
    }
    assert orders == {("apple", "zebra")}


def test_a_rerankers_unknown_numbers_choose_nobody() -> None:
    """30."""
    hits = [make_hit(name, score=-place) for place, name in enumerate("abc")]
    model = FakeModel("Doc: 0\nDoc: -2\nDoc: 2\nDoc: 2\nDoc: 7")
    steps = [retrieve(), rerank(engine=judge_reranker(name="judge", model=model))]
    run = Recipe(id="r", retriever=make_source("docs", hits), steps=steps).retrieve_with_trace("q")
    assert names(run.hits) == ["b", "a", "c"]
    assert len(run.trace.warnings) == 5


def test_generated_queries_are_cleaned() -> None:
    """31: a heading, blank lines, three numbered questions."""
    reply = "Alternative questions:\n\n1. First way?\n\n2. Second way?\n\n3. first way?\n"
    steps = [fanout(max_queries=3, model=FakeModel(reply)), retrieve()]
    trace = Recipe(id="r", retriever=make_source("docs", []), steps=steps).retrieve_with_trace("Original?").trace
    assert trace.steps[0].queries == ("Original?", "First way?", "Second way?")


def test_markers_stay_bound_to_the_evidence() -> None:
    """32: four hits, an answer with [5], [2], [2][4]."""
    hits = [make_hit(f"s{n}", f"This is statement number {n}.", score=-n) for n in range(1, 5)]
    good = [{"evidence": n, "quote": f"This is statement number {n}."} for n in (2, 4)]
    bad = {"answer": "So [5], then [2], then [2][4].", "answerable": True, "citations": good}
    fixed = {**bad, "answer": "So [2], then [2][4]."}
    grounded = grounding(retriever=make_source("docs", hits))
    assert not grounded.session("q").check(good, bad["answer"]).ok  # type: ignore[arg-type]
    answer = grounded.answer("q", model=FakeModel([bad, fixed]))
    assert answer.repaired
    assert [(item.number, item.citation.chunk_id) for item in answer.citations] == [(2, "s2"), (4, "s4")]


def test_the_budget_is_in_tokens_and_holds() -> None:
    """33: thirty hits of very different size, one larger than the whole budget."""
    sizes = [900, *(7 * n % 61 + 1 for n in range(29))]
    hits = [make_hit(f"s{n}", "Words of some length. " * size, score=-n) for n, size in enumerate(sizes)]
    steps = [retrieve(limit=30), compress_to_budget(500)]
    kept = Recipe(id="r", retriever=make_source("docs", hits), steps=steps).retrieve("words of length")
    assert 0 < tokenizer("o200k_base").count(render(kept)) <= 500
    assert kept[0].chunk_id == "s0"
    assert kept[0].content in hits[0].content


def test_another_tenants_namespace_is_one_that_does_not_exist(tmp_path: Path) -> None:
    """40: the same answer from every verb."""
    with corpus_of(tmp_path / "s", [Document(source_id="secret", content="apples")], namespace="tenant-a"):
        for namespace in ("tenant-b", "never-heard-of"):
            with florilege.open(tmp_path / "s", namespace, dense=None) as other:
                retriever = other.retriever()
                assert retriever.retrieve("apples") == []
                assert retriever.retrieve("apples", filter=F("$source_id") == "secret") == []
                assert Recipe(id="r", retriever=retriever, steps=[retrieve()]).retrieve("apples") == []
                read = retriever.as_tools(include=["get_source"])[0]
                assert '"not_found"' in read.answer({"source_id": "secret", "namespace": "tenant-a"})
                assert retriever.as_grounding().session("apples").hits == ()
                assert retriever.as_grounding().extract("apples").abstained
