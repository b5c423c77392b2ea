"""What an embedder does not cover gets no vector, costs nothing, and is found by its words all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from florilege import Document
from florilege.corpus import Corpus
from florilege.testing import CountingEmbedder

ENGLISH = "The warranty of a refurbished press covers the motor for two years."
GERMAN = "Die Garantie für eine überholte Presse gilt zwei Jahre und nicht länger."
CHINESE = "翻新印刷机的保修期为两年"
DOCS = [Document(source_id=name, content=text) for name, text in (("de", GERMAN), ("en", ENGLISH), ("zh", CHINESE))]


@pytest.fixture
def english() -> CountingEmbedder:
    return CountingEmbedder(dimensions=16, scripts={"Latin"}, languages={"en"})


def test_only_what_is_covered_is_embedded(opened: Callable[..., Corpus], english: CountingEmbedder) -> None:
    corpus = opened(dense=english)
    dry = corpus.sync(DOCS, dry_run=True)
    assert (dry.embedded, dry.uncovered) == (1, 2)
    result = corpus.sync(DOCS)
    assert (result.added, result.embedded, result.uncovered, result.pending) == (3, 1, 2, 0)
    assert english.texts == [ENGLISH]
    assert [hit.source_id for hit in corpus.retrieve("warranty", mode="dense")] == ["en"]
    assert corpus.chunks("en", vectors=True)[0].embedding is not None
    assert corpus.chunks("de", vectors=True)[0].embedding is None
    again = corpus.sync(DOCS)
    assert (again.unchanged, again.embedded, again.pending) == (3, 0, 0)


def test_nothing_waits_when_vectors_come_later(opened: Callable[..., Corpus], english: CountingEmbedder) -> None:
    result = opened(dense=english).sync(DOCS, embed="after")
    assert (result.embedded, result.uncovered, result.pending) == (1, 2, 0)


def test_a_question_in_a_script_the_embedder_does_not_cover_goes_by_words(
    opened: Callable[..., Corpus], english: CountingEmbedder
) -> None:
    corpus = opened(dense=english)
    corpus.sync(DOCS)
    asked = english.calls
    hits = corpus.retrieve("保修期多长")
    assert [hit.source_id for hit in hits] == ["zh"]
    assert {leg.leg for hit in hits for leg in hit.provenance.legs} == {"lexical"}
    assert english.calls == asked
    hits = corpus.retrieve("How long is the warranty of a press?")
    assert {leg.leg for hit in hits for leg in hit.provenance.legs} == {"lexical", "dense"}


def test_a_question_in_another_language_of_a_known_script_goes_by_both(
    opened: Callable[..., Corpus], english: CountingEmbedder
) -> None:
    """What is embedded may be what it asks for; what is not still comes first where its words agree."""
    corpus = opened(dense=english)
    corpus.sync(DOCS)
    hits = corpus.retrieve("Wie lange gilt die Garantie für eine Presse?")
    assert [hit.source_id for hit in hits] == ["de", "en"]
    legs = [{leg.leg for leg in hit.provenance.legs} for hit in hits]
    assert legs[0] == {"lexical"}
    assert "dense" in legs[1]


def test_a_chunk_without_a_vector_loses_nothing_by_it(opened: Callable[..., Corpus], english: CountingEmbedder) -> None:
    """Found by words as well as another, it ranks as if the vectors agreed with the words."""
    corpus = opened(dense=english)
    code = "presse garantie"
    corpus.sync([*DOCS, Document(source_id="names", content=f"The {code} of the {code}.")])
    hits = corpus.retrieve(code)
    lexical = [hit.source_id for hit in corpus.retrieve(code, mode="lexical")]
    assert [hit.source_id for hit in hits if hit.source_id in lexical][:2] == lexical[:2]


def test_migration_leaves_out_what_the_new_embedder_does_not_cover(
    opened: Callable[..., Corpus], embedder: CountingEmbedder, english: CountingEmbedder
) -> None:
    corpus = opened(dense=embedder)
    corpus.sync(DOCS)
    assert embedder.texts_embedded == 3
    new = CountingEmbedder(dimensions=24, name="new", scripts={"Latin"}, languages={"en"})
    done = corpus.migrate_embeddings(new, queries=["warranty"])
    assert (done.switched, done.embedded) == (True, 1)
    assert [hit.source_id for hit in corpus.retrieve("warranty", mode="dense")] == ["en"]
    assert corpus.sync(DOCS).unchanged == 3
    everything = CountingEmbedder(dimensions=24, name="newest")
    assert corpus.migrate_embeddings(everything).embedded == 3
    assert len(corpus.retrieve("warranty", mode="dense")) == 3


def test_going_back_and_mending_ask_for_nothing_more(opened: Callable[..., Corpus], english: CountingEmbedder) -> None:
    corpus = opened(dense=english)
    corpus.sync([Document(source_id="de", content=GERMAN)])
    corpus.sync([Document(source_id="de", content=GERMAN + " Der Motor ist davon ausgenommen.")])
    corpus.rollback("de", 1)
    assert [chunk.content for chunk in corpus.chunks("de")] == [GERMAN]
    assert corpus.verify().ok
    assert corpus.repair().embedded == 0
    assert english.texts_embedded == 0


@pytest.mark.parametrize("declared", [{}, {"scripts": {"Latin", "Han"}}, {"languages": {"en", "de", "zh"}}])
def test_what_is_declared_decides(opened: Callable[..., Corpus], declared: dict[str, Any]) -> None:
    embedder = CountingEmbedder(dimensions=16, **declared)
    result = opened(dense=embedder).sync(DOCS)
    assert (result.embedded, result.uncovered) == (3, 0)
