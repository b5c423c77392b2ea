"""Reranking: one currency, nothing invented, nothing lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege import ModelError, Recipe, StepError
from florilege.interfaces import Reranking, Scored
from florilege.retrieval import judge_reranker, rerank, rerankers, retrieve
from florilege.testing import FakeModel, FakeReranker
from tests.retrieval.making import make_hit, make_source, names

LETTERS = "abcdefgh"


def ranked(engine: Any, hits: str = "abc", top_k: int | None = None, model: Any = None) -> Any:
    source = make_source("docs", [make_hit(name, score=1 / (rank + 1)) for rank, name in enumerate(hits)])
    recipe = Recipe(id="r", retriever=source, model=model, steps=[retrieve(), rerank(engine=engine, top_k=top_k)])
    return recipe.retrieve_with_trace("question")


def test_scores_order_and_cut() -> None:
    run = ranked(FakeReranker([(0, 0.1), (1, 0.9), (2, 0.5)]), top_k=2)
    assert [(hit.chunk_id, hit.score, hit.provenance.rerank_score) for hit in run.hits] == [
        ("b", 0.9, 0.9),
        ("c", 0.5, 0.5),
    ]
    assert run.hits[0].provenance.raw_score == 0.5
    assert run.hits[0].provenance.reranker == "rag.reranker:fake-reranker"
    assert run.trace.steps[1].facts["engine"] == "rag.reranker:fake-reranker"


def test_unknown_and_repeated_places_are_dropped_with_warnings() -> None:
    run = ranked(FakeReranker([(-1, 9.0), (-3, 8.0), (1, 0.5), (1, 0.9), (6, 7.0)]))
    assert names(run.hits) == ["b", "a", "c"]
    assert [hit.provenance.rerank_score for hit in run.hits] == [0.5, None, None]
    assert len(run.trace.warnings) == 5
    assert "2 of 3 hits were not scored" in run.trace.warnings[-1]


@given(st.lists(st.tuples(st.integers(-3, 12), st.floats(-5, 5)), max_size=12), st.integers(1, 8))
def test_every_hit_stays_once_and_order_agrees_with_score(scores: list[tuple[int, float]], count: int) -> None:
    hits = ranked(FakeReranker(scores), LETTERS[:count]).hits
    assert sorted(names(hits)) == list(LETTERS[:count])
    assert hits == sorted(hits, key=lambda hit: hit.order)
    judged = [hit for hit in hits if hit.provenance.rerank_score is not None]
    assert hits[: len(judged)] == judged
    rest = names(hits)[len(judged) :]
    assert rest == sorted(rest)


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_an_error(score: float) -> None:
    with pytest.raises(StepError, match="not a finite number"):
        ranked(FakeReranker([(0, score)]))


def test_the_judges_old_habits_are_read() -> None:
    """Lines such as ``Doc: 2``: numbers begin at 1, so 0 and -2 are nobody."""
    run = ranked(judge_reranker(name="judge"), model=FakeModel("Doc: 0\nDoc: -2\nDoc: 2\nDoc: 2\nDoc: 7\n"))
    assert names(run.hits) == ["b", "a", "c"]
    told = " ".join(run.trace.warnings)
    assert all(f"no passage {number} among 3" in told for number in (0, -2, 7))
    assert "scored twice" in told


def test_a_judge_grades_in_batches() -> None:
    grades = iter([[3, 1], [9, 2]])

    def judge(messages: Any, schema: Any) -> Any:
        assert schema is not None
        return {"grades": [{"passage": place, "grade": grade} for place, grade in enumerate(next(grades), 1)]}

    run = ranked(judge_reranker(name="judge", model=FakeModel(judge), batch=2), "abcd")
    assert names(run.hits) == ["c", "a", "d", "b"]
    assert run.trace.usage.calls == 2


def test_a_judges_answer_is_repaired_once_then_left() -> None:
    good = {"grades": [{"passage": 2, "grade": 9}]}
    model = FakeModel(["no idea", good])
    run = ranked(judge_reranker(name="judge", model=model))
    assert names(run.hits)[0] == "b"
    assert model.calls == 2
    assert "cannot be used" in model.prompts[1][-1]["content"]
    model = FakeModel("no idea")
    run = ranked(judge_reranker(name="judge", model=model))
    assert names(run.hits) == ["a", "b", "c"]
    assert model.calls == 2
    assert "stay ungraded" in run.trace.warnings[0]


def test_a_failing_judge_fails_the_step() -> None:
    with pytest.raises(StepError) as caught:
        ranked(judge_reranker(name="judge", model=FakeModel(ModelError("down", retryable=True))))
    assert (caught.value.step, caught.value.retryable) == ("rerank", True)


def test_async_engines_work() -> None:
    class Engine:
        name = "async"

        async def rerank(self, query: str, passages: list[str]) -> Reranking:
            return Reranking(scores=[Scored(2, 1.0)])

    assert names(ranked(Engine()).hits) == ["c", "a", "b"]


class Plain:
    """An engine that returns whatever it was made with."""

    name = "plain"

    def __init__(self, value: Any) -> None:
        self.value = value

    def rerank(self, query: str, passages: list[str]) -> Any:
        return self.value


@pytest.mark.parametrize(
    "value", [[(1, 0.5)], [{"index": 1, "score": 0.5}], [Scored(1, 0.5)], Reranking(scores=[Scored(1, 0.5)])]
)
def test_engines_may_return_plain_lists(value: Any) -> None:
    assert names(ranked(Plain(value)).hits) == ["b", "a", "c"]


@pytest.mark.parametrize("value", [None, "text", 3, [3], [("a",)], [{"index": 1}], [(0, "high")]])
def test_engines_that_return_something_else_fail(value: Any) -> None:
    with pytest.raises(StepError, match="'plain'") as caught:
        ranked(Plain(value))
    assert caught.value.code == "bad_output"


def test_engines_read_the_context() -> None:
    engine = FakeReranker(lambda query, passage: len(passage))
    source = make_source("docs", [make_hit("a", "x", context="Returns > Harps")])
    Recipe(id="r", retriever=source, steps=[retrieve(), rerank(engine=engine)]).retrieve("q")
    assert engine.passages == ["Returns > Harps\n\nx"]


def test_the_lexical_reranker_lifts_what_repeats_the_question() -> None:
    passages = [
        "The delivery of instruments takes two weeks.",
        "Harps and strings are sold in the shop; the return desk is closed.",
        "A concert harp may be returned within thirty days.",
    ]
    ranking = rerankers.lexical().rerank("within how many days may a concert harp be returned", passages)
    assert max(ranking.scores, key=lambda item: item.score).index == 2
    assert (
        rerankers.lexical().rerank("", passages).scores[0].score
        > rerankers.lexical().rerank("", passages).scores[1].score
    )
    assert rerankers.lexical().rerank("anything", []).scores == []
