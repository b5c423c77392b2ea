"""Contexts: items with a schema, cut by an operation, kept in a corpus."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import florilege
from florilege.contexts import ChunkerResponse, Context, Field, ItemChunk, default_chunker
from florilege.contexts.chunking import document_of, item_of
from florilege.model.errors import ConfigError
from florilege.split import SentenceChunker
from florilege.stores import open_store
from florilege.testing import CountingEmbedder

FIELDS = [
    Field(name="title", type="text", required=True),
    {"name": "document", "type": "file", "allowed_file_types": [".pdf", ".txt"]},
    Field(name="content", type="longtext"),
    Field(name="price", type="number"),
    Field(name="open", type="boolean"),
    Field(name="due", type="date"),
    Field(name="extra", type="json"),
    Field(name="state", type="enum", values=("new", "old")),
]


def context(path: Path, **options: Any) -> Context:
    chosen: dict[str, Any] = {"id": "docs", "embedder": None, "fields": FIELDS, "data": path / "store"}
    return Context(**{**chosen, **options})


def chunks(made: Context, item_id: str) -> list[str]:
    return [chunk.content for chunk in made.corpus.chunks(item_id)]


def test_items_are_indexed_searched_replaced_and_deleted(tmp_path: Path) -> None:
    items = [
        {"id": "1", "title": "Returns", "name": "Refund policy", "content": "Refunds take fourteen days.", "price": 3},
        {"id": "2", "title": "Care", "content": "Oil the wood in spring.", "price": 9.5, "due": "2024-02-29"},
    ]
    with context(tmp_path) as docs:
        assert docs.upsert_items(items).added == 2
        (hit,) = docs.retrieve("refunds")
        assert (hit.source_id, hit.title) == ("1", "Refund policy")
        assert hit.content == "Refund policy\n\nRefunds take fourteen days."
        assert hit.metadata["title"] == "Returns"
        (span,) = hit.provenance.source_spans
        assert (span.start, span.end) == (0, len(hit.content))
        assert [found.source_id for found in docs.retrieve("days wood", filter={"price": {"gt": 5}})] == ["2"]
        assert [found.source_id for found in docs.retrieve("wood", filter=florilege.F("due") >= date(2024, 2, 29))] == [
            "2"
        ]
        assert docs.upsert_items(items).unchanged == 2
        changed = docs.upsert_items([{**items[0], "content": "Refunds take ten days."}])
        assert changed.changed == 1
        assert docs.delete_items(["1", "none"]) == 1
        assert docs.retrieve("refunds") == []
        assert docs.delete_items("1") == 0
    with context(tmp_path) as again:
        assert [found.source_id for found in again.retrieve("wood")] == ["2"]


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ({"title": "x"}, "id is a text"),
        ({"id": " ", "title": "x"}, "id is a text"),
        ({"id": "1"}, "field 'title' is required"),
        ({"id": "1", "title": None}, "field 'title' is required"),
        ({"id": "1", "title": 5}, "field 'title': a int is not text"),
        ({"id": "1", "title": "x", "colour": "red"}, "field 'colour' is not one of"),
        ({"id": "1", "title": "x", "price": "5"}, "field 'price': '5' is not a finite number"),
        ({"id": "1", "title": "x", "price": True}, "field 'price'"),
        ({"id": "1", "title": "x", "price": float("nan")}, "field 'price'"),
        ({"id": "1", "title": "x", "open": 1}, "field 'open'"),
        ({"id": "1", "title": "x", "due": "yesterday"}, "field 'due'"),
        ({"id": "1", "title": "x", "extra": {"a": object()}}, "field 'extra'"),
        ({"id": "1", "title": "x", "state": "odd"}, "field 'state': 'odd' is not one of new, old"),
        ({"id": "1", "title": "x", "document": "a.exe"}, "field 'document': 'a.exe' is not a file of type .pdf, .txt"),
        ({"id": "1", "title": "x", "content": 7}, "field 'content'"),
    ],
)
def test_an_item_that_does_not_fit_is_refused_by_field(tmp_path: Path, item: dict[str, Any], told: str) -> None:
    with context(tmp_path) as docs:
        with pytest.raises(ConfigError, match=told.replace("(", r"\(")) as failure:
            docs.upsert_items([{"id": "good", "title": "x"}, item])
        assert failure.value.code == "bad_item"
        assert docs.corpus.list_sources()[0] == []


@pytest.mark.parametrize(
    "field",
    [
        {"name": "id"},
        {"name": "two words"},
        {"name": "x", "type": "colour"},
        {"name": "x", "type": "enum"},
        {"name": "x", "values": ["a"]},
        {"name": "x", "allowed_file_types": [".pdf"]},
        {"name": "x", "type": "file", "allowed_file_types": ["pdf"]},
        {"name": "content", "type": "number"},
        {"name": "x", "size": 3},
        {"type": "text"},
        "x",
    ],
)
def test_fields_are_checked_when_the_context_is_made(field: Any) -> None:
    with pytest.raises(ConfigError):
        Context(id="x", embedder=None, fields=[field])
    with pytest.raises(ConfigError):
        Context(id="x", embedder=None, fields=[Field(name="a"), {"name": "a"}])


def my_chunker(item: Any, max_chunk_size: int, utils: Any) -> ChunkerResponse:
    """The seed's example: a file where there is one, else name and content, in sentences with overlap."""
    if item.get("document_key"):
        text = utils.storage.read(str(item["document_key"])).decode("utf-8")
    else:
        text = "\n\n".join(filter(None, [item["name"], item["content"]]))
    pieces = (
        SentenceChunker(chunk_size=max_chunk_size, chunk_overlap=max_chunk_size // 10)(text) if text.strip() else []
    )
    contents = [piece.text.strip() for piece in pieces if piece.text.strip()]
    return ChunkerResponse(
        item=item,
        chunks=tuple(
            ItemChunk(content=content, index=index, metadata={"budget": max_chunk_size})
            for index, content in enumerate(contents)
        ),
    )


async def my_async_chunker(item: Any, max_chunk_size: int, utils: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    response = my_chunker(item, max_chunk_size, utils)
    return {"item": item, "chunks": [dataclasses.asdict(chunk) for chunk in response.chunks]}


@pytest.mark.parametrize("operation", [my_chunker, my_async_chunker])
def test_an_operation_reads_files_through_the_storage(tmp_path: Path, operation: Any) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files/a.txt").write_text("The file speaks of turbines.")
    embedder = CountingEmbedder(dimensions=8, max_input_tokens=40)
    options = {"chunker": operation, "storage": tmp_path / "files", "embedder": embedder}
    with context(tmp_path, **options) as docs:
        docs.upsert_items(
            [{"id": "1", "title": "t", "document": "a.txt"}, {"id": "2", "title": "t", "content": "Plain."}]
        )
        assert chunks(docs, "1") == ["The file speaks of turbines."]
        assert chunks(docs, "2") == ["Plain."]
        (chunk,) = docs.corpus.chunks("1")
        assert chunk.metadata["budget"] == 40
        assert chunk.metadata["document_key"] == "a.txt"
        assert chunk.provenance.confidence == "derived"
        lost = docs.upsert_items([{"id": "3", "title": "t", "document_key": "../../etc/passwd.txt"}])
        assert lost.failed == 1
        assert docs.retrieve("turbines")[0].source_id == "1"


def test_an_operation_works_inside_a_running_loop(tmp_path: Path) -> None:
    async def inside() -> int:
        with context(tmp_path, chunker=my_async_chunker) as docs:
            return docs.upsert_items([{"id": "1", "title": "t", "content": "Words."}]).added

    assert asyncio.run(inside()) == 1


@pytest.mark.parametrize(
    "answer",
    [
        lambda item: {"item": {**item, "id": "other"}, "chunks": []},
        lambda item: {"item": item, "chunks": [{"content": "a", "index": 1}]},
        lambda item: {"item": item, "chunks": [{"content": " ", "index": 0}]},
        lambda item: None,
        lambda item: 1 / 0,
    ],
)
def test_an_answer_that_cannot_be_used_fails_its_item_only(tmp_path: Path, answer: Any) -> None:
    def operation(item: Any, max_chunk_size: int, utils: Any) -> Any:
        return answer(item) if item["id"] == "bad" else default_chunker(item, max_chunk_size, utils)

    with context(tmp_path, chunker=operation) as docs:
        result = docs.upsert_items([{"id": id_, "title": "t", "content": "words"} for id_ in ("bad", "good")])
        assert {source.source_id: source.action for source in result.sources} == {"bad": "failed", "good": "added"}


def test_nul_is_taken_out_at_any_depth(tmp_path: Path) -> None:
    def operation(item: Any, max_chunk_size: int, utils: Any) -> dict[str, Any]:
        chunk = {"content": "a\x00b", "index": 0, "metadata": {"k": ["x\x00", {"y\x00": "z\x00"}]}}
        return {"item": item, "chunks": [chunk]}

    with context(tmp_path, chunker=operation) as docs:
        docs.upsert_items([{"id": "1", "title": "t"}])
        (chunk,) = docs.corpus.chunks("1")
        assert chunk.content == "ab"
        assert chunk.metadata["k"] == ["x", {"y": "z"}]


def test_an_item_without_text_has_no_chunks(tmp_path: Path) -> None:
    with context(tmp_path) as docs:
        assert docs.upsert_items([{"id": "1", "title": "t"}]).added == 1
        assert chunks(docs, "1") == []


ITEM = {"id": "9", "title": "t", "content": "pulled words"}


async def _later() -> AsyncIterator[dict[str, Any]]:
    yield ITEM


async def _soon() -> list[dict[str, Any]]:
    return [ITEM]


@pytest.mark.parametrize("source", [[ITEM], (ITEM,), lambda: [ITEM], lambda: iter([ITEM]), _soon, _later])
def test_sources_are_pulled(tmp_path: Path, source: Any) -> None:
    with context(tmp_path, sources=[source]) as docs:
        assert docs.sync().added == 1
        assert docs.retrieve("pulled")[0].source_id == "9"


def test_a_sync_goes_on_behind_an_item_that_does_not_fit(tmp_path: Path) -> None:
    with context(tmp_path, sources=[[{"id": "bad"}, ITEM]]) as docs:
        result = docs.sync(source_set="complete", stale="delete")
        assert [(source.source_id, source.action) for source in result.sources] == [("bad", "failed"), ("9", "added")]
        assert "'title' is required" in str(result.sources[0].error)
        again = docs.sync(source_set="complete", stale="delete")
        assert again.unchanged == 1
    with context(tmp_path, sources=[[{}]]) as docs, pytest.raises(ConfigError):
        docs.sync()
    with context(tmp_path, sources=["no items"]) as docs, pytest.raises(ConfigError):
        docs.sync()


def test_contexts_share_a_store_and_see_nothing_of_each_other(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store", create=True)
    one, two = (Context(id=name, embedder=None, data=store) for name in ("one", "two"))
    one.upsert_items([{"id": "1", "content": "harps"}])
    two.upsert_items([{"id": "1", "content": "lyres"}])
    assert two.retrieve("harps") == []
    assert one.delete_items("1") == 1
    assert two.retrieve("lyres")
    one.close()
    two.close()
    store.close()


def test_another_chunker_or_version_cuts_again(tmp_path: Path) -> None:
    item = {"id": "1", "title": "t", "content": "words"}
    for options, expected in (
        ({}, "added"),
        ({}, "unchanged"),
        ({"chunker": my_chunker}, "changed"),
        ({"chunker": my_chunker, "chunker_version": "2"}, "changed"),
    ):
        with context(tmp_path, **options) as docs:
            assert [source.action for source in docs.upsert_items([item]).sources] == [expected]


@pytest.mark.parametrize(
    "item",
    [
        {"id": "1", "name": "n", "content": "body", "description": "d"},
        {"id": "1", "name": "n", "content": None, "description": "d"},
        {"id": "1", "name": None, "content": "body", "description": None},
        {"id": "1", "name": "n", "content": None, "description": None, "tags": [1, {"a": None}]},
        {"id": "1", "name": "n", "content": "n\n\nn", "description": None, "due": datetime(2024, 1, 1, tzinfo=UTC)},
    ],
)
def test_items_and_documents_are_each_others_mirror(item: dict[str, Any]) -> None:
    assert item_of(document_of(item, "docs")) == item


def test_embedders_by_name(tmp_path: Path) -> None:
    assert Context(id="x", embedder={"model": "minilm"}).embedder is Context(id="x").embedder
    for wrong in ("minilm", {"name": "minilm"}, 5):
        with pytest.raises(ConfigError):
            Context(id="x", embedder=wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        Context(id="x", chunker="sentences")  # type: ignore[arg-type]
    assert florilege.Context is Context
