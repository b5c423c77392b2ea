"""Many queries, many sources: one list, the same whatever the order, and nobody hides the others."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege import Hit, Query, Recipe, Retriever, SourceFailed
from florilege.retrieval import retrieve
from florilege.retrieval.steps import Ranking, Source, fused
from tests.retrieval.making import make_hit, make_source, names

lists = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=8)
weights = st.sampled_from([0.25, 0.5, 1.0, 2.0])


def rankings(given: Sequence[tuple[Sequence[str], float]], query: str = "q") -> list[Ranking]:
    return [
        Ranking(
            Source(id=f"s{number}", retriever=make_source(f"s{number}", []), weight=weight),
            Query(text=query),
            [make_hit(name, f"{name} by s{number}", score=1 / (rank + 1)) for rank, name in enumerate(found)],
        )
        for number, (found, weight) in enumerate(given)
    ]


@given(st.lists(st.tuples(lists, weights), min_size=1, max_size=4))
def test_fusion_is_the_weighted_sum_of_reciprocal_ranks(given: list[tuple[list[str], float]]) -> None:
    hits = fused(rankings(given))
    best = math.fsum(weight / 11 for _, weight in given)
    assert {hit.chunk_id for hit in hits} == {name for found, _ in given for name in found}
    for hit in hits:
        share = [weight / (11 + found.index(hit.chunk_id)) for found, weight in given if hit.chunk_id in found]
        assert hit.score == math.fsum(share) / best
        assert 0 < hit.score <= 1
        assert len(hit.provenance.per_source) == len(share)
    assert hits == sorted(hits, key=lambda hit: hit.order)


@given(st.lists(st.tuples(lists, weights), min_size=2, max_size=4), st.randoms())
def test_fusion_does_not_depend_on_the_order_of_sources(given: list[tuple[list[str], float]], random: Any) -> None:
    ordered = rankings(given)
    shuffled = list(ordered)
    random.shuffle(shuffled)
    assert fused(shuffled) == fused(ordered)


def test_equal_weights_and_ties_have_one_order() -> None:
    sources = [
        make_source("one", [make_hit("x")]),
        make_source("two", [make_hit("b")]),
        make_source("six", [make_hit("m")]),
    ]
    for order in permutations(sources):
        recipe = Recipe(id="r", retriever=list(order), steps=[retrieve()])
        assert names(recipe.retrieve("q")) == ["b", "m", "x"]


def test_duplicates_are_one_hit_with_every_source_named() -> None:
    recipe = Recipe(
        id="r",
        retriever=[
            {"retriever": make_source("docs", [make_hit("a", score=9.0), make_hit("b", score=8.0)]), "weight": 1},
            {"retriever": make_source("tickets", [make_hit("b", score=0.7)]), "weight": 0.5},
        ],
        steps=[retrieve()],
    )
    run = recipe.retrieve_with_trace("q")
    assert names(run.hits) == ["b", "a"]
    assert [(rank.retriever_id, rank.rank, rank.weight, rank.score) for rank in run.hits[0].provenance.per_source] == [
        ("tickets", 1, 0.5, 0.7),
        ("docs", 2, 1.0, 8.0),
    ]
    assert [(source.retriever_id, source.status, source.hit_count) for source in run.trace.steps[0].sources] == [
        ("docs", "success", 2),
        ("tickets", "success", 1),
    ]


def test_a_light_source_is_not_shut_out() -> None:
    docs = make_source("docs", [make_hit(f"d{number:02}", score=-number) for number in range(30)])
    tickets = make_source("tickets", [make_hit("t")])
    hits = Recipe(id="r", retriever=[docs, {"retriever": tickets, "weight": 0.5}], steps=[retrieve(limit=25)]).retrieve(
        "q"
    )
    assert names(hits).index("t") == 12


def test_namespaces_keep_hits_apart() -> None:
    one = make_source("one", [make_hit("a", namespace="n1")])
    two = make_source("two", [make_hit("a", namespace="n2")])
    hits = Recipe(id="r", retriever=[one, two], steps=[retrieve()]).retrieve("q")
    assert [(hit.namespace, hit.chunk_id) for hit in hits] == [("n1", "a"), ("n2", "a")]


def broken(query: str) -> list[Hit]:
    raise ConnectionError("tcp://secret-host refused")


def test_a_broken_source_is_skipped_with_a_warning() -> None:
    good = make_source("good", [make_hit("a")])
    bad = Retriever.from_function(id="bad", fn=broken)
    recipe = Recipe(id="r", retriever=[bad, good], steps=[retrieve()], on_source_error="skip_with_warning")
    run = recipe.retrieve_with_trace("q")
    assert names(run.hits) == ["a"]
    assert run.trace.warnings == ("source 'bad' failed: ConnectionError",)
    assert [(source.retriever_id, source.status) for source in run.trace.steps[0].sources] == [
        ("bad", "failed"),
        ("good", "success"),
    ]


def test_without_that_policy_it_is_an_error() -> None:
    recipe = Recipe(
        id="r",
        retriever=[Retriever.from_function(id="bad", fn=broken), make_source("good", [make_hit("a")])],
        steps=[retrieve()],
    )
    with pytest.raises(SourceFailed, match="'bad'") as caught:
        recipe.retrieve("q")
    assert caught.value.retryable
    assert "secret" not in str(caught.value)


def test_when_all_fail_it_is_an_error_anyway() -> None:
    recipe = Recipe(
        id="r",
        retriever=[Retriever.from_function(id=f"bad{number}", fn=broken) for number in range(2)],
        steps=[retrieve()],
        on_source_error="skip-with-warning",
    )
    with pytest.raises(SourceFailed) as caught:
        recipe.retrieve("q")
    assert len(caught.value.trace.steps[0].warnings) == 2


def test_a_slow_source_does_not_hold_up_the_others() -> None:
    release = threading.Event()

    def slow(query: str) -> list[Hit]:
        release.wait(10)
        return []

    recipe = Recipe(
        id="r",
        retriever=[
            {"retriever": Retriever.from_function(id="slow", fn=slow), "timeout": 0.05},
            make_source("quick", [make_hit("a")]),
        ],
        steps=[retrieve()],
        on_source_error="skip_with_warning",
        concurrency=1,
    )
    started = time.perf_counter()
    run = recipe.retrieve_with_trace("q")
    release.set()
    assert names(run.hits) == ["a"]
    assert time.perf_counter() - started < 2
    assert "no answer within 0.05 s" in run.trace.warnings[0]


def test_sources_run_at_once_and_no_more_than_allowed() -> None:
    running, most = 0, 0
    lock = threading.Lock()

    def count(query: str) -> list[Hit]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return []

    sources = [Retriever.from_function(id=f"s{number}", fn=count) for number in range(6)]
    Recipe(id="r", retriever=sources, steps=[retrieve()], concurrency=3).retrieve("q")
    assert most == 3


def test_functions_may_return_mappings_and_take_options() -> None:
    seen: dict[str, Any] = {}

    def find(query: str, limit: int, filter: object, request: Query) -> list[dict[str, Any]]:
        seen.update(limit=limit, filter=filter, text=request.text)
        return [{"source_id": "s", "chunk_id": "c", "content": query, "title": "T"}]

    hits = Retriever.from_function(id="f", fn=find, namespace="n").retrieve("q", limit=3)
    assert (hits[0].namespace, hits[0].content, hits[0].title, hits[0].score) == ("n", "q", "T", 1.0)
    assert (seen["limit"], seen["filter"], seen["text"]) == (3, None, "q")


@pytest.mark.parametrize(
    "result", ["text", None, [3], [{"source_id": "s"}], [{"source_id": "s", "chunk_id": "c", "content": "", "x": 1}]]
)
def test_functions_that_return_no_hits_are_named(result: Any) -> None:
    with pytest.raises(SourceFailed, match="'f'") as caught:
        Retriever.from_function(id="f", fn=lambda query: result).retrieve_with_trace("q")
    assert caught.value.code == "bad_hits"
