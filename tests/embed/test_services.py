"""Adapters over services, through the vendors' own libraries and a server that speaks their protocols."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import florilege
from florilege import ConfigError, Document, EmbeddingError
from florilege.embed import cohere, openai
from florilege.embed.adapters import ClientEmbedder
from florilege.interfaces.embedding import Embedder
from tests.embed.server import DIMENSIONS, Reply, Service, serving, vector

cohere_library = pytest.importorskip("cohere")
openai_library = pytest.importorskip("openai")


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as running:
        yield running


def openai_at(service: Service, **options: Any) -> ClientEmbedder:
    options = {"dimensions": DIMENSIONS, "api_key": "secret-key", "timeout": 10.0, **options}
    return openai("local-model", base_url=f"{service.url}/v1", **options)


def cohere_at(service: Service, model: str = "embed-english-v3.0", **options: Any) -> ClientEmbedder:
    return cohere(model, base_url=service.url, api_key="secret-key", timeout=10.0, **options)


Adapter = Callable[[Service], ClientEmbedder]
BOTH = pytest.mark.parametrize("adapter", [openai_at, cohere_at])


def unit(text: str) -> Any:
    row = np.array(vector(text))
    return row / np.linalg.norm(row)


def failure(status: int, headers: dict[str, str] | None = None, **error: Any) -> Reply:
    return status, headers or {}, {"error": {"message": "no", **error}, "message": "no"}


@BOTH
def test_they_are_embedders_and_tell_their_limits(service: Service, adapter: Adapter) -> None:
    embedder = adapter(service)
    assert isinstance(embedder, Embedder)
    vectors, usage = embedder.embed_many(["one", "two"])
    assert vectors.shape == (2, embedder.space.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (usage.texts, usage.calls) == (2, 1)
    assert usage.tokens > 0
    assert embedder.max_concurrency > 1
    assert embedder.embed_many([]).vectors.shape == (0, embedder.space.dimensions)
    assert len(service.requests) == 1


def test_vectors_are_sorted_by_the_answers_indexes(service: Service) -> None:
    vectors = openai_at(service).embed_many([f"text {n}" for n in range(5)]).vectors
    np.testing.assert_allclose(vectors, [unit(f"text {n}") for n in range(5)], atol=1e-6)


def test_openais_models_are_known(service: Service) -> None:
    client = openai_library.OpenAI(base_url=f"{service.url}/v1", api_key="k")
    small = openai(client=client)
    assert (small.space.dimensions, small.max_input_tokens, small.price_per_million_tokens) == (1536, 8191, 0.02)
    assert small.count_tokens("two words") == 2
    short = openai("text-embedding-3-large", dimensions=32, client=client)
    _, usage = short.embed_many(["a b c"])
    assert service.requests[-1]["dimensions"] == 32
    assert usage.cost == pytest.approx(3 * 0.13 / 1e6)
    assert usage.currency == "USD"
    assert small.space != short.space
    for options in ({"model": "text-embedding-ada-002", "dimensions": 8}, {"dimensions": 4096}, {"model": "other"}):
        with pytest.raises(ConfigError):
            openai(client=client, **options)


def test_coheres_models_are_known(service: Service) -> None:
    english = cohere_at(service)
    assert (english.space.dimensions, english.max_batch, english.languages) == (1024, 96, {"en"})
    english.embed_many(["a"], "query")
    assert service.requests[-1]["input_type"] == "search_query"
    assert service.requests[-1]["truncate"] == "NONE"
    english.embed_many(["a"])
    assert service.requests[-1]["input_type"] == "search_document"
    newest = cohere_at(service, "embed-v4.0", dimensions=256)
    assert newest.embed_many(["a"]).vectors.shape == (1, 256)
    with pytest.raises(ConfigError, match="known are"):
        cohere_at(service, "embed-v0")
    with pytest.raises(ConfigError, match="1024"):
        cohere_at(service, "embed-english-v3.0", dimensions=12)


def test_prompts_go_before_texts_by_task(service: Service) -> None:
    plain = openai_at(service)
    embedder = openai_at(service, prompts={"query": "query: ", "document": "passage: "})
    embedder.embed_many(["x"])
    embedder.embed_many(["x"], "query")
    assert [request["input"] for request in service.requests] == [["passage: x"], ["query: x"]]
    assert embedder.space != plain.space


def test_an_asynchronous_client_serves_inside_a_running_loop_too(service: Service) -> None:
    embedder = openai_at(service, client=openai_library.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="k"))

    async def handler() -> Any:
        return embedder.embed_many(["one"]).vectors

    np.testing.assert_allclose(asyncio.run(handler())[0], unit("one"), atol=1e-6)
    np.testing.assert_allclose(asyncio.run(handler())[0], unit("one"), atol=1e-6)


def test_one_text_more_than_a_call_holds(service: Service) -> None:
    service.max_batch = 100
    texts = [f"text {n}" for n in range(101)]
    vectors, usage = openai_at(service, max_batch=100).embed_many(texts)
    assert [len(request["input"]) for request in service.requests] == [100, 1]
    assert usage.calls == 2
    np.testing.assert_allclose(vectors[100], unit("text 100"), atol=1e-6)
    service.requests.clear()
    cohere_at(service).embed_many(texts)
    assert [len(request["texts"]) for request in service.requests] == [96, 5]


def test_long_input_is_windowed(service: Service) -> None:
    embedder = openai_at(service, max_input_tokens=100, tokenizer="cl100k_base")
    words = " ".join(f"word{n % 7}" for n in range(400))
    vectors, usage = embedder.embed_many([words, "short"])
    (asked,) = service.requests
    windows = asked["input"][:-1]
    assert "".join(windows) == words
    assert all(embedder.count_tokens(window) <= 100 for window in windows)
    assert usage.windowed == 1
    weights = np.array([[embedder.count_tokens(window)] for window in windows])
    mean = (np.array([unit(window) for window in windows]) * weights).sum(axis=0)
    np.testing.assert_allclose(vectors[0], mean / np.linalg.norm(mean), atol=1e-5)
    np.testing.assert_allclose(vectors[1], unit("short"), atol=1e-6)
    with pytest.raises(ConfigError, match="no room"):
        openai_at(service, max_input_tokens=9, tokenizer="cl100k_base", prompts={"document": "a b c "}).embed_many(
            [words]
        )


@BOTH
@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({}, None),
        ({"Retry-After": "soon"}, None),
    ],
)
def test_a_busy_service_says_how_long(
    service: Service, adapter: Adapter, headers: dict[str, str], wait: float | None
) -> None:
    service.replies = [failure(429, headers)]
    with pytest.raises(EmbeddingError) as caught:
        adapter(service).embed_many(["one"])
    assert (caught.value.retryable, caught.value.retry_after) == (True, wait)
    assert len(service.requests) == 1, "the library's own retries are off"


def test_a_service_may_name_a_date_or_milliseconds(service: Service) -> None:
    service.replies = [
        failure(503, {"Retry-After": formatdate(time.time() + 60, usegmt=True)}),
        failure(429, {"retry-after-ms": "1500", "Retry-After": "9"}),
    ]
    for low, high in ((50, 61), (1.5, 1.5)):
        with pytest.raises(EmbeddingError) as caught:
            openai_at(service).embed_many(["one"])
        assert low <= (caught.value.retry_after or 0) <= high


@BOTH
@pytest.mark.parametrize(("status", "retryable"), [(500, True), (503, True), (400, False), (413, False), (422, False)])
def test_failures_that_may_pass_are_told_from_those_that_will_not(
    service: Service, adapter: Adapter, status: int, retryable: bool
) -> None:
    service.replies = [failure(status)]
    with pytest.raises(EmbeddingError, match=str(status)) as caught:
        adapter(service).embed_many(["a private text"])
    assert caught.value.retryable is retryable
    assert "private" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert len(service.requests) == 1


@BOTH
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_is_a_matter_of_configuration(service: Service, adapter: Adapter, status: int) -> None:
    service.replies = [failure(status)]
    with pytest.raises(ConfigError) as caught:
        adapter(service).embed_many(["one"])
    assert caught.value.code == "refused"


def test_a_spent_quota_is_not_waited_for(service: Service) -> None:
    service.replies = [failure(429, {"Retry-After": "1"}, code="insufficient_quota", type="insufficient_quota")]
    with pytest.raises(ConfigError, match="quota"):
        openai_at(service).embed_many(["one"])


@BOTH
def test_a_server_that_is_gone_may_come_back(adapter: Adapter) -> None:
    with serving() as service:
        embedder = adapter(service)
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed_many(["one"])
    assert caught.value.retryable


def _openai_broken(kind: str) -> Callable[[dict[str, Any]], Any]:
    def change(body: dict[str, Any]) -> Any:
        data = body["data"]
        if kind == "few":
            data.pop()
        elif kind == "twice":
            data[0]["index"] = data[1]["index"]
        elif kind == "short":
            data[0]["embedding"].pop()
        elif kind == "zero":
            data[0]["embedding"] = [0.0] * DIMENSIONS
        elif kind == "nan":
            data[0]["embedding"][0] = float("nan")
        elif kind == "text":
            data[0]["embedding"] = ["a"] * DIMENSIONS
        elif kind == "empty":
            return {"object": "list", "data": [], "model": "m", "usage": {"prompt_tokens": 0, "total_tokens": 0}}
        else:
            return b"<html>oops</html>"
        return body

    return change


@pytest.mark.parametrize("kind", ["few", "twice", "short", "zero", "nan", "text", "empty", "html"])
def test_malformed_answers_are_refused(service: Service, kind: str) -> None:
    service.change = _openai_broken(kind)
    with pytest.raises(EmbeddingError) as caught:
        openai_at(service).embed_many(["one", "two"])
    assert not caught.value.retryable


@pytest.mark.parametrize("kind", ["few", "short", "none"])
def test_malformed_answers_of_the_other_protocol_are_refused(service: Service, kind: str) -> None:
    def change(body: dict[str, Any]) -> Any:
        rows = body["embeddings"]["float"]
        if kind == "few":
            rows.pop()
        elif kind == "short":
            rows[0].pop()
        else:
            body["embeddings"] = {}
        return body

    service.change = change
    with pytest.raises(EmbeddingError):
        cohere_at(service).embed_many(["one", "two"])


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        openai()


# -- in a corpus ------------------------------------------------------------------------------------------------------


def docs(count: int) -> list[Document]:
    return [Document(source_id=f"d{n:03}", content=f"text number {n}") for n in range(count)]


def test_a_corpus_waits_as_long_as_it_is_asked_to(service: Service, tmp_path: Path) -> None:
    service.replies = [failure(429, {"Retry-After": "0.3"}), failure(500)]
    embedder = openai_at(service, max_concurrency=1)
    with florilege.open(tmp_path / "s", dense=embedder) as corpus:
        started = time.monotonic()
        result = corpus.sync(docs(3))
        assert (result.added, result.embedded) == (3, 3)
        assert time.monotonic() - started >= 1.3  # 0.3 as asked, then the second pause of our own
        assert corpus.retrieve("text number 2", mode="dense")[0].source_id == "d002"
    assert len(service.requests) == 4


def test_a_poisoned_text_is_found_among_many(service: Service, tmp_path: Path) -> None:
    service.poison = "number 17"
    with florilege.open(tmp_path / "s", dense=openai_at(service)) as corpus:
        result = corpus.sync(docs(40))
    assert (result.added, result.failed) == (39, 1)
    assert [source.source_id for source in result.sources if source.action == "failed"] == ["d017"]


def test_a_refused_key_ends_the_sync_at_once(service: Service, tmp_path: Path) -> None:
    service.replies = [failure(401)] * 50
    with florilege.open(tmp_path / "s", dense=openai_at(service, max_batch=4)) as corpus, pytest.raises(ConfigError):
        corpus.sync(docs(40))
    assert len(service.requests) <= 4


def test_batches_go_out_side_by_side(service: Service, tmp_path: Path) -> None:
    service.slow = threading.Barrier(3)  # answers only when three requests are there together
    embedder = openai_at(service, max_batch=10, max_concurrency=3)
    with florilege.open(tmp_path / "s", dense=embedder) as corpus:
        result = corpus.sync(docs(60))
        assert (result.added, result.embedded, result.failed) == (60, 60, 0)
        assert len(service.requests) == 6
        for number in (0, 31, 59):
            assert corpus.retrieve(f"text number {number}", mode="lexical", limit=60)
        vectors = {hit.source_id: corpus.chunks(hit.source_id, vectors=True)[0].embedding for hit in _all(corpus)}
        for source_id, found in vectors.items():
            np.testing.assert_allclose(found, unit(f"text number {int(source_id[1:])}"), atol=2e-3)
        service.slow = None
        again = corpus.sync(docs(60))
        assert (again.unchanged, again.embedded) == (60, 0)


def _all(corpus: florilege.Corpus) -> list[florilege.Hit]:
    return corpus.retrieve("text number", mode="lexical", limit=100)


def test_a_dry_run_tells_the_price(service: Service, tmp_path: Path) -> None:
    embedder = openai_at(service, tokenizer="cl100k_base", price_per_million_tokens=2.0, currency="EUR")
    with florilege.open(tmp_path / "s", dense=embedder) as corpus:
        result = corpus.sync(docs(10), dry_run=True)
    assert service.requests == []
    assert result.usage.cost == pytest.approx(result.usage.tokens * 2e-6)
    assert result.usage.currency == "EUR"
    assert result.usage.tokens >= 30
