"""Filtering, deduplication, diversity, boosts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege import F, Hit, Recipe, RecipeError
from florilege.model.hit import HitProvenance
from florilege.retrieval import boost, dedupe, diversify, filter_hits, retrieve
from tests.retrieval.making import make_hit, make_source, names


def through(step: Any, hits: list[Hit]) -> list[Hit]:
    return Recipe(id="r", retriever=make_source("docs", hits), steps=[retrieve(limit=100), step]).retrieve("question")


def test_filters_by_tree_mapping_and_function() -> None:
    hits = [
        make_hit("a", metadata={"public": True, "year": 2024}, score=3.0, title="A"),
        make_hit("b", metadata={"public": False}, score=2.0, provenance=HitProvenance(pages=(4,))),
        make_hit("c", score=1.0),
    ]
    assert names(through(filter_hits(F("public") == True), hits)) == ["a"]  # noqa: E712
    assert names(through(filter_hits({"public": {"exists": True}}), hits)) == ["a", "b"]
    assert names(through(filter_hits(lambda hit: hit.score < 3), hits)) == ["b", "c"]
    assert names(through(filter_hits(F("$page") == 4), hits)) == ["b"]
    assert names(through(filter_hits(F("$title") == "A"), hits)) == ["a"]


def test_near_repeats_go_and_the_better_stays() -> None:
    text = "The harp may be returned within thirty days of delivery in its transit case"
    hits = [
        make_hit("a", text, score=3.0),
        make_hit("b", text.upper() + "!", score=2.0),
        make_hit("c", "Something else entirely about strings and pedals", score=1.0),
    ]
    assert names(through(dedupe(), hits)) == ["a", "c"]
    assert names(through(dedupe(threshold=1.0), [*hits[:1], make_hit("d", text + " or carton", score=0.5)])) == [
        "a",
        "d",
    ]


def test_diversity_prefers_what_is_new() -> None:
    hits = [
        make_hit("a", "harp return days", score=1.0),
        make_hit("b", "harp return days", score=0.95),
        make_hit("c", "strings and pedals", score=0.8),
        make_hit("d", "wood", score=0.0),
    ]
    assert names(through(diversify(0.5), hits))[:2] == ["a", "c"]
    assert names(through(diversify(1.0), hits)) == ["a", "b", "c", "d"]
    assert names(through(diversify(0.5, limit=2), hits)) == ["a", "c"]


@given(
    st.lists(
        st.tuples(st.floats(-10, 10), st.sampled_from(["harp", "harp string", "wood", "pedal wood"])), max_size=12
    ),
    st.floats(0, 1),
)
def test_diversity_is_in_total_order(made: list[tuple[float, str]], relevance: float) -> None:
    hits = [make_hit(f"s{place}", text, score=score) for place, (score, text) in enumerate(made)]
    picked = through(diversify(relevance), hits)
    assert sorted(names(picked)) == sorted(names(hits))
    assert picked == sorted(picked, key=lambda hit: hit.order)


def test_boosts_by_age_by_value_by_number() -> None:
    now = datetime.now(UTC)
    hits = [
        make_hit("old", score=1.0, metadata={"updated": (now - timedelta(days=400)).isoformat()}),
        make_hit("new", score=0.9, metadata={"updated": now - timedelta(days=1)}),
        make_hit("none", score=0.0),
    ]
    assert names(through(boost("updated", half_life_days=30), hits)) == ["new", "old", "none"]
    kinds = [make_hit("x", score=1.0, metadata={"kind": "draft"}), make_hit("y", score=0.9, metadata={"kind": "final"})]
    assert (
        names(
            through(boost("kind", values={"final": 1.0, "draft": 0.0}, weight=2.0), [*kinds, make_hit("z", score=0)])
        )[0]
        == "y"
    )
    flags = [make_hit("x", score=1.0), make_hit("y", score=1.0, metadata={"starred": True})]
    assert names(through(boost("starred"), flags)) == ["y", "x"]
    assert through(boost("starred"), []) == []


@pytest.mark.parametrize("options", [{"weight": 0}, {"weight": True}, {"half_life_days": -1}])
def test_wrong_boosts_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match=next(iter(options))):
        boost("field", **options)
