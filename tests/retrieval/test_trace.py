"""Traces: they tell what happened, survive JSON, and can be run again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import florilege
from florilege import Document, F, Query, Recipe, RetrievalError
from florilege.corpus import Corpus
from florilege.model.errors import Corrupt
from florilege.model.ledger import Usage
from florilege.retrieval import (
    Trace,
    compress_to_budget,
    fanout,
    filter_hits,
    judge_reranker,
    read_trace,
    rerank,
    rerankers,
    retrieval_step,
    retrieve,
)
from florilege.retrieval.trace import HitRef, ModelCall, Search, SourceStatus, TraceStep
from florilege.testing import CountingEmbedder, FakeModel
from tests.retrieval.making import make_hit, make_source, names
from tests.support import ROOT

WORDS = ["harp", "string", "pedal", "wood", "glue", "return", "refund", "days"]


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    with florilege.open(tmp_path / "store", dense=CountingEmbedder(dimensions=32)) as corpus:
        corpus.sync(
            [
                Document(
                    source_id=f"d{number}",
                    content=f"A note on {WORDS[number % 8]} and {WORDS[(number * 3) % 8]}, number {number}.",
                    metadata={"even": number % 2 == 0, "trust": "internal" if number % 3 else "public"},
                )
                for number in range(30)
            ]
        )
        yield corpus


def five_steps(corpus: Corpus, model: FakeModel) -> Recipe:
    return Recipe(
        id="five",
        retriever=[corpus.retriever("hybrid"), {"retriever": corpus.retriever("words", mode="lexical"), "weight": 0.5}],
        model=model,
        steps=[
            fanout(max_queries=3),
            retrieve(limit=20),
            filter_hits(F("even") == True),  # noqa: E712
            rerank(engine=judge_reranker(name="judge"), top_k=5),
            compress_to_budget(200),
        ],
    )


def judging(messages: Any) -> Any:
    if "Grade" in messages[0]["content"]:
        return {"grades": [{"passage": place, "grade": (place * 7) % 11} for place in range(1, 21)]}
    return {"queries": ["pedal wood", "return days"]}


def test_steps_tell_counts_sources_and_usage(corpus: Corpus) -> None:
    run = five_steps(corpus, FakeModel(judging)).retrieve_with_trace("harp strings", filter=F("even").exists())
    trace = run.trace
    assert [step.step_id for step in trace.steps] == [
        "fanout",
        "retrieve",
        "filter_hits",
        "rerank",
        "compress_to_budget",
    ]
    assert [(step.input_query_count, step.output_query_count) for step in trace.steps[:2]] == [(1, 3), (3, 3)]
    for before, after in zip(trace.steps[1:], trace.steps[2:], strict=False):
        assert before.output_hit_count == after.input_hit_count
    assert trace.steps[-1].output_hit_count == len(run.hits) == len(trace.hits)
    assert [source.query_count for source in trace.steps[1].sources] == [3, 3]
    assert len(trace.steps[1].searches) == 6
    assert trace.usage == sum((step.usage for step in trace.steps), Usage())
    assert trace.usage.calls >= 2 + 3
    assert sum(trace.steps[1].facts["trust"].values()) == trace.steps[1].output_hit_count
    assert set(trace.steps[1].facts["trust"]) == {"internal", "public"}
    assert all(step.duration_seconds >= 0 and step.status == "success" for step in trace.steps)


def test_a_trace_survives_json_and_runs_again(corpus: Corpus) -> None:
    recipe = five_steps(corpus, FakeModel(judging))
    run = recipe.retrieve_with_trace("harp strings", limit=4, filter=F("even").exists())
    trace = read_trace(run.trace.to_json())
    assert trace == run.trace
    dumb = five_steps(corpus, FakeModel(RuntimeError("must not be asked")))
    again = dumb.replay(trace)
    assert again.hits == run.hits
    assert again.trace.usage.calls == run.trace.usage.calls - sum(
        search.vector is not None for search in trace.steps[1].searches
    )


def test_replay_sees_the_store_of_then(corpus: Corpus) -> None:
    retriever = corpus.retriever()
    run = retriever.retrieve_with_trace("harp string", limit=5)
    corpus.sync([Document(source_id="new", content="harp string harp string harp string")])
    corpus.delete_source(run.hits[-1].source_id)
    assert names(retriever.retrieve("harp string", limit=5)) != names(run.hits)
    assert retriever.replay(run.trace).hits == run.hits


def test_replay_of_what_has_been_collected_is_never_a_short_list(corpus: Corpus) -> None:
    retriever = corpus.retriever()
    run = retriever.retrieve_with_trace("harp string", limit=5)
    for hit in run.hits:
        corpus.sync([Document(source_id=hit.source_id, content="rewritten twice over")])
    assert retriever.replay(run.trace).hits == run.hits
    corpus.data.collect(corpus.namespace, keep_generations=0, retention=0.0)
    with pytest.raises(florilege.NotFound) as caught:
        retriever.replay(run.trace)
    assert caught.value.code == "collected"


def test_replay_of_another_recipe_is_refused(corpus: Corpus) -> None:
    run = corpus.retriever("docs").retrieve_with_trace("harp")
    other = Recipe(id="docs", retriever=corpus.retriever("docs"), steps=[retrieve(limit=3)])
    with pytest.raises(RetrievalError, match="built otherwise") as caught:
        other.replay(run.trace)
    assert caught.value.code == "trace_mismatch"


def test_a_failure_is_repeated_and_a_failed_run_is_not(corpus: Corpus) -> None:
    broken = [True]

    def flaky(query: str) -> list[florilege.Hit]:
        if broken[0]:
            raise ConnectionError
        return [make_hit("late")]

    def made(policy: str) -> Recipe:
        sources = [corpus.retriever("docs"), florilege.Retriever.from_function(id="flaky", fn=flaky)]
        return Recipe(id="r", retriever=sources, steps=[retrieve()], on_source_error=policy)

    run = made("skip_with_warning").retrieve_with_trace("harp")
    with pytest.raises(florilege.SourceFailed) as caught:
        made("fail").retrieve("harp")
    broken[0] = False
    assert made("skip_with_warning").replay(run.trace).hits == run.hits
    with pytest.raises(RetrievalError, match="failed"):
        made("fail").replay(caught.value.trace)


def test_replay_of_other_queries_is_refused(corpus: Corpus) -> None:
    words = ["first", "second"]
    step = retrieval_step(id="own", phase=("queries", "queries"), run=lambda queries: [words.pop(0)])
    recipe = Recipe(id="r", retriever=corpus.retriever(), steps=[step, retrieve()])
    run = recipe.retrieve_with_trace("harp")
    with pytest.raises(RetrievalError, match="not what the trace recorded"):
        recipe.replay(run.trace)


RETRIEVERS: list[dict[str, Any]] = [{}, {"mode": "lexical"}, {"filter": F("a") == 1}, {"limit": 3}, {"threshold": 0.5}]


def test_fingerprints_tell_recipes_apart(corpus: Corpus) -> None:
    source = make_source("docs", [])

    def made(**changes: Any) -> str:
        return Recipe(**{"id": "r", "retriever": source, "steps": [retrieve()], **changes}).fingerprint()

    prints = [
        made(),
        made(id="other"),
        made(steps=[retrieve(limit=5)]),
        made(retriever={"retriever": source, "weight": 0.5}),
        made(steps=[retrieve(), rerank(engine=rerankers.lexical(), top_k=3)]),
        made(steps=[retrieve(), filter_hits(F("a") == 1)]),
        made(steps=[retrieve(), filter_hits(F("a") == 2)]),
        *(made(retriever=corpus.retriever("docs", **options)) for options in RETRIEVERS),
    ]
    assert len(set(prints)) == len(prints)
    assert made() == made()


def test_explain_tells_the_way_of_a_hit() -> None:
    hits = [make_hit("a", score=3.0), make_hit("b", score=2.0), make_hit("c", score=1.0)]
    recipe = Recipe(
        id="r",
        retriever=make_source("docs", hits),
        steps=[
            retrieve(),
            filter_hits(lambda hit: hit.chunk_id != "b"),
            rerank(engine=rerankers.lexical(), top_k=1),
        ],
    )
    trace = recipe.retrieve_with_trace("text of c").trace
    kept, dropped, cut = trace.explain("c"), trace.explain("b"), trace.explain("a")
    assert (kept.rank, [step.rank_after for step in kept.steps]) == (1, [3, 2, 1])
    assert "dropped from rank 2" in str(dropped)
    assert dropped.rank is None
    assert "not among the hits returned" in str(cut)
    assert "not found" in str(trace.explain("z"))
    assert trace.explain("a", source_id="b").steps[0].rank_after is None
    assert read_trace(trace.to_json()).explain("c") == kept


def test_a_broken_trace_is_named() -> None:
    with pytest.raises(Corrupt, match="trace"):
        read_trace(b'{"id": 3}')


text = st.text(max_size=20)
numbers = st.floats(allow_nan=False, allow_infinity=False)
moments = st.datetimes(timezones=st.just(UTC), min_value=datetime(1990, 1, 1))
jsons = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
usages = st.builds(Usage, texts=st.integers(0, 9), calls=st.integers(0, 9), cost=st.none() | numbers)
references = st.builds(HitRef, text, text, text, numbers)
calls = st.builds(
    ModelCall,
    text=st.none() | text,
    parsed=jsons,
    scores=st.none() | st.lists(st.tuples(st.integers(0, 99), numbers), max_size=3).map(tuple),
    error=st.none() | text,
    usage=usages,
)
searches = st.builds(
    Search,
    retriever_id=text,
    query=text,
    hit_count=st.integers(0, 99),
    duration_seconds=numbers,
    seq=st.none() | st.integers(0, 2**60),
    vector=st.none() | text,
    sparse=st.none() | st.lists(st.tuples(st.integers(0, 99), numbers), max_size=2).map(tuple),
    error=st.none() | text,
)
statuses = st.builds(
    SourceStatus,
    retriever_id=text,
    status=st.sampled_from(["success", "partial", "failed"]),
    weight=numbers,
    query_count=st.integers(0, 9),
    hit_count=st.integers(0, 9),
    duration_seconds=numbers,
    error=st.none() | text,
)
steps = st.builds(
    TraceStep,
    step_id=text,
    kind=text,
    status=st.sampled_from(["success", "failed"]),
    started_at=moments,
    duration_seconds=numbers,
    input_query_count=st.integers(0, 9),
    output_query_count=st.integers(0, 9),
    input_hit_count=st.integers(0, 9),
    output_hit_count=st.integers(0, 9),
    warnings=st.lists(text, max_size=2).map(tuple),
    sources=st.lists(statuses, max_size=2).map(tuple),
    usage=usages,
    error=st.none() | st.dictionaries(text, jsons, max_size=2),
    queries=st.lists(text, max_size=2).map(tuple),
    hits=st.none() | st.lists(references, max_size=3).map(tuple),
    searches=st.lists(searches, max_size=2).map(tuple),
    calls=st.lists(calls, max_size=2).map(tuple),
    facts=st.dictionaries(text, jsons, max_size=2),
)
traces = st.builds(
    Trace,
    id=text,
    recipe_id=text,
    fingerprint=text,
    query=text,
    status=st.sampled_from(["success", "failed"]),
    started_at=moments,
    duration_seconds=numbers,
    steps=st.lists(steps, max_size=3).map(tuple),
    usage=usages,
    filter=st.none() | st.dictionaries(text, jsons, max_size=2),
    mode=st.none() | text,
    limit=st.none() | st.integers(0, 99),
    hits=st.lists(references, max_size=3).map(tuple),
)


@given(traces)
def test_any_trace_survives_json(trace: Trace) -> None:
    assert read_trace(trace.to_json()) == trace


SCRIPT = """
import sys, florilege
from florilege import Recipe
from florilege.retrieval import *
from florilege.testing import CountingEmbedder
with florilege.open(sys.argv[1], dense=CountingEmbedder(dimensions=32)) as corpus:
    recipe = Recipe(
        id="r",
        retriever=[corpus.retriever(mode=mode) for mode in ("lexical", "dense", "hybrid")],
        model=lambda messages: '{"queries": ["pedal wood", "days"]}',
        steps=[fanout(), retrieve(limit=25), dedupe(), diversify(), rerank(engine=rerankers.lexical()),
               compress_to_budget(300)],
    )
    for hit in recipe.retrieve("harp strings and glue"):
        print(hit.source_id, hit.score, hit.provenance, hit.content)
"""


def test_same_hits_in_other_processes_with_other_hash_seeds(corpus: Corpus, tmp_path: Path) -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / "store")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "7", "99")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().splitlines()) >= 3


def test_a_query_with_its_own_vector_and_mode(corpus: Corpus) -> None:
    vector = CountingEmbedder(dimensions=32).embed_many(["harp"]).vectors[0].tolist()
    query = Query(text="", vector=vector, mode="dense", limit=3)
    run = corpus.retriever().retrieve_with_trace(query)
    assert names(run.hits) == names(corpus.retrieve(query))
    assert corpus.retriever().replay(run.trace).hits == run.hits
