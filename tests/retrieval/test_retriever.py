"""Retrievers over a small corpus: modes, filters, limits, order, what text means."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import florilege
from florilege import Document, F, Query
from florilege.corpus import Corpus
from florilege.testing import CountingEmbedder
from tests.support import ROOT


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    with florilege.open(tmp_path / "store", dense=CountingEmbedder(dimensions=64)) as corpus:
        corpus.sync(
            [
                Document(
                    source_id="a", content="red apples and pears", metadata={"year": 2024, "lang": "en"}, title="A"
                ),
                Document(source_id="b", content="green apples", metadata={"year": 2023, "lang": "en"}),
                Document(source_id="c", content="rote Äpfel", metadata={"year": 2024, "lang": "de"}),
                Document(source_id="d", content="blue sky over the sea", metadata={"year": 2024, "lang": "en"}),
                Document(source_id="O'Brien", content="apples of O'Brien", metadata={"owner": "O'Brien"}),
            ]
        )
        yield corpus


def ids(hits: list[florilege.Hit]) -> list[str]:
    return [hit.source_id for hit in hits]


def test_modes(corpus: Corpus) -> None:
    assert set(ids(corpus.retrieve("apples", mode="lexical"))) == {"a", "b", "O'Brien"}
    assert len(corpus.retrieve("apples", mode="dense")) == 5
    hybrid = corpus.retrieve("apples", mode="hybrid")
    assert {leg.leg for leg in hybrid[0].provenance.legs} == {"dense", "lexical"}
    assert hybrid[0].score == hybrid[0].provenance.fused_score
    assert ids(corpus.retrieve("apples")) == ids(hybrid)


def test_hits_are_in_total_order_and_say_where_they_come_from(corpus: Corpus) -> None:
    hits = corpus.retrieve("red apples", mode="lexical")
    assert hits == sorted(hits, key=lambda hit: hit.order)
    top = hits[0]
    assert (top.source_id, top.title, top.content) == ("a", "A", "red apples and pears")
    assert top.provenance.matched_queries == ("red apples",)
    assert top.metadata["year"] == 2024


def test_more_asked_than_there_is(corpus: Corpus) -> None:
    assert len(corpus.retrieve("apples", limit=100, mode="dense")) == 5
    assert len(corpus.retrieve("apples", limit=100, mode="dense", filter={"lang": "de"})) == 1
    assert corpus.retrieve("apples", limit=0) == []
    with pytest.raises(florilege.ConfigError, match="limit"):
        corpus.retrieve("apples", limit=-1)


@pytest.mark.parametrize(
    "text", ["", "   ", "\n", "?!", "the of and", '"', "OR", "AND NOT (", "{0} error:{0}", "a:b^2~"]
)
def test_text_is_text(corpus: Corpus, text: str) -> None:
    for mode in ("lexical", "hybrid", "dense"):
        assert isinstance(corpus.retrieve(text, mode=mode), list)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ['who has "apples"?', "apples & pears", "apples OR", "-apples", 'apples "unbalanced'])
def test_punctuation_hides_nothing(corpus: Corpus, text: str) -> None:
    assert "a" in ids(corpus.retrieve(text, mode="lexical"))


def test_empty_corpus_and_unknown_namespace(tmp_path: Path) -> None:
    with florilege.open(tmp_path / "empty", dense=CountingEmbedder(dimensions=8)) as corpus:
        assert corpus.retrieve("anything") == []
        assert corpus.retrieve("anything", mode="dense") == []
    with florilege.open(tmp_path / "empty", "other", dense=None) as corpus:
        assert corpus.retrieve("anything") == []


def test_filters_narrow(corpus: Corpus) -> None:
    assert set(ids(corpus.retrieve("apples", filter=F("year") == 2024, mode="dense"))) == {"a", "c", "d"}
    assert set(ids(corpus.retrieve("apples", filter={"year": {"in": [2023]}}, mode="dense"))) == {"b"}
    assert set(ids(corpus.retrieve("apples", filter=(F("year") == 2024) & (F("lang") == "en"), mode="dense"))) == {
        "a",
        "d",
    }
    assert ids(corpus.retrieve("apples", filter=F("owner") == "O'Brien", mode="dense")) == ["O'Brien"]
    assert corpus.retrieve("apples", filter=F("owner").in_(["x') OR 1=1 --"]), mode="dense") == []
    assert corpus.retrieve("apples", filter=F("year") == "2024", mode="dense") == []


def test_a_retrievers_filter_is_a_floor(corpus: Corpus) -> None:
    retriever = corpus.retriever(filter=F("lang") == "en")
    assert "c" not in ids(retriever.retrieve("apples", mode="dense"))
    assert ids(retriever.retrieve("apples", mode="dense", filter=F("lang") == "de")) == []
    assert set(ids(retriever.retrieve(Query(text="apples", filter={"year": 2024}, mode="dense")))) == {"a", "d"}


def test_another_namespace_is_like_one_that_does_not_exist(corpus: Corpus, tmp_path: Path) -> None:
    with florilege.open(tmp_path / "store", "tenant-b", dense=CountingEmbedder(dimensions=64)) as other:
        assert other.retrieve("apples", mode="lexical") == []
        assert other.chunks("a") == [] if "a" in ids(other.retrieve("apples")) else True
        with pytest.raises(florilege.NotFound):
            other.get_source("a")
        with pytest.raises(florilege.NotFound):
            other.chunks("a")
        assert other.delete_source("a") == 0
    assert "a" in ids(corpus.retrieve("apples", mode="lexical"))


def test_threshold_cuts_on_each_legs_scale(corpus: Corpus) -> None:
    best = corpus.retrieve("red apples", mode="lexical")[0].score
    kept = corpus.retriever(threshold={"lexical": best}).retrieve("red apples", mode="lexical")
    assert ids(kept) == ["a"]


def test_hits_may_be_made_to_differ(tmp_path: Path) -> None:
    with florilege.open(tmp_path / "s", dense=None) as corpus:
        same = "The harp may be returned within thirty days of delivery in its transit case"
        contents = [
            same,
            same + ".",
            same.upper(),
            "A harp has pedals",
            "The harp is returned unstrung, never restrung",
        ]
        corpus.sync([Document(source_id=f"d{n}", content=content) for n, content in enumerate(contents)])
        query = "harp returned"
        plain = ids(corpus.retriever().retrieve(query, limit=3))
        apart = ids(corpus.retriever(dedupe=0.9).retrieve(query, limit=3))
        assert len({"d0", "d1", "d2"}.intersection(plain)) > 1
        assert len({"d0", "d1", "d2"}.intersection(apart)) == 1
        assert len(apart) == 3
        varied = corpus.retriever(diversify=0.3).retrieve(query, limit=3)
        assert len({"d0", "d1", "d2"}.intersection(ids(varied)[:2])) < 2
        assert varied == sorted(varied, key=lambda hit: hit.order)
        assert corpus.retriever(diversify=1.0, dedupe=0.0).retrieve(query, limit=0) == []
        for option in ("dedupe", "diversify"):
            assert corpus.retriever(**{option: 0.5}).fingerprint() != corpus.retriever().fingerprint()
            for wrong in (-1, 1.5, True, "0.9"):
                with pytest.raises(florilege.ConfigError, match=option):
                    corpus.retriever(**{option: wrong})


def test_given_vector_is_checked(corpus: Corpus) -> None:
    with pytest.raises(florilege.ConfigError, match="64"):
        corpus.retrieve(Query(vector=[1.0, 2.0], mode="dense"))
    assert len(corpus.retrieve(Query(vector=[1.0] * 64, mode="dense"))) == 5


def test_unusable_modes_are_named(tmp_path: Path) -> None:
    with florilege.open(tmp_path / "words", dense=None) as corpus:
        with pytest.raises(florilege.ConfigError, match="dense"):
            corpus.retrieve("x", mode="dense")
        with pytest.raises(florilege.ConfigError, match="sparse"):
            corpus.retrieve("x", mode="sparse")
        with pytest.raises(florilege.ConfigError, match="fuzzy"):
            corpus.retrieve("x", mode="fuzzy")  # type: ignore[arg-type]


def test_a_query_in_a_script_the_model_does_not_cover_goes_by_words(tmp_path: Path) -> None:
    embedder = CountingEmbedder(dimensions=16)
    embedder.scripts = frozenset({"Latin"})
    with florilege.open(tmp_path / "s", dense=embedder) as corpus:
        corpus.sync(
            [Document(source_id="zh", content="退款政策 十四天"), Document(source_id="en", content="refund policy")]
        )
        calls = embedder.calls
        hits = corpus.retrieve("退款", mode="hybrid")
        assert embedder.calls == calls
        assert ids(hits) == ["zh"]


def test_same_hits_in_another_process_with_another_hash_seed(corpus: Corpus, tmp_path: Path) -> None:
    corpus.sync([Document(source_id=f"t{n}", content="tie") for n in range(40)])
    script = (
        "import florilege,sys\n"
        "from florilege.testing import CountingEmbedder\n"
        "c=florilege.open(sys.argv[1],dense=CountingEmbedder(dimensions=64))\n"
        "print([(h.source_id,h.score) for h in c.retrieve('tie',limit=30)])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "store")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = [(hit.source_id, hit.score) for hit in corpus.retrieve("tie", limit=30)]
    assert outputs == {f"{here}\n"}
