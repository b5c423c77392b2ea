"""The budget always holds; excerpts are verbatim, and say where they stand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege import Hit, Provenance, Query, Recipe, Span
from florilege.model.hit import HitProvenance, Passage
from florilege.retrieval import compress_to_budget, render, retrieve
from florilege.retrieval.steps.excerpts import GAP
from florilege.testing import FakeModel
from florilege.text.tokens import tokenizer
from tests.retrieval.making import make_hit, make_source, names

COUNTERS = ["o200k_base", "word", "character"]
sentences = st.lists(
    st.sampled_from(
        [
            "The harp may be returned within thirty days. ",
            "Gift cards are never refunded! ",
            "Übergrößen kosten mehr。 ",
            "Line one\nline two ",
            "日本語の文です。",
            "x" * 90 + " ",
            "\n\n## A heading\n\n",
            "🙂 smiles and 𝔘nicode. ",
        ]
    ),
    max_size=12,
).map("".join)
contents = st.one_of(sentences, st.text(max_size=200))


def compressed(hits: list[Hit], tokens: int, query: str = "return a harp", **options: Any) -> Any:
    recipe = Recipe(
        id="r", retriever=make_source("docs", hits), steps=[retrieve(limit=100), compress_to_budget(tokens, **options)]
    )
    return recipe.retrieve_with_trace(Query(text=query))


def check(before: list[Hit], after: list[Hit], tokens: int, counter: str) -> None:
    """What must hold whatever came in."""
    assert not after or tokenizer(counter).count(render(after)) <= tokens
    originals = {hit.key: hit for hit in before}
    assert names(after) == [name for name in names(before) if name in set(names(after))]
    for hit in after:
        original = originals[hit.key]
        whole = original.passage.text if original.passage else original.content
        told = hit.provenance.compression
        assert told is not None
        pieces = [whole[item["start"] : item["end"]] for item in told["excerpts"]]
        assert hit.content == GAP.join(pieces)
        assert hit.text_for("context") == hit.content
        assert hit.text_for("citation") == original.content
        assert told["complete"] is (hit.content == whole)
        assert hit.score == original.score


@given(st.lists(contents, min_size=1, max_size=8), st.integers(1, 400), st.sampled_from(COUNTERS), st.text(max_size=20))
def test_the_budget_holds_with_headers_and_separators(texts: list[str], tokens: int, counter: str, title: str) -> None:
    hits = [make_hit(f"s{place}", text, score=1 / (place + 1), title=title or None) for place, text in enumerate(texts)]
    check(hits, compressed(hits, tokens, tokenizer=counter).hits, tokens, counter)


@given(st.lists(contents.filter(bool), min_size=1, max_size=5), st.integers(20, 300))
def test_excerpts_stand_in_the_source_where_they_say(texts: list[str], tokens: int) -> None:
    document = "preface " + " | ".join(texts)
    hits, at = [], len("preface ")
    for place, text in enumerate(texts):
        spans = HitProvenance(source_spans=(Span(at, at + len(text)),))
        hits.append(make_hit(f"s{place}", text, score=1 / (place + 1), provenance=spans))
        at += len(text) + len(" | ")
    for hit in compressed(hits, tokens).hits:
        for item in hit.provenance.compression["excerpts"]:
            ((start, end),) = item["source"]
            low, high = item["chunk"]
            assert document[start:end] == hit.text_for("citation")[low:high]
            assert (low, high) == (item["start"], item["end"])


def test_thirty_hits_of_very_different_size() -> None:
    sizes = [400, 3, 60, 10, 5, 200] * 5
    hits = [
        make_hit(f"s{place}", "The harp may be returned within thirty days. " * size, score=1 / (place + 1))
        for place, size in enumerate(sizes)
    ]
    run = compressed(hits, 500)
    check(hits, run.hits, 500, "o200k_base")
    assert names(run.hits)[0] == "s0"
    assert run.trace.steps[1].facts["tokens"] > 350
    assert len(run.hits) > 3


def test_the_sentences_that_answer_are_kept() -> None:
    filler = "Nothing to see in this sentence at all. " * 30
    text = filler + "A concert harp may be returned within thirty days. " + filler
    (hit,) = compressed([make_hit("a", text)], 60, "how many days to return a concert harp").hits
    assert "returned within thirty days" in hit.content
    assert not hit.provenance.compression["complete"]


def test_a_larger_budget_keeps_no_less_of_one_hit() -> None:
    woods = ("oak", "ash", "elm", "fir", "yew", "beech", "maple", "pine")
    text = " ".join(f"The {wood} harp of the workshop is strung with gut every single year." for wood in woods)
    kept = [sum(len(hit.content) for hit in compressed([make_hit("a", text)], tokens).hits) for tokens in range(20, 90)]
    assert kept == sorted(kept)
    assert len(set(kept)) > 3


def test_what_fits_stays_whole() -> None:
    hits = [make_hit("a", "Short text."), make_hit("b", "Another one.", score=0.5)]
    run = compressed(hits, 500)
    assert [hit.content for hit in run.hits] == ["Short text.", "Another one."]
    assert all(hit.provenance.compression["complete"] for hit in run.hits)


def test_a_budget_for_nothing_is_an_empty_list_with_a_warning() -> None:
    run = compressed([make_hit("a", "word " * 50)], 2)
    assert run.hits == []
    assert "not even the best hit" in run.trace.warnings[0]


def test_expanded_hits_are_cut_from_their_expansion() -> None:
    parent = "An opening sentence about strings. The harp may be returned within thirty days. A closing sentence. " * 3
    child = parent[35:80]
    hit = make_hit(
        "a",
        child,
        provenance=HitProvenance(source_spans=(Span(1035, 1080),)),
        passage=Passage(
            kind="parent", text=parent, provenance=Provenance(source_spans=(Span(1000, 1000 + len(parent)),))
        ),
    )
    (cut,) = compressed([hit], 45, "may the harp be returned").hits
    told = cut.provenance.compression
    assert told["basis"] == "parent"
    assert cut.text_for("citation") == child
    for item in told["excerpts"]:
        ((start, end),) = item["source"]
        assert parent[start - 1000 : end - 1000] == parent[item["start"] : item["end"]]
        if item["chunk"] is not None:
            low, high = item["chunk"]
            assert child[low:high] == parent[item["start"] : item["end"]]


TEXT = "First sentence about wood. Second sentence about strings. Third sentence about “glue”."


def test_a_model_may_choose_and_only_what_it_copied_counts() -> None:
    quotes = [
        {"passage": 1, "quote": "Second sentence about strings."},
        {"passage": 1, "quote": 'third sentence about "glue"'},
        {"passage": 1, "quote": "Fourth sentence, invented."},
        {"passage": 9, "quote": "Second sentence about strings."},
    ]
    model = FakeModel({"excerpts": quotes})
    run = compressed([make_hit("a", TEXT)], 200, strategy="model", model=model)
    assert run.hits[0].content == "Second sentence about strings. Third sentence about “glue”"
    assert run.hits[0].provenance.compression["strategy"] == "model"
    assert len(run.trace.warnings) == 2
    assert run.trace.usage.calls == 1


@pytest.mark.parametrize(
    "reply", ["nonsense", {"excerpts": []}, {"excerpts": [{"passage": 1, "quote": "invented words"}]}]
)
def test_a_model_that_copies_nothing_is_replaced_by_words(reply: Any) -> None:
    run = compressed([make_hit("a", TEXT)], 200, strategy="model", model=FakeModel(reply))
    assert run.hits[0].content == TEXT
    assert run.hits[0].provenance.compression["strategy"] == "extractive"
    assert "by their words instead" in run.trace.warnings[-1]


def test_it_may_be_done_twice() -> None:
    text = "A sentence about the harp and its strings. " * 40
    source = make_source("docs", [make_hit("a", text)])
    steps = [retrieve(), compress_to_budget(200), compress_to_budget(80, id="again")]
    hits = Recipe(id="r", retriever=source, steps=steps).retrieve("harp strings")
    check([make_hit("a", text)], hits, 80, "o200k_base")
