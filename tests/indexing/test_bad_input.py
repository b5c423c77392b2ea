"""Bad input fails its own source, by name, and nothing else."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import florilege
from florilege import Document, F
from florilege.corpus import Corpus


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"inside": value}
    return value


def around() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


BAD: list[dict[str, Any]] = [
    {"revision": 4},
    {"reader": 4},
    {"title": 4},
    {"media_type": 4},
    {"uri": 4},
    {"content": None},
    {"content": b"bytes"},
    {"metadata": None},
    {"metadata": ["list"]},
    {"metadata": {"deep": nested(600)}},
    {"metadata": around()},
    {"metadata": {"n": float("nan")}},
    {"metadata": {"big": 2**64}},
    {"metadata": {4: "key"}},
    {"parts": None},
    {"parts": ("no part",)},
    {"source_id": 4},
    {"source_id": ""},
    {"source_id": "half \ud800"},
    {"source_id": "nul\x00"},
    {"metadata": {"year": "2020"}},
]


@pytest.mark.parametrize("fields", BAD, ids=[next(iter(fields)) for fields in BAD])
def test_one_bad_document_fails_alone(opened: Callable[..., Corpus], fields: dict[str, Any]) -> None:
    corpus = opened(fields={"year": int})
    bad = Document(**{"source_id": "bad", "content": "something", **fields})
    for _ in range(2):
        result = corpus.sync([Document(source_id="a", content="alpha"), bad, Document(source_id="c", content="gamma")])
        assert [source.action for source in result.sources if source.source_id in ("a", "c")] in (
            ["added", "added"],
            ["unchanged", "unchanged"],
        )
        assert result.failed == 1
    assert {row.source_id for row in corpus.list_sources(status="indexed")[0]} == {"a", "c"}
    assert corpus.verify().ok
    mended = corpus.sync([Document(source_id="bad", content="something")])
    assert mended.added == 1


def test_an_indexer_refuses_what_a_sync_records(corpus: Corpus) -> None:
    with pytest.raises(florilege.ConfigError, match="revision"):
        corpus.indexer.index_documents([Document(source_id="a", content="x", revision=4)])  # type: ignore[arg-type]
    with pytest.raises(florilege.ConfigError, match="source id"):
        corpus.indexer.index_documents([Document(source_id="", content="x")])


@pytest.mark.parametrize("namespace", ["t\x00x", "t\ud800x", "", "  "])
def test_namespaces_are_kept_as_they_are_or_refused(opened: Callable[..., Corpus], namespace: str) -> None:
    with pytest.raises(florilege.ConfigError, match="namespace"):
        opened(namespace=namespace)


def test_filters_of_any_shape_answer_or_say_why(corpus: Corpus) -> None:
    corpus.sync([Document(source_id="a", content="alpha")])
    deep = F("x") == 1
    for _ in range(2000):
        deep = ~deep
    with pytest.raises(florilege.ConfigError, match="64 levels"):
        corpus.retrieve("alpha", filter=deep)
    with pytest.raises(florilege.ConfigError, match="names no field"):
        F(1)  # type: ignore[arg-type]


def test_closing_waits_for_a_sync_and_leaves_no_lease(opened: Callable[..., Corpus]) -> None:
    corpus = opened()
    started = threading.Event()
    results: list[florilege.SyncResult] = []

    def endless() -> Iterator[Document]:
        number = 0
        while True:
            number += 1
            started.set()
            time.sleep(0.001)
            yield Document(source_id=f"d{number}", content=f"text {number}")

    thread = threading.Thread(target=lambda: results.append(corpus.sync(endless())))
    thread.start()
    started.wait()
    corpus.close()
    thread.join(10)
    assert not thread.is_alive()
    assert results[0].incomplete
    assert opened().sync([Document(source_id="a", content="alpha")]).added == 1


def test_a_store_removed_while_open_takes_no_more_writes(opened: Callable[..., Corpus], tmp_path: Path) -> None:
    corpus = opened()
    corpus.sync([Document(source_id="a", content="alpha")])
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(florilege.StoreError) as caught:
        corpus.sync([Document(source_id="b", content="beta")])
    assert caught.value.code == "store_gone"


def test_a_very_long_question_costs_what_a_long_one_does(corpus: Corpus) -> None:
    corpus.sync([Document(source_id="a", content="hello alpha")])
    assert corpus.indexer.dense is not None
    corpus.retrieve("hello " * 200_000, mode="dense")
    assert len(corpus.indexer.dense.texts[-1]) == 4000  # type: ignore[attr-defined]
