"""Embedding across sources: limits, retries, isolation, what is paid once and what a failure leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import florilege
from florilege import Document
from florilege.corpus import Corpus
from florilege.indexing.embedding import Embedding
from florilege.interfaces import Embeddings
from florilege.model.events import Event
from florilege.testing import CountingEmbedder


def docs(count: int, start: int = 0) -> list[Document]:
    return [Document(source_id=f"d{n:03}", content=f"text number {n}") for n in range(start, start + count)]


class Limited(CountingEmbedder):
    """Refuses more than 100 texts a call, as many services do."""

    def embed_many(self, texts: Sequence[str], task: str = "document") -> Embeddings:
        if len(texts) > 100:
            raise florilege.EmbeddingError("at most 100 texts")
        return super().embed_many(texts, task)  # type: ignore[arg-type]


def test_batches_obey_the_declared_limit_across_sources(opened: Callable[..., Corpus]) -> None:
    embedder = Limited(dimensions=16, max_batch=100)
    result = opened(dense=embedder).sync(docs(101))
    assert (result.added, result.embedded, embedder.calls) == (101, 101, 2)


def test_a_wrong_limit_is_survived_by_halving(opened: Callable[..., Corpus]) -> None:
    assert opened(dense=Limited(dimensions=16, max_batch=1000)).sync(docs(60)).added == 60
    embedder = Limited(dimensions=16, max_batch=1000)
    text = "\n\n".join(f"# H{n}\n\nParagraph number {n} of many, all different." for n in range(150))
    one = Document(source_id="long.md", content=text)
    result = opened(dense=embedder, namespace="two").sync([one], chunking={"max_chars": 60, "overlap_chars": 0})
    assert result.failed == 0
    assert result.embedded >= 150


@pytest.mark.parametrize("kind", ["zero", "nan", "short", "few"])
def test_vectors_are_checked_before_they_are_kept(opened: Callable[..., Corpus], kind: str) -> None:
    class Broken(CountingEmbedder):
        def embed_many(self, texts: Sequence[str], task: str = "document") -> Embeddings:
            vectors, usage = super().embed_many(texts, task)  # type: ignore[arg-type]
            vectors = np.array(vectors)
            if kind == "zero":
                vectors[0] = 0
            elif kind == "nan":
                vectors[0, 0] = np.nan
            elif kind == "short":
                vectors = vectors[:, :-1]
            else:
                vectors = vectors[:-1]
            return Embeddings(np.ascontiguousarray(vectors), usage)

    corpus = opened(dense=Broken(dimensions=16))
    result = corpus.sync(docs(1))
    assert result.failed == 1
    assert result.sources[0].error is not None
    assert corpus.retrieve("text", mode="lexical") == []
    assert corpus.data.stats("default")["active_sources"] == 0


def test_paid_batches_survive_a_failure(opened: Callable[..., Corpus], tmp_path: Path) -> None:
    """The first and third call answer, the second is limited for good: a rerun embeds only what is missing."""
    flaky = CountingEmbedder(dimensions=16, max_batch=4, fail_on=lambda text: text.endswith(("5", "6")))
    corpus = opened(dense=flaky)
    result = corpus.sync(docs(12))
    assert sorted(s.source_id for s in result.sources if s.action == "failed") == ["d005", "d006"]
    healthy = CountingEmbedder(dimensions=16, max_batch=4)
    again = opened(dense=healthy).sync(docs(12))
    assert (again.added, again.unchanged, healthy.texts_embedded) == (2, 10, 2)


def test_retryable_failures_are_tried_again_after_what_they_ask(corpus: Corpus) -> None:
    embedder = CountingEmbedder(dimensions=16, fail_calls={1, 2}, retryable=True)
    pauses: list[float] = []
    embedding = Embedding(corpus.data, "default", embedder, pause=pauses.append)
    filled = embedding.fill({embedding.key("a text"): "a text"})
    assert (filled.embedded, filled.failures, pauses) == (1, {}, [0.5, 1.0])


def test_a_limit_that_does_not_lift_fails_the_text_and_keeps_the_source_out(corpus: Corpus) -> None:
    embedder = CountingEmbedder(dimensions=16, fail_calls=range(1, 100), retryable=True)
    pauses: list[float] = []
    embedding = Embedding(corpus.data, "default", embedder, pause=pauses.append)
    filled = embedding.fill({embedding.key(text): text for text in ("one", "two")})
    assert (filled.embedded, len(filled.failures)) == (0, 2)
    assert corpus.data.missing_vectors(embedder.space, [embedding.key("one")])


def test_equal_texts_are_paid_once(corpus: Corpus, embedder: CountingEmbedder) -> None:
    corpus.sync([Document(source_id=f"d{n}", content="the very same text") for n in range(30)])
    assert embedder.texts_embedded == 1
    assert len(corpus.retrieve("same", mode="dense", limit=50)) == 30


def test_namespaces_do_not_share_vectors_unless_told(tmp_path: Path) -> None:
    embedder = CountingEmbedder(dimensions=16)
    for namespace in ("one", "two"):
        with florilege.open(tmp_path / "s", namespace, dense=embedder) as corpus:
            corpus.sync(docs(3))
    assert embedder.texts_embedded == 6


def test_metadata_of_every_kind_round_trips(corpus: Corpus) -> None:
    when = datetime(2026, 2, 3, 4, 5, 6, 7, tzinfo=UTC)
    metadata = {"tags": ["a", "b"], "page": None, "when": when, "nested": {"x": [1, 2.5, True]}, "1": 1, "1.0": 1.0}
    corpus.sync([Document(source_id="a", content="alpha", metadata=metadata)])
    (chunk,) = corpus.chunks("a")
    assert chunk.metadata == metadata
    assert {key: type(value) for key, value in chunk.metadata.items()} == {k: type(v) for k, v in metadata.items()}
    assert len(corpus.retrieve("alpha", filter=florilege.F("tags").contains("b"))) == 1
    assert len(corpus.retrieve("alpha", filter=florilege.F("when") >= datetime(2026, 2, 3, tzinfo=UTC))) == 1


def test_the_synchronous_verbs_work_inside_a_running_loop_again_and_again(corpus: Corpus) -> None:
    async def handler() -> int:
        corpus.sync(docs(3))
        loop = asyncio.get_running_loop()
        found = [await loop.run_in_executor(None, lambda: len(corpus.retrieve("text"))) for _ in range(2)]
        return sum(found) + len(corpus.retrieve("text"))

    assert asyncio.run(handler()) == 9
    assert asyncio.run(handler()) == 9


async def arriving(documents: Sequence[Document], *, broken: bool = False) -> AsyncIterator[Document]:
    for document in documents:
        await asyncio.sleep(0)
        yield document
    if broken:
        raise RuntimeError("the feed broke off")


def test_documents_may_arrive_from_an_async_iterable(corpus: Corpus) -> None:
    assert corpus.sync(arriving(docs(3)), source_set="complete").added == 3
    assert corpus.indexer.index_documents(arriving(docs(4))).source_count == 4

    async def handler() -> int:
        return corpus.sync(arriving(docs(5)[2:]), source_set="complete", stale="delete").deleted

    assert asyncio.run(handler()) == 2


def test_an_async_feed_that_breaks_off_deletes_nothing(corpus: Corpus) -> None:
    corpus.sync(docs(3))
    with pytest.raises(RuntimeError, match="broke off"):
        corpus.sync(arriving(docs(1), broken=True), source_set="complete", stale="delete")
    assert len(corpus.retrieve("text", mode="lexical")) == 3


def test_a_rate_limited_queue_goes_on_next_time(opened: Callable[..., Corpus]) -> None:
    flaky = CountingEmbedder(dimensions=16, max_batch=4, fail_on=lambda text: text.endswith("7"))
    result = opened(dense=flaky).sync(docs(10), embed="after")
    assert (result.added, result.pending) == (10, 1)
    assert len(opened(dense=flaky).retrieve("text number 7", mode="lexical", limit=20)) == 10
    healthy = CountingEmbedder(dimensions=16)
    again = opened(dense=healthy).sync(docs(10))
    assert (again.unchanged, again.pending, healthy.texts_embedded) == (10, 0, 1)


def test_waiting_chunks_are_embedded_without_the_sources(opened: Callable[..., Corpus]) -> None:
    flaky = CountingEmbedder(dimensions=16, max_batch=4, fail_on=lambda text: text.endswith("7"))
    first = opened(dense=flaky)
    first.sync(docs(10), embed="after")
    told = first.embed()
    assert (told.embedded, told.waiting) == (0, 1)
    healthy = CountingEmbedder(dimensions=16)
    events: list[Event] = []
    told = opened(dense=healthy).embed(on_event=events.append)
    assert (told.embedded, told.waiting, told.usage.texts) == (1, 0, 1)
    assert [(event.kind, event.operation) for event in events] == [("corpus.embed.progress", "embed")]
    assert healthy.texts == ["text number 7"]
    with pytest.raises(florilege.ConfigError) as error:
        opened(dense=None).embed()
    assert error.value.code == "no_embedder"
