"""Searches: vectors, snapshots, floors, filters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import (
    DataStore,
    SearchRequest,
    Snapshot,
    SourceWrite,
)
from florilege.model.chunk import Chunk, ParentChunk, Provenance
from florilege.model.errors import ConfigError, EmbeddingError, NotFound, StoreError
from florilege.model.filters import F
from florilege.model.ledger import SourceRecord, Version
from florilege.testing.filters import CASES, ROWS
from florilege.testing.stores.cases import NS, SPACE, Suite, contents, found, key_of, vectors_of, write_of
from florilege.testing.stores.moments import MomentTests


class VectorStoreTests(MomentTests):
    """Searches, vectors, snapshots."""

    def test_vectors_are_kept_by_content(self, store: DataStore) -> None:
        keys = [key_of(text) for text in ("one", "two")]
        assert store.missing_vectors(SPACE, keys) == set(keys)
        store.put_vectors(SPACE, keys[:1], vectors_of(["one"]))
        store.put_vectors(SPACE, keys[:1], vectors_of(["another"]))
        assert store.missing_vectors(SPACE, keys) == {keys[1]}
        assert store.missing_vectors(EmbeddingSpace(name="other", dimensions=16), keys) == set(keys)
        (outcome,) = store.replace(NS, [write_of("a", ["one", "two"], vectors=True)])
        assert outcome.queued == 1
        with store.snapshot(NS) as snapshot:
            result = snapshot.search(SearchRequest(vector=vectors_of(["one"])[0], space=SPACE))
            assert [item.score for item in result.legs["dense"]] == pytest.approx([1.0], abs=1e-3)
            assert result.coverage == 0.5
            chunks = snapshot.chunks("a", vectors=True)
            assert chunks[1].embedding is None
            assert chunks[0].embedding_space == SPACE.identity
            unit = vectors_of(["one"])[0] / np.linalg.norm(vectors_of(["one"])[0])
            assert chunks[0].embedding == pytest.approx(unit.tolist(), abs=2e-3)

    def test_the_queue_drains(self, store: DataStore) -> None:
        texts = [f"text {number}" for number in range(10)]
        store.replace(NS, [write_of("a", texts, vectors=True), write_of("b", texts[:3], vectors=True)])
        assert store.count_pending(NS, SPACE) == 13
        first = store.pending_vectors(NS, SPACE, limit=4)
        assert [item.text for item in first] == texts[:4]
        assert [item.key for item in first] == [key_of(text) for text in texts[:4]]
        rest = store.pending_vectors(NS, SPACE, after=first[-1].row, limit=100)
        assert len(rest) == 9
        taken = store.fill_vectors(NS, SPACE, first, vectors_of([item.text for item in first]))
        assert taken == 7  # equal texts of the other source took theirs too
        assert store.count_pending(NS, SPACE) == 6
        left = store.pending_vectors(NS, SPACE)
        store.put_vectors(SPACE, [item.key for item in left], vectors_of([item.text for item in left]))
        assert store.fill_vectors(NS, SPACE, left) == 6
        assert store.fill_vectors(NS, SPACE, left) == 0
        with store.snapshot(NS) as snapshot:
            assert snapshot.search(SearchRequest(text="text", space=SPACE)).coverage == 1.0

    def test_rows_that_die_waiting_leave_the_queue(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["one", "two"], vectors=True)])
        pending = store.pending_vectors(NS, SPACE)
        store.replace(NS, [write_of("a", ["two"], vectors=True, expected=Version(1, 1))])
        assert store.fill_vectors(NS, SPACE, pending, vectors_of(["one", "two"])) == 1
        assert store.count_pending(NS, SPACE) == 0

    @pytest.mark.parametrize(
        "bad",
        [np.zeros((2, 16)), np.full((2, 16), np.nan), np.full((2, 16), np.inf), np.ones((2, 15)), np.ones((1, 16))],
    )
    def test_bad_vectors_are_refused(self, store: DataStore, bad: Any) -> None:
        with pytest.raises(EmbeddingError) as error:
            store.put_vectors(SPACE, [key_of("one"), key_of("two")], bad)
        assert error.value.code == "bad_vector"
        assert len(store.missing_vectors(SPACE, [key_of("one"), key_of("two")])) == 2

    def test_a_namespace_has_one_space(self, store: DataStore) -> None:
        store.bind_space(NS, SPACE)
        store.bind_space(NS, SPACE)
        assert store.bound_space(NS) == SPACE.identity
        other = EmbeddingSpace(name="other", dimensions=16)
        with pytest.raises(ConfigError) as error:
            store.bind_space(NS, other)
        assert error.value.code == "space_mismatch"
        assert SPACE.identity in str(error.value)
        assert other.identity in str(error.value)
        store.bind_space("another", other)

    def test_a_namespace_nothing_was_published_in_answers(self, store: DataStore) -> None:
        store.bind_space(NS, SPACE)
        request = SearchRequest(text="anything", vector=vectors_of(["anything"])[0], space=SPACE)
        with store.snapshot(NS) as snapshot:
            assert snapshot.search(request).legs == {"lexical": [], "dense": []}
            store.replace(NS, [write_of("a", ["anything"])])
            assert snapshot.search(request).legs == {"lexical": [], "dense": []}
        with store.snapshot(NS) as snapshot:
            assert len(snapshot.search(request).legs["lexical"]) == 1

    def test_query_text_is_text(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["NEAR the OR gate", 'say "hello" (twice)', "50% AND more*"])])
        with store.snapshot(NS) as snapshot:
            for text in ('"', "(", "NEAR/2", "a OR", "*", "%", "'; DROP TABLE row; --", "{x} AND [y]", "\\", ""):
                snapshot.search(SearchRequest(text=text))
            assert found(snapshot, text='"hello" AND (')["lexical"][0] == ("a", 'say "hello" (twice)')

    def test_depth_and_order(self, store: DataStore) -> None:
        same = [write_of(f"s{number}", ["equal words here"], metadata={"n": number}) for number in range(9)]
        store.replace(NS, list(reversed(same)))
        with store.snapshot(NS) as snapshot:
            for depth in (0, 1, 4, 9, 100):
                result = snapshot.search(SearchRequest(text="equal", depth=depth)).legs["lexical"]
                assert [item.source_id for item in result] == [f"s{number}" for number in range(min(depth, 9))]
            late = snapshot.search(SearchRequest(text="equal", depth=2, filter=F("n") >= 5)).legs["lexical"]
            assert [item.source_id for item in late] == ["s5", "s6"]

    def test_words_that_are_not_there_find_nothing(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["one two"])])
        with store.snapshot(NS) as snapshot:
            assert snapshot.search(SearchRequest(text="absent")).legs == {"lexical": []}

    def test_an_unknown_space_has_no_coverage(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["one"])])
        other = EmbeddingSpace(name="other", dimensions=3)
        with store.snapshot(NS) as snapshot:
            result = snapshot.search(SearchRequest(text="one", vector=[1, 0, 0], space=other))
            assert result.legs["dense"] == []
            assert len(result.legs["lexical"]) == 1
            assert result.coverage == 0.0
            with pytest.raises(ConfigError):
                snapshot.search(SearchRequest(vector=[1, 0], space=other))
            with pytest.raises(ConfigError):
                snapshot.search(SearchRequest(vector=[1, 0, 0]))

    def test_a_search_ends_with_its_deadline(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["one"])])
        with store.snapshot(NS) as snapshot:
            with pytest.raises(StoreError) as error:
                snapshot.search(SearchRequest(text="one", deadline=0.0))
            assert (error.value.code, error.value.retryable) == ("deadline", True)
            assert len(snapshot.search(SearchRequest(text="one", deadline=60.0)).legs["lexical"]) == 1

    def test_a_floor_cannot_be_left(self, store: DataStore) -> None:
        def guarded(name: str, tenant: str) -> SourceWrite:
            parent = ParentChunk(
                source_id=name, parent_id="p", key=f"{name}-p", content="above", metadata={"tenant": tenant}
            )
            return write_of(name, [f"secret of {name}"], metadata={"tenant": tenant}, vectors=True, parents=[parent])

        store.replace(NS, [guarded("mine", "me"), guarded("yours", "you")])
        self.fill(store)
        query = vectors_of(["secret"])[0]
        with store.snapshot(NS) as free, store.snapshot(NS, floor=F("tenant") == "me") as floored:
            for wish in (None, F("tenant") == "you", ~(F("tenant") == "me"), F("tenant").exists()):
                result = floored.search(SearchRequest(text="secret", vector=query, space=SPACE, filter=wish))
                names = {item.source_id for leg in result.legs.values() for item in leg}
                assert names <= {"mine"}
            assert floored.chunks("yours") == []
            assert contents(floored, "mine") == ["secret of mine"]
            assert floored.titles(["mine", "yours"]) == {"mine": "MINE"}
            assert list(floored.parents(["mine-p", "yours-p"])) == ["mine-p"]
            assert floored.document("mine").content == "secret of mine"
            with pytest.raises(NotFound):
                floored.document("yours")
            rows = {item.source_id: item.row for item in free.search(SearchRequest(text="secret")).legs["lexical"]}
            with pytest.raises(NotFound):
                floored.hydrate([rows["yours"]])

    def test_filters_count_before_the_cut(self, store: DataStore) -> None:
        writes = [
            write_of(f"s{number:03}", ["word " * (1 + number % 5)], metadata={"n": number}, vectors=True)
            for number in range(200)
        ]
        store.replace(NS, writes)
        self.fill(store)
        with store.snapshot(NS) as snapshot:
            few = snapshot.search(
                SearchRequest(text="word", vector=vectors_of(["word"])[0], space=SPACE, filter=F("n") >= 190, depth=50)
            )
            assert len(few.legs["lexical"]) == len(few.legs["dense"]) == 10
            assert few.facts["rows"] == 10


class FilterTests(Suite):
    """The published filter cases, as searches."""

    @pytest.fixture(scope="class")
    @classmethod
    def snapshot(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
        """All rows of the cases, one source each."""
        store = cls().open(tmp_path_factory.mktemp("filters") / "store")
        writes = []
        for name, row in ROWS.items():
            provenance = Provenance(pages=(row.page,) if row.page is not None else ())
            chunk = Chunk(
                source_id=name, chunk_id=name, content="same word", metadata=row.metadata, provenance=provenance
            )
            record = SourceRecord(namespace=NS, source_id=name, title=row.title, media_type=row.media_type)
            writes.append(SourceWrite(record=record, chunks=[chunk]))
        store.replace(NS, writes)
        with store.snapshot(NS) as snapshot:
            yield snapshot
        store.close()

    @pytest.mark.parametrize("number", range(len(CASES)))
    def test_case(self, snapshot: Snapshot, number: int) -> None:
        case = CASES[number]
        result = snapshot.search(SearchRequest(text="word", filter=case.filter, depth=1000))
        assert {item.source_id for item in result.legs["lexical"]} == case.expected
