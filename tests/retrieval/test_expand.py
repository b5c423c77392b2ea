"""Looking around a hit: later steps read more, the hit stays what it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import florilege
from florilege import Document, ParentChunk, ParentRef, Pipeline, Provenance, Recipe, Span, chunkers
from florilege.corpus import Corpus
from florilege.model.hit import HitProvenance
from florilege.retrieval import expand_parents, expand_window, rerank, retrieve
from florilege.testing import FakeReranker
from tests.retrieval.making import make_hit, make_source, names

SECTIONS = "\n\n".join(
    f"# Section {number}\n\n"
    + " ".join(f"Sentence {line} of section {number} speaks of thing{number} and thing{line}." for line in range(12))
    for number in range(4)
)


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    pipeline = Pipeline(
        chunker=chunkers.parent_child(parent_max_chars=1000, child_max_chars=200, child_overlap_chars=0)
    )
    with florilege.open(tmp_path / "s", dense=None, pipeline=pipeline) as corpus:
        corpus.sync([Document(source_id="doc", content=SECTIONS), Document(source_id="other", content="thing7 alone")])
        yield corpus


def test_parents_of_the_sources_own_store(corpus: Corpus) -> None:
    recipe = Recipe(id="r", retriever=corpus.retriever(), steps=[retrieve(limit=8), expand_parents()])
    plain = corpus.retrieve("thing7", limit=8)
    hits = recipe.retrieve("thing7")
    assert [(hit.chunk_id, hit.score, hit.content) for hit in hits] == [
        (hit.chunk_id, hit.score, hit.content) for hit in plain
    ]
    for hit in hits:
        assert hit.passage is not None
        assert hit.passage.kind == "parent"
        assert hit.content in hit.text_for("context")
        (span,) = hit.passage.provenance.source_spans
        document = SECTIONS if hit.source_id == "doc" else "thing7 alone"
        assert document[span.start : span.end] == hit.text_for("context")


def test_a_long_parent_is_cut_around_the_child(corpus: Corpus) -> None:
    recipe = Recipe(id="r", retriever=corpus.retriever(), steps=[retrieve(), expand_parents(max_parent_chars=400)])
    for hit in recipe.retrieve("thing7 thing2"):
        assert hit.passage is not None
        assert len(hit.passage.text) <= 400
        assert hit.content in hit.passage.text
        (span,) = hit.passage.provenance.source_spans
        document = SECTIONS if hit.source_id == "doc" else "thing7 alone"
        assert document[span.start : span.end] == hit.passage.text


def test_children_of_one_parent_may_become_one(corpus: Corpus) -> None:
    steps = [retrieve(limit=30), expand_parents(merge="promote")]
    hits = Recipe(id="r", retriever=corpus.retriever(), steps=steps).retrieve("thing2")
    texts = [hit.text_for("context") for hit in hits]
    assert len(texts) == len(set(texts))
    assert hits == sorted(hits, key=lambda hit: hit.order)


def test_later_steps_read_the_expansion(corpus: Corpus) -> None:
    engine = FakeReranker(lambda query, passage: float(len(passage)))
    steps = [retrieve(limit=3), expand_parents(), rerank(engine=engine)]
    hits = Recipe(id="r", retriever=corpus.retriever(), steps=steps).retrieve("thing7")
    assert max(map(len, engine.passages)) > max(len(hit.content) for hit in hits) + 100


def test_windows_join_neighbours_and_tell_overlaps_once(tmp_path: Path) -> None:
    text = " ".join(f"Sentence number {number} stands here." for number in range(40))
    for overlap in (0, 60):
        pipeline = Pipeline(chunker=chunkers.text(max_chars=200, overlap_chars=overlap))
        with florilege.open(tmp_path / f"s{overlap}", dense=None, pipeline=pipeline) as corpus:
            corpus.sync([Document(source_id="doc", content=text)])
            steps = [retrieve(limit=3), expand_window(before=2, after=1)]
            for hit in Recipe(id="r", retriever=corpus.retriever(), steps=steps).retrieve("number 17"):
                assert hit.passage is not None
                assert hit.content in hit.passage.text
                assert len(hit.passage.text) > len(hit.content)
                spans = hit.passage.provenance.source_spans
                assert hit.passage.text == "\n\n".join(text[span.start : span.end] for span in spans)


def test_records_may_be_a_mapping_and_missing_ones_warn() -> None:
    parent = ParentRef(parent_id="p", key="k")
    provenance = HitProvenance(source_spans=(Span(10, 15),), parent=parent)
    hits = [
        make_hit("a", "child", parent=parent, provenance=provenance),
        make_hit("b", parent=ParentRef(parent_id="q", key="gone"), score=0.5),
        make_hit("c", score=0.1),
    ]
    kept = ParentChunk(
        source_id="a",
        parent_id="p",
        content="the child here",
        provenance=Provenance(source_spans=(Span(6, 20),)),
    )
    recipe = Recipe(id="r", retriever=make_source("docs", hits), steps=[retrieve(), expand_parents({"k": kept})])
    run = recipe.retrieve_with_trace("q")
    assert [hit.text_for("context") for hit in run.hits] == ["the child here", "text of b", "text of c"]
    assert "1 of 2 parents were not found" in run.trace.warnings[0]
    for id, expanded in (("docs", True), ("other", False), ("elsewhere", True)):
        step = expand_parents({"k": kept}, indexer_id=id)
        sources = [make_source("docs", hits), make_source("other", [])]
        run = Recipe(id="r", retriever=sources, steps=[retrieve(), step]).retrieve_with_trace("q")
        assert (next(hit for hit in run.hits if hit.chunk_id == "a").passage is not None) is expanded
    assert "no source 'elsewhere'" in run.trace.warnings[0]


def test_a_store_may_be_given(corpus: Corpus) -> None:
    hits = corpus.retrieve("thing7", limit=2)
    recipe = Recipe(id="r", retriever=make_source("copy", hits), steps=[retrieve(), expand_parents(corpus.data)])
    assert all(hit.passage is not None for hit in recipe.retrieve("q"))


def test_a_window_is_not_taken_from_a_source_that_has_changed(corpus: Corpus) -> None:
    stale = make_hit("doc#chunk_gone", "thing7")
    recipe = Recipe(
        id="r",
        retriever=[corpus.retriever("corpus"), make_source("old", [stale])],
        steps=[retrieve(), expand_window()],
    )
    run = recipe.retrieve_with_trace("thing7")
    left = [hit for hit in run.hits if hit.passage is None]
    assert names(left) == ["chunk_gone"]
    assert "no longer in their source" in run.trace.warnings[0]
