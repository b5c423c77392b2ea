"""Sparse vectors at write time: beside dense ones or alone, before or after publication, added later, moved."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import florilege
from florilege import Chunk, Document
from florilege.corpus import Corpus
from florilege.embed import bm25_weights
from florilege.indexing.embedding import Embedding
from florilege.interfaces import Embeddings, SparseEmbeddings
from florilege.testing import CountingEmbedder

DOCS = [
    Document(source_id=name, content=text)
    for name, text in (
        ("a", "red apples and green apples"),
        ("b", "green pears"),
        ("c", "a red plum"),
        ("d", "the blue whale swims"),
    )
]


class CountingSparse:
    """BM25 weights that count what was asked, and fail on demand."""

    def __init__(self, *, fail_on: str | None = None, **options: float) -> None:
        self._inner = bm25_weights(**options)
        self.space = self._inner.space
        self.max_input_tokens = None
        self.max_batch = 2
        self.fail_on = fail_on
        self.texts: list[str] = []

    def embed_many(self, texts: Sequence[str], task: str = "document") -> SparseEmbeddings:
        if task == "document":
            if self.fail_on is not None and any(self.fail_on in text for text in texts):
                raise florilege.EmbeddingError("planned")
            self.texts += texts
        return self._inner.embed_many(texts, task)  # type: ignore[arg-type]


def legs(corpus: Corpus, question: str, **options: Any) -> dict[str, set[str]]:
    return {hit.source_id: {leg.leg for leg in hit.provenance.legs} for hit in corpus.retrieve(question, **options)}


def test_sparse_alone(opened: Callable[..., Corpus]) -> None:
    corpus = opened(dense=None, sparse=bm25_weights())
    result = corpus.sync(DOCS)
    assert (result.added, result.embedded, result.pending) == (4, 4, 0)
    assert [hit.source_id for hit in corpus.retrieve("apples", mode="sparse")] == ["a"]
    assert legs(corpus, "red apples", mode="sparse") == {"a": {"sparse"}, "c": {"sparse"}}
    assert legs(corpus, "red apples") == {"a": {"lexical", "sparse"}, "c": {"lexical", "sparse"}}
    weights = corpus.chunks("b", vectors=True)[0].sparse_embedding
    assert weights is not None
    assert len(weights) == 2
    assert corpus.stats()["sparse_space"] == bm25_weights().space.identity
    with pytest.raises(florilege.ConfigError, match="dense"):
        corpus.retrieve("apples", mode="dense")


def test_all_three_legs(opened: Callable[..., Corpus], embedder: CountingEmbedder) -> None:
    corpus = opened(sparse=bm25_weights())
    result = corpus.sync(DOCS)
    assert (result.embedded, embedder.texts_embedded) == (8, 4)
    assert legs(corpus, "red apples")["a"] == {"lexical", "dense", "sparse"}
    assert legs(corpus, "red apples")["d"] == {"dense"}
    kinds = [(stage.name, stage.kind) for stage in corpus.get_source("a").stages if stage.kind == "embedding"]
    assert kinds == [("counting", "embedding"), ("bm25-weights", "embedding")]
    dry = corpus.sync([Document(source_id="e", content="a new text")], dry_run=True)
    assert (dry.embedded, dry.reused) == (2, 0)


def test_each_text_is_paid_once_in_each_space(opened: Callable[..., Corpus], embedder: CountingEmbedder) -> None:
    sparse = CountingSparse()
    corpus = opened(sparse=sparse)
    corpus.sync(DOCS)
    assert corpus.sync(DOCS).embedded == 0
    corpus.sync([Document(source_id="b", content="green pears", metadata={"year": 2024})])
    corpus.sync([Document(source_id="e", content="green pears")])
    assert len(sparse.texts) == len(set(sparse.texts)) == 4
    assert embedder.texts_embedded == 4
    assert {hit.source_id for hit in corpus.retrieve("pears", mode="sparse")} == {"b", "e"}
    assert [hit.source_id for hit in corpus.retrieve("pears", mode="sparse", filter={"year": 2024})] == ["b"]


def test_a_text_that_fails_in_one_space_keeps_its_source_out(opened: Callable[..., Corpus]) -> None:
    corpus = opened(sparse=CountingSparse(fail_on="whale"))
    result = corpus.sync(DOCS)
    assert (result.added, result.failed) == (3, 1)
    assert corpus.retrieve("whale", mode="lexical") == []
    assert opened(sparse=CountingSparse()).sync(DOCS).added == 1


def test_vectors_may_come_after_publication(opened: Callable[..., Corpus]) -> None:
    flaky = CountingSparse(fail_on="whale")
    corpus = opened(sparse=flaky)
    result = corpus.sync(DOCS, embed="after")
    assert (result.added, result.pending) == (4, 1)
    assert legs(corpus, "blue whale")["d"] == {"lexical", "dense"}
    flaky.fail_on = None
    again = corpus.sync(DOCS, embed="after")
    assert (again.unchanged, again.pending, again.embedded) == (4, 0, 1)
    assert legs(corpus, "blue whale")["d"] == {"lexical", "dense", "sparse"}


def test_a_leg_can_be_added_without_chunking_or_embedding_again(
    opened: Callable[..., Corpus], embedder: CountingEmbedder
) -> None:
    opened().sync(DOCS)
    corpus = opened(sparse=bm25_weights())
    result = corpus.sync(DOCS)
    assert (result.changed, result.embedded, embedder.texts_embedded) == (4, 4, 4)
    assert {source.reason for source in result.sources} == {"index:sparse_embedder"}
    assert [record.generation for record in corpus.history("a") if record.state == "active"] == [1]
    assert legs(corpus, "red plum")["c"] == {"lexical", "dense", "sparse"}
    without = opened().sync(DOCS)
    assert without.unchanged == 4, "an indexer without a sparse embedder leaves the vectors there are alone"
    assert legs(opened(sparse=bm25_weights()), "red plum")["c"] == {"lexical", "dense", "sparse"}


def test_another_space_is_refused_and_can_be_moved_to(opened: Callable[..., Corpus]) -> None:
    corpus = opened(sparse=bm25_weights())
    corpus.sync(DOCS)
    other = bm25_weights(k1=1.5)
    with pytest.raises(florilege.ConfigError) as caught:
        opened(sparse=other).sync(DOCS)
    assert caught.value.code == "space_mismatch"
    moved = corpus.migrate_embeddings(other, queries=["red apples"])
    assert (moved.switched, moved.embedded, moved.old) == (True, 4, bm25_weights().space.identity)
    assert moved.overlap == 1.0
    assert corpus.sync(DOCS).unchanged == 4
    assert legs(corpus, "red plum")["c"] == {"lexical", "dense", "sparse"}
    assert corpus.data.bound_space("default") is not None


def test_index_chunks_and_generations_carry_both(opened: Callable[..., Corpus]) -> None:
    corpus = opened(sparse=bm25_weights())
    result = corpus.indexer.index_chunks([Chunk(source_id="x", content="yellow quince", chunk_id="x1")])
    assert (result.dense_count, result.sparse_count) == (1, 1)
    corpus.sync([Document(source_id="y", content="first text")])
    corpus.sync([Document(source_id="y", content="second text")])
    corpus.rollback("y", 1)
    assert [hit.content for hit in corpus.retrieve("first", mode="sparse")] == ["first text"]
    assert corpus.retrieve("second", mode="sparse") == []
    assert corpus.retrieve("quince", mode="sparse")[0].chunk_id == "x1"


def test_embedders_go_where_they_belong(opened: Callable[..., Corpus]) -> None:
    for options in ({"dense": bm25_weights()}, {"dense": None, "sparse": CountingEmbedder()}):
        with pytest.raises(florilege.ConfigError, match="not an embedder of that kind"):
            opened(**options)


# -- several batches at once ------------------------------------------------------------------------------------------


class Parallel(CountingEmbedder):
    """Counts how many calls run together; the earlier ones take longer."""

    max_concurrency = 4

    def __init__(self, **options: Any) -> None:
        super().__init__(dimensions=16, max_batch=3, **options)
        self.running = self.most = 0
        self._guard = threading.Lock()

    def embed_many(self, texts: Sequence[str], task: str = "document") -> Embeddings:
        with self._guard:
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(0.02 if self.calls < 4 else 0.001)
        try:
            return super().embed_many(texts, task)  # type: ignore[arg-type]
        finally:
            with self._guard:
                self.running -= 1


def texts_of(count: int) -> list[Document]:
    return [Document(source_id=f"t{n:02}", content=f"text number {n}") for n in range(count)]


def test_order_of_arrival_does_not_matter(opened: Callable[..., Corpus], tmp_path: Any) -> None:
    embedder = Parallel()
    corpus = opened(dense=embedder)
    result = corpus.sync(texts_of(40))
    assert (result.embedded, embedder.texts_embedded) == (40, 40)
    assert 2 <= embedder.most <= 4
    alone = florilege.open(tmp_path / "alone", dense=CountingEmbedder(dimensions=16))
    with alone:
        alone.sync(texts_of(40))
        for document in texts_of(40):
            (ours,), (theirs,) = (each.chunks(document.source_id, vectors=True) for each in (corpus, alone))
            assert ours.embedding == theirs.embedding


def test_poison_is_isolated_among_batches_that_run_together(opened: Callable[..., Corpus]) -> None:
    result = opened(dense=Parallel(fail_on=lambda text: text.endswith(("7", "20")))).sync(texts_of(30))
    failed = sorted(source.source_id for source in result.sources if source.action == "failed")
    assert failed == ["t07", "t17", "t20", "t27"]
    assert result.added == 26


def test_an_error_that_ends_the_work_leaves_what_was_paid(opened: Callable[..., Corpus]) -> None:
    class Refused(Parallel):
        def embed_many(self, texts: Sequence[str], task: str = "document") -> Embeddings:
            if self.texts_embedded >= 9:
                raise florilege.ConfigError("the key is spent", code="refused")
            return super().embed_many(texts, task)

    embedder = Refused()
    corpus = opened(dense=embedder)
    with pytest.raises(florilege.ConfigError, match="spent"):
        corpus.sync(texts_of(60))
    healthy = Parallel()
    assert opened(dense=healthy).sync(texts_of(60)).added == 60
    assert healthy.texts_embedded == 60 - embedder.texts_embedded


def test_a_service_that_is_down_is_not_asked_text_by_text(corpus: Corpus) -> None:
    embedder = CountingEmbedder(dimensions=16, max_batch=64, fail_on=lambda text: True, retryable=True)
    pauses: list[float] = []
    embedding = Embedding(corpus.data, "default", embedder, pause=pauses.append)
    filled = embedding.fill({embedding.key(str(number)): str(number) for number in range(64)})
    assert (len(filled.failures), filled.embedded) == (64, 0)
    assert embedder.calls < 20
    assert pauses == [0.5, 1.0, 2.0]


def test_a_cancelled_sync_does_not_sit_out_a_long_wait(opened: Callable[..., Corpus]) -> None:
    class Limited(CountingEmbedder):
        def embed_many(self, texts: Sequence[str], task: str = "document") -> Embeddings:
            error = florilege.EmbeddingError("busy", retryable=True)
            error.retry_after = 60.0
            raise error

    started = time.monotonic()
    result = opened(dense=Limited(dimensions=16)).sync(texts_of(2), deadline=0.5)
    assert result.incomplete
    assert time.monotonic() - started < 10
