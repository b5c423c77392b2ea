"""Recipes: what construction refuses, what a run does, and that a recipe is a retriever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import florilege
from florilege import Document, F, Hit, Query, Recipe, RecipeError, RetrievalError, Retriever, SourceFailed, StepError
from florilege.model.events import Event
from florilege.retrieval import (
    compress_to_budget,
    expand_parents,
    fanout,
    filter_hits,
    judge_reranker,
    rerank,
    rerankers,
    retrieval_step,
    retrieve,
    rewrite_query,
    route,
)
from florilege.testing import CountingEmbedder, FakeModel
from tests.retrieval.making import make_hit, make_source, names

SOURCE = make_source("docs", [make_hit("a", score=3.0), make_hit("b", score=2.0), make_hit("c", score=1.0)])


def hits_only(id: str = "custom", **options: Any) -> Any:
    return retrieval_step(id=id, run=lambda hits: hits, **options)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "empty id": ({"id": " "}, "id"),
    "no source": ({"retriever": []}, "at least one"),
    "a source that is none": ({"retriever": object()}, r"retriever\[0\]"),
    "unknown option": ({"retriever": [{"retriever": SOURCE, "wieght": 1}]}, "wieght"),
    "zero weight": ({"retriever": [{"retriever": SOURCE, "weight": 0}]}, "weight"),
    "weight that is no number": ({"retriever": [{"retriever": SOURCE, "weight": True}]}, "weight"),
    "infinite weight": ({"retriever": [{"retriever": SOURCE, "weight": float("inf")}]}, "weight"),
    "negative timeout": ({"retriever": [{"retriever": SOURCE, "timeout": -1}]}, "timeout"),
    "no producer": ({"steps": []}, "none turns queries into hits"),
    "two producers": ({"steps": [retrieve(), retrieve(id="again")]}, r"steps\[1\].*one step may"),
    "hit step first": ({"steps": [hits_only(), retrieve()]}, r"steps\[0\].*before it"),
    "query step last": (
        {"steps": [retrieve(), fanout(model=FakeModel())]},
        r"steps\[1\].*must come before 'retrieve'",
    ),
    "twice the same id": ({"steps": [retrieve(), hits_only(), hits_only()]}, r"steps\[2\].*taken by steps\[1\]"),
    "fanout without a model": ({"steps": [fanout(), retrieve()]}, r"steps\[0\].*needs a model"),
    "rewrite without a model": ({"steps": [rewrite_query(), retrieve()]}, "needs a model"),
    "route without model or function": ({"steps": [route(), retrieve()]}, "needs a model"),
    "judge without a model": ({"steps": [retrieve(), rerank(engine=judge_reranker(name="j"))]}, "has no model"),
    "compression by a model that is not there": (
        {"steps": [retrieve(), compress_to_budget(100, strategy="model")]},
        "needs a model",
    ),
    "custom step that needs a model": ({"steps": [retrieve(), hits_only(needs_model=True)]}, "needs a model"),
    "something that is no step": ({"steps": [retrieve(), lambda hits: hits]}, r"steps\[1\]"),
    "policy": ({"on_source_error": "ignore"}, "on_source_error"),
    "concurrency": ({"concurrency": 0}, "concurrency"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_construction_refuses(name: str) -> None:
    options, message = REFUSED[name]
    with pytest.raises(RecipeError, match=message):
        Recipe(**{"id": "r", "retriever": SOURCE, "steps": [retrieve()], **options})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: retrieve(0), "limit"),
        (lambda: fanout(0), "max_queries"),
        (lambda: fanout(strategy="wild"), "strategy"),  # type: ignore[arg-type]
        (lambda: rerank(engine=object()), "rerank"),  # type: ignore[arg-type]
        (lambda: rerank(engine=rerankers.lexical(), top_k=0), "top_k"),
        (lambda: compress_to_budget(0), "tokens"),
        (lambda: expand_parents(merge="both"), "merge"),  # type: ignore[arg-type]
        (lambda: expand_parents(max_parent_chars=0), "max_parent_chars"),
        (lambda: retrieval_step(id="x", run=lambda wrong: []), "wrong"),
        (lambda: retrieval_step(id="x", run=lambda hits: hits, phase=("hits", "queries")), "phase"),  # type: ignore
        (lambda: retrieval_step(id="", run=lambda hits: hits), "id"),
        (lambda: filter_hits(3), "filter_hits"),  # type: ignore[arg-type]
    ],
)
def test_steps_refuse_wrong_options(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_model_in_scope_is_enough() -> None:
    model = FakeModel({"queries": ["other"]})
    recipe = Recipe(id="r", retriever=SOURCE, model=model, steps=[fanout(), retrieve()])
    recipe.retrieve("question")
    assert model.calls == 1
    own = FakeModel({"queries": []})
    Recipe(id="r", retriever=SOURCE, model=model, steps=[fanout(model=own), retrieve()]).retrieve("question")
    assert (model.calls, own.calls) == (1, 1)


def test_one_query_over_one_source_keeps_scores_and_order() -> None:
    hits = Recipe(id="r", retriever=SOURCE, steps=[retrieve()]).retrieve("anything")
    assert [(hit.chunk_id, hit.score) for hit in hits] == [("a", 3.0), ("b", 2.0), ("c", 1.0)]
    top = hits[0].provenance
    assert (top.raw_score, top.fused_score, top.rerank_score) == (3.0, None, None)
    assert top.matched_queries == ("anything",)
    assert [(rank.retriever_id, rank.rank, rank.weight, rank.score) for rank in top.per_source] == [
        ("docs", 1, 1.0, 3.0)
    ]


def test_several_queries_are_fused_and_told() -> None:
    by_query = {"q": ["a", "b"], "other": ["b", "c"]}
    source = Retriever.from_function(
        id="docs",
        fn=lambda query: [make_hit(name, score=10.0 - place) for place, name in enumerate(by_query[query])],
    )
    model = FakeModel({"queries": ["other"]})
    hits = Recipe(id="r", retriever=source, model=model, steps=[fanout(), retrieve()]).retrieve("q")
    assert names(hits) == ["b", "a", "c"]
    assert hits[0].provenance.matched_queries == ("other", "q")
    assert hits[0].score == hits[0].provenance.fused_score == pytest.approx((1 / 11 + 1 / 12) / (2 / 11))
    assert hits[0].provenance.raw_score == 10.0


def test_limits_cut_where_they_stand() -> None:
    recipe = Recipe(id="r", retriever=SOURCE, steps=[retrieve(limit=2)])
    assert names(recipe.retrieve("q")) == ["a", "b"]
    assert names(recipe.retrieve("q", limit=1)) == ["a"]
    assert recipe.retrieve("q", limit=0) == []
    assert names(recipe.retrieve(Query(text="q", limit=1))) == ["a"]
    with pytest.raises(florilege.ConfigError, match="limit"):
        recipe.retrieve("q", limit=-1)


def test_custom_steps_get_what_they_declare() -> None:
    seen: dict[str, Any] = {}

    @retrieval_step(id="look", kind="inspect", needs_model=True)
    def look(hits: list[Hit], query: str, request: Query, sources: Any, model: Any, recipe_id: str) -> dict[str, Any]:
        seen.update(query=query, request=request.text, sources=[source.id for source in sources], recipe=recipe_id)
        seen["text"] = model.generate([{"role": "user", "content": "hi"}]).text
        return {"hits": hits[:1]}

    recipe = Recipe(id="r", retriever=SOURCE, model=FakeModel("hello"), steps=[retrieve(), look])
    run = recipe.retrieve_with_trace("q")
    assert names(run.hits) == ["a"]
    assert seen == {"query": "q", "request": "q", "sources": ["docs"], "recipe": "r", "text": "hello"}
    step = run.trace.steps[1]
    assert (step.step_id, step.kind, step.input_hit_count, step.output_hit_count) == ("look", "inspect", 3, 1)
    assert step.usage.calls == 1


@pytest.mark.parametrize("result", [None, "hits", 3, {"queries": []}, {"hits": [1]}, [object()], {"hits": [], "x": 1}])
def test_a_custom_step_that_returns_something_else_fails(result: Any) -> None:
    step = retrieval_step(id="broken", run=lambda hits: result)
    with pytest.raises(StepError, match="'broken' returned") as caught:
        Recipe(id="r", retriever=SOURCE, steps=[retrieve(), step]).retrieve("q")
    assert caught.value.step == "broken"


def test_custom_query_steps_and_producers() -> None:
    shout = retrieval_step(
        id="shout", phase=("queries", "queries"), run=lambda queries: [q.text.upper() for q in queries]
    )
    own = retrieval_step(
        id="own", phase=("queries", "hits"), run=lambda queries: [make_hit(query.text) for query in queries]
    )
    assert names(Recipe(id="r", retriever=SOURCE, steps=[shout, own]).retrieve("q")) == ["Q"]


def test_an_async_step_source_and_model_work() -> None:
    async def find(query: str) -> list[Hit]:
        return [make_hit(query)]

    async def think(messages: Any) -> str:
        return '{"queries": ["more"]}'

    async def keep(hits: list[Hit]) -> list[Hit]:
        return hits

    recipe = Recipe(
        id="r",
        retriever=Retriever.from_function(id="async", fn=find),
        model=think,
        steps=[fanout(), retrieve(), retrieval_step(id="keep", run=keep)],
    )
    assert sorted(names(recipe.retrieve("q"))) == ["more", "q"]


def test_failure_carries_the_trace_with_the_failed_step() -> None:
    def fail(hits: list[Hit]) -> list[Hit]:
        raise KeyError("secret text of a document")

    recipe = Recipe(id="r", retriever=SOURCE, steps=[retrieve(), retrieval_step(id="boom", run=fail)])
    with pytest.raises(StepError) as caught:
        recipe.retrieve("q")
    trace = caught.value.trace
    assert (trace.status, [step.status for step in trace.steps]) == ("failed", ["success", "failed"])
    assert trace.steps[1].error["code"] == "step"
    assert "secret" not in str(caught.value) + str(trace)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_recipe_is_a_source_of_another() -> None:
    inner = Recipe(id="inner", retriever=SOURCE, steps=[retrieve(limit=2)])
    outer = Recipe(
        id="outer", retriever=[inner.as_retriever(), make_source("more", [make_hit("d")])], steps=[retrieve()]
    )
    run = outer.retrieve_with_trace("q")
    assert set(names(run.hits)) == {"a", "b", "d"}
    assert {search.retriever_id: search.trace is not None for search in run.trace.steps[0].searches} == {
        "inner": True,
        "more": False,
    }
    assert outer.replay(run.trace).hits == run.hits


def test_ids_of_sources_are_made_unique() -> None:
    recipe = Recipe(id="r", retriever=[SOURCE, SOURCE, {"retriever": SOURCE, "id": "third"}], steps=[retrieve()])
    assert [source.id for source in recipe.sources] == ["docs", "docs-2", "third"]


def test_draw_tells_steps_and_sources() -> None:
    recipe = Recipe(
        id='r"1',
        retriever=[SOURCE, {"retriever": make_source("tickets", []), "weight": 0.5}],
        model=FakeModel(),
        steps=[fanout(), retrieve(), rerank(engine=rerankers.lexical(), top_k=3)],
    )
    text = recipe.draw()
    assert [line.split()[:3] for line in text.splitlines()[1:]] == [
        ["queries", "->", "queries"],
        ["queries", "->", "hits"],
        ["hits", "->", "hits"],
    ]
    assert "tickets (0.5)" in text
    mermaid = recipe.draw("mermaid")
    assert mermaid.startswith("flowchart TD")
    assert mermaid.count("-->") == 3 + 2 + 1
    with pytest.raises(florilege.ConfigError, match="draw"):
        recipe.draw("png")


def test_events_frame_every_step() -> None:
    events: list[Event] = []
    recipe = Recipe(id="r", retriever=SOURCE, steps=[retrieve(), hits_only()], on_event=events.append)
    recipe.retrieve("q")
    assert [(event.kind, event.facts.get("step")) for event in events] == [
        ("recipe.start", None),
        ("recipe.step.start", "retrieve"),
        ("recipe.step.end", "retrieve"),
        ("recipe.step.start", "custom"),
        ("recipe.step.end", "custom"),
        ("recipe.end", None),
    ]
    assert {event.parent_id for event in events[1:5]} == {events[0].span_id}


def test_a_failing_subscriber_is_not_fatal() -> None:
    def fail(event: Event) -> None:
        raise RuntimeError

    assert len(Recipe(id="r", retriever=SOURCE, steps=[retrieve()], on_event=fail).retrieve("q")) == 3


def test_the_deadline_ends_a_run() -> None:
    import time

    slow = Retriever.from_function(id="slow", fn=lambda query: time.sleep(5))
    recipe = Recipe(id="r", retriever=slow, steps=[retrieve()])
    started = time.perf_counter()
    with pytest.raises(RetrievalError) as caught:
        recipe.retrieve("q", deadline=0.05)
    assert time.perf_counter() - started < 2
    assert caught.value.code == "deadline"
    assert caught.value.trace.steps[0].status == "failed"


def test_filters_reach_every_source_and_only_narrow(tmp_path: Path) -> None:
    with florilege.open(tmp_path / "s", dense=CountingEmbedder(dimensions=32)) as corpus:
        corpus.sync(
            [
                Document(source_id="a", content="apples red", metadata={"lang": "en", "year": 2024}),
                Document(source_id="b", content="apples green", metadata={"lang": "en", "year": 2023}),
                Document(source_id="c", content="apples blue", metadata={"lang": "de", "year": 2024}),
            ]
        )
        floor = corpus.retriever("floor", filter=F("lang") == "en")
        tickets = Retriever.from_function(
            id="tickets",
            fn=lambda query: [
                make_hit("t1", metadata={"lang": "en", "year": 2024}),
                make_hit("t2", metadata={"lang": "de", "year": 2024}),
            ],
        )
        recipe = Recipe(id="r", retriever=[floor, tickets], steps=[retrieve()])
        assert {hit.source_id for hit in recipe.retrieve("apples")} == {"a", "b", "t1", "t2"}
        assert {hit.source_id for hit in recipe.retrieve("apples", filter=F("year") == 2024)} == {"a", "t1", "t2"}
        asked = Query(text="apples", filter={"year": 2024})
        assert {hit.source_id for hit in recipe.retrieve(asked, filter=F("lang") == "de")} == {"t2"}
        with pytest.raises(florilege.ConfigError):
            recipe.retrieve("apples", filter={"year": {"like": 1}})


def test_errors_of_a_source_keep_their_code() -> None:
    def fail(query: str) -> list[Hit]:
        raise florilege.NotFound("the index is gone", code="no_store")

    recipe = Recipe(id="r", retriever=Retriever.from_function(id="docs", fn=fail), steps=[retrieve()])
    with pytest.raises(SourceFailed, match=r"'docs'.*the index is gone") as caught:
        recipe.retrieve("q")
    assert caught.value.code == "no_store"
    assert caught.value.trace.steps[0].sources[0].status == "failed"
