"""Records: sources, generations, leases, runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from florilege.interfaces.stores import (
    ChunkVectors,
    DataStore,
    SearchRequest,
    SourceWrite,
    WriteOutcome,
)
from florilege.model.chunk import Chunk, PageBox, ParentChunk, ParentRef, Provenance
from florilege.model.document import Document, IngestWarning, Part, Span
from florilege.model.errors import ChunkingError, ConfigError, NotFound, StoreError
from florilege.model.filters import F
from florilege.model.ledger import SourceRecord, StageRecord, Version
from florilege.testing.stores.cases import NS, SPACE, contents, found, vectors_of, write_of
from florilege.testing.stores.ledger import LedgerTests


class DataStoreTests(LedgerTests):
    """Records: sources, generations, leases, runs."""

    def test_an_empty_store_answers(self, store: DataStore) -> None:
        assert store.namespaces() == []
        assert store.list_sources(NS) == ([], None)
        assert store.get_sources(NS, ["a"]) == {}
        assert store.history(NS, "a") == []
        assert store.runs(NS) == []
        assert store.bound_space(NS) is None
        assert store.count_pending(NS, SPACE) == 0
        assert store.pending_vectors(NS, SPACE) == []
        assert store.delete_sources(NS, {"a": None}) == [WriteOutcome(source_id="a")]
        with store.snapshot(NS) as snapshot:
            assert snapshot.search(SearchRequest(text="anything")).legs == {"lexical": []}
            assert snapshot.chunks("a") == []
            assert snapshot.titles(["a"]) == {}
            assert snapshot.parents(["k"]) == {}
            assert snapshot.hydrate([]) == []
            with pytest.raises(NotFound):
                snapshot.document("a")

    def test_everything_stored_comes_back(self, store: DataStore) -> None:
        provenance = Provenance(
            part_ids=("p1",),
            pages=(3, 4),
            sheets=("S",),
            tables=("t",),
            json_paths=("$.a",),
            cell_ranges=("A1:B2",),
            headings=("One", "Two"),
            source_spans=(Span(1, 5, "p1"), Span(7, 9)),
            bboxes=(PageBox(3, (0.1, 0.2, 0.3, 0.4)),),
            confidence="derived",
            chunker="structured",
            piece_id="exact",
        )
        metadata = {
            "when": datetime(2024, 5, 1, 12, tzinfo=UTC),
            "n": 2**63 - 1,
            "x": 0.1,
            "deep": {"list": [1, "a", None, True, {"k": []}]},
            "blank": "",
        }
        parent = ParentChunk(
            source_id="a",
            parent_id="sec",
            key="parent-key",
            content="the whole section",
            title="Section",
            summary="short",
            metadata=metadata,
            provenance=provenance,
        )
        chunk = Chunk(
            source_id="a",
            chunk_id="one",
            content="héllo 世界 \U0001f600\n",
            context="A > B",
            metadata=metadata,
            provenance=provenance,
            parent=ParentRef(parent_id="sec", key="parent-key", title="Section", summary="short"),
        )
        part = Part(part_id="p1", kind="table", text="hello", span=Span(0, 5), rows=(("h", "i"),), columns=("c",))
        derived = Part(part_id="p2", kind="text", text="not a slice", span=Span(0, 5), confidence="derived")
        document = Document(
            source_id="a",
            content="hello world",
            parts=(part, derived),
            warnings=(IngestWarning(code="w", message="m", part_id="p1"),),
            media_type="text/plain",
            uri="file:///a",
            revision="r1",
            reader="txt/1",
        )
        record = SourceRecord(
            namespace=NS,
            source_id="a",
            corpus_id="shelf",
            title="Title",
            metadata=metadata,
            media_type="text/plain",
            uri="file:///a",
            source_hash="s",
            content_hash="c",
            metadata_hash="m",
            index_hash={"chunker": "x"},
            revision="r1",
            reader="txt/1",
            run_id=7,
            errors=({"code": "old"},),
            stages=(StageRecord(name="chunk", kind="chunker", cache="hit", duration_seconds=0.5),),
        )
        store.replace(NS, [SourceWrite(record=record, chunks=[chunk], parents=[parent], document=document)])
        kept = store.get_sources(NS, ["a"])["a"]
        assert kept.first_seen_at == kept.indexed_at == kept.last_seen_at
        assert kept.indexed_at is not None
        assert datetime.now(UTC) - kept.indexed_at < timedelta(minutes=5)
        for name in (
            "title",
            "metadata",
            "media_type",
            "uri",
            "source_hash",
            "content_hash",
            "metadata_hash",
            "index_hash",
        ):
            assert getattr(kept, name) == getattr(record, name)
        assert (kept.version, kept.chunk_count, kept.parent_count) == (Version(1, 1), 1, 1)
        assert (kept.stages, kept.errors, kept.run_id) == (record.stages, record.errors, 7)
        with store.snapshot(NS) as snapshot:
            (back,) = snapshot.chunks("a")
            for name in ("source_id", "chunk_id", "content", "context", "metadata", "provenance", "parent", "ordinal"):
                assert getattr(back, name) == getattr(chunk, name)
            assert (back.namespace, back.generation_id, back.active) == (NS, 1, True)
            assert back.created_at == kept.indexed_at
            above = snapshot.parents(["parent-key", "other"])["parent-key"]
            for name in ("parent_id", "content", "title", "summary", "metadata", "provenance"):
                assert getattr(above, name) == getattr(parent, name)
            held = snapshot.document("a")
            assert (held.content, held.parts, held.warnings) == (document.content, document.parts, document.warnings)
            assert (held.title, held.metadata, held.uri, held.reader) == ("Title", metadata, "file:///a", "txt/1")
            assert snapshot.titles(["a", "b"]) == {"a": "Title"}

    def test_a_write_must_bring_the_version_it_replaces(self, store: DataStore) -> None:
        assert store.replace(NS, [write_of("a", ["one"])])[0].version == Version(1, 1)
        for wrong in (None, Version(1, 2), Version(2, 1)):
            (outcome,) = store.replace(NS, [write_of("a", ["two"], expected=wrong)])
            assert outcome.conflict
            assert "a" in outcome.conflict
            assert outcome.version is None
        (outcome,) = store.replace(NS, [write_of("a", ["two"], expected=Version(1, 1))])
        assert outcome.version == Version(2, 1)
        (outcome,) = store.replace(NS, [write_of("new", ["x"], expected=Version(1, 1))])
        assert outcome.conflict
        with store.snapshot(NS) as snapshot:
            assert contents(snapshot, "a") == ["two"]
            assert contents(snapshot, "new") == []

    def test_a_conflict_spares_the_rest_of_the_batch(self, store: DataStore) -> None:
        store.replace(NS, [write_of("b", ["old"])])
        outcomes = store.replace(NS, [write_of("a", ["1"]), write_of("b", ["2"]), write_of("c", ["3"])])
        assert [bool(outcome.conflict) for outcome in outcomes] == [False, True, False]
        with store.snapshot(NS) as snapshot:
            assert [contents(snapshot, name) for name in "abc"] == [["1"], ["old"], ["3"]]

    def test_one_batch_may_write_a_source_twice(self, store: DataStore) -> None:
        writes = [write_of("a", ["1"]), write_of("a", ["2"], expected=Version(1, 1))]
        assert [outcome.version for outcome in store.replace(NS, writes)] == [Version(1, 1), Version(2, 1)]

    def test_equal_rows_are_carried_over(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["keep", "drop"])])
        with store.snapshot(NS) as snapshot:
            born = snapshot.chunks("a")[0].created_at
        (outcome,) = store.replace(NS, [write_of("a", ["new", "keep"], expected=Version(1, 1))])
        assert (outcome.chunk_count, outcome.carried) == (2, 1)
        with store.snapshot(NS) as snapshot:
            chunks = snapshot.chunks("a")
            assert [chunk.content for chunk in chunks] == ["new", "keep"]
            assert [chunk.ordinal for chunk in chunks] == [0, 1]
            assert [chunk.generation_id for chunk in chunks] == [2, 2]
            assert chunks[1].created_at == born
            assert chunks[0].created_at != born

    def test_a_metadata_change_is_a_revision(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["one", "two"], metadata={"v": 1}, vectors=True)])
        store.fill_vectors(NS, SPACE, store.pending_vectors(NS, SPACE), vectors_of(["one", "two"]))
        write = write_of(
            "a", ["one", "two"], metadata={"v": 2}, expected=Version(1, 1), keep_generation=True, document=None
        )
        (outcome,) = store.replace(NS, [write])
        assert outcome.version == Version(1, 2)
        assert store.count_pending(NS, SPACE) == 0
        with store.snapshot(NS) as snapshot:
            assert [chunk.metadata for chunk in snapshot.chunks("a")] == [{"v": 2}, {"v": 2}]
            assert snapshot.document("a").content == "one\n\ntwo"
            assert found(snapshot, text="two", filter=F("v") == 1)["lexical"] == []
            assert found(snapshot, text="two", filter=F("v") == 2)["lexical"] == [("a", "two")]
            result = snapshot.search(SearchRequest(vector=vectors_of(["one"])[0], space=SPACE))
            assert result.coverage == 1.0
        (generation,) = store.history(NS, "a")
        assert (generation.generation, generation.revision, generation.state) == (1, 2, "active")

    def test_a_source_without_chunks_is_a_source(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["one"])])
        (outcome,) = store.replace(NS, [write_of("a", [], expected=Version(1, 1))])
        assert (outcome.version, outcome.chunk_count) == (Version(2, 1), 0)
        with store.snapshot(NS) as snapshot:
            assert snapshot.chunks("a") == []
            assert snapshot.titles(["a"]) == {"a": "A"}
            assert snapshot.document("a").content == ""

    def test_history_is_newest_first(self, store: DataStore) -> None:
        for number in range(3):
            store.replace(NS, [write_of("a", [f"v{number}"], expected=Version(number, 1) if number else None)])
        assert [(item.generation, item.state) for item in store.history(NS, "a")] == [
            (3, "active"),
            (2, "retired"),
            (1, "retired"),
        ]
        store.delete_sources(NS, {"a": None})
        assert {item.state for item in store.history(NS, "a")} == {"retired"}

    def test_delete_retires_and_remembers(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["one", "two"]), write_of("b", ["three"])])
        outcomes = store.delete_sources(NS, {"a": Version(1, 1), "b": Version(9, 1), "c": None}, run_id=5)
        assert [(item.chunk_count, bool(item.conflict)) for item in outcomes] == [(2, False), (0, True), (0, False)]
        record = store.get_sources(NS, ["a"])["a"]
        assert (record.status, record.version, record.chunk_count, record.run_id) == ("deleted", None, 0, 5)
        assert record.deleted_at is not None
        with store.snapshot(NS) as snapshot:
            assert snapshot.chunks("a") == []
            assert snapshot.titles(["a"]) == {}
            assert found(snapshot, text="one three")["lexical"] == [("b", "three")]
        store.delete_sources(NS, {"a": None, "b": None}, forget=True)
        assert store.list_sources(NS) == ([], None)
        (outcome,) = store.replace(NS, [write_of("a", ["back"])])
        assert outcome.version is not None
        assert outcome.version.generation > 1

    def test_namespaces_do_not_meet(self, store: DataStore) -> None:
        for namespace in ("tenant", "tenant:1", ""):
            store.replace(namespace, [write_of("a", [f"text of {namespace}"], namespace=namespace)])
        assert store.namespaces() == ["", "tenant", "tenant:1"]
        for namespace in ("tenant", "tenant:1", ""):
            with store.snapshot(namespace) as snapshot:
                assert found(snapshot, text="text")["lexical"] == [("a", f"text of {namespace}")]
        with store.snapshot("tenant") as mine, store.snapshot("tenant:1") as other:
            (row,) = (item.row for item in mine.search(SearchRequest(text="text")).legs["lexical"])
            with pytest.raises(NotFound):
                other.hydrate([row])
        store.delete_sources("tenant", {"a": None})
        with store.snapshot("tenant:1") as snapshot:
            assert contents(snapshot, "a") == ["text of tenant:1"]

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda write: {"chunks": [*write.chunks, write.chunks[0]]},
            lambda write: {"chunks": [Chunk(source_id="b", chunk_id="x", content="x")]},
            lambda write: {"chunks": [Chunk(source_id="a", content="x")]},
            lambda write: {"chunks": [Chunk(source_id="a", chunk_id="x", content="x", metadata={"bad": object()})]},
            lambda write: {"chunks": [Chunk(source_id="a", chunk_id="x", content="x", metadata={"bad": float("nan")})]},
            lambda write: {"chunks": [Chunk(source_id="a", chunk_id="x", content="lone \ud800")]},
            lambda write: {"record": SourceRecord(namespace="elsewhere", source_id="a")},
            lambda write: {"parents": [ParentChunk(source_id="b", parent_id="p", content="x")]},
            lambda write: {"vectors": ChunkVectors(SPACE, [])},
        ],
    )
    def test_bad_input_loses_nothing(self, store: DataStore, spoil: Callable[[SourceWrite], dict[str, Any]]) -> None:
        store.replace(NS, [write_of("a", ["good"])])
        write = write_of("a", ["next"], expected=Version(1, 1))
        with pytest.raises((ChunkingError, ConfigError)):
            store.replace(NS, [write_of("b", ["fine"]), replace(write, **spoil(write))])
        with store.snapshot(NS) as snapshot:
            assert contents(snapshot, "a") == ["good"]
        assert store.replace(NS, [write])[0].version == Version(2, 1)

    def test_content_need_not_be_kept(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["1"], document=None)])
        with store.snapshot(NS) as snapshot, pytest.raises(NotFound) as error:
            snapshot.document("a")
        assert error.value.code == "content_not_kept"

    def test_closed_is_closed(self, store: DataStore) -> None:
        store.close()
        store.close()
        with pytest.raises(StoreError):
            store.namespaces()
