"""The sparse leg: vectors of ids and weights, kept, waited for and searched like dense ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import DataStore, SearchRequest, Snapshot
from florilege.model.errors import ConfigError, EmbeddingError
from florilege.model.filters import F
from florilege.model.ledger import Version
from florilege.testing.stores.cases import NS, SPACE, SPARSE, Suite, key_of, sparse_of, vectors_of, write_of
from florilege.testing.stores.ranking import products


def _texts(snapshot: Snapshot, query: Mapping[int, float], **options: Any) -> list[str]:
    request = SearchRequest(sparse=query, sparse_space=SPARSE, **options)
    found = snapshot.search(request).legs["sparse"]
    return [chunk.content for chunk in snapshot.hydrate([item.row for item in found])]


class SparseTests(Suite):
    """What a store with a sparse leg must do."""

    def keep(self, store: DataStore, *texts: str) -> None:
        """Keep the vectors of texts."""
        store.put_sparse(SPARSE, [key_of(text, SPARSE) for text in texts], sparse_of(texts))

    def test_the_leg_is_told(self, store: DataStore) -> None:
        assert {"dense", "sparse", "lexical"} <= store.capabilities.legs

    def test_products_rank_and_what_shares_nothing_is_left_out(self, store: DataStore) -> None:
        texts = ["red apple", "green apple apple", "plum", ""]
        self.keep(store, *texts)
        (outcome,) = store.replace(NS, [write_of("a", texts, sparse=True)])
        assert outcome.queued == 0
        rows = {("a", text): sparse_of([text])[0] for text in texts}
        with store.snapshot(NS) as snapshot:
            for query in ("apple", "red red plum", "green apple", "absent"):
                asked = sparse_of([query])[0]
                result = snapshot.search(SearchRequest(sparse=asked, sparse_space=SPARSE))
                wanted = products(rows, asked)
                assert _texts(snapshot, asked) == [item.chunk_id for item in wanted]
                assert [item.score for item in result.legs["sparse"]] == [item.score for item in wanted]
                assert all(item.has_sparse and not item.has_vector for item in result.legs["sparse"])
                assert result.facts["sparse_coverage"] == 1.0
            assert snapshot.search(SearchRequest(sparse={}, sparse_space=SPARSE)).legs == {"sparse": []}

    def test_vectors_are_kept_by_content(self, store: DataStore) -> None:
        keys = [key_of(text, SPARSE) for text in ("one", "two")]
        assert store.missing_vectors(SPARSE, keys) == set(keys)
        self.keep(store, "one")
        store.put_sparse(SPARSE, keys[:1], [{5: 9.0}])
        assert store.missing_vectors(SPARSE, keys) == {keys[1]}
        store.replace(NS, [write_of("a", ["one", "two"], sparse=True)])
        with store.snapshot(NS) as snapshot:
            first, second = snapshot.chunks("a", vectors=True)
            assert first.sparse_embedding == pytest.approx(sparse_of(["one"])[0])
            assert second.sparse_embedding is None
            assert first.embedding is None
            result = snapshot.search(SearchRequest(text="one two", sparse_space=SPARSE))
            assert result.facts["sparse_coverage"] == 0.5
            assert {item.chunk_id: item.has_sparse for item in result.legs["lexical"]} == {
                first.chunk_id: True,
                second.chunk_id: False,
            }

    def test_the_queue_drains_apart_from_the_dense_one(self, store: DataStore) -> None:
        texts = ["one", "two", "three"]
        (outcome,) = store.replace(NS, [write_of("a", texts, vectors=True, sparse=True)])
        assert outcome.queued == 6
        assert (store.count_pending(NS, SPACE), store.count_pending(NS, SPARSE)) == (3, 3)
        pending = store.pending_vectors(NS, SPARSE, limit=2)
        assert [item.text for item in pending] == texts[:2]
        with store.snapshot(NS) as before:
            assert store.fill_vectors(NS, SPARSE, pending, sparse_of([item.text for item in pending])) == 2
            assert (store.count_pending(NS, SPACE), store.count_pending(NS, SPARSE)) == (3, 1)
            with store.snapshot(NS) as after:
                assert _texts(after, sparse_of(["two"])[0]) == ["two"]
            assert _texts(before, sparse_of(["two"])[0]) == []
        self.keep(store, "three")
        assert store.fill_vectors(NS, SPARSE, store.pending_vectors(NS, SPARSE)) == 1
        with store.snapshot(NS) as snapshot:
            assert _texts(snapshot, sparse_of(["three"])[0]) == ["three"]

    def test_carried_rows_keep_and_take_vectors(self, store: DataStore) -> None:
        self.keep(store, "one")
        store.replace(NS, [write_of("a", ["one", "two"], sparse=True)])
        self.keep(store, "two")
        (outcome,) = store.replace(NS, [write_of("a", ["two", "one", "new"], sparse=True, expected=Version(1, 1))])
        assert (outcome.carried, outcome.queued) == (2, 1)
        with store.snapshot(NS) as snapshot:
            for text in ("one", "two"):
                assert _texts(snapshot, sparse_of([text])[0]) == [text]
        store.replace(NS, [write_of("a", ["two"], metadata={"n": 2}, expected=Version(2, 1), keep_generation=True)])
        with store.snapshot(NS) as snapshot:
            assert _texts(snapshot, sparse_of(["two one"])[0]) == ["two"]

    def test_filters_and_depth_count_before_the_cut(self, store: DataStore) -> None:
        self.keep(store, "same words")
        for number in range(9):
            store.replace(NS, [write_of(f"s{number}", ["same words"], metadata={"n": number}, sparse=True)])
        query = sparse_of(["same"])[0]
        with store.snapshot(NS) as snapshot:
            found = snapshot.search(SearchRequest(sparse=query, sparse_space=SPARSE, filter=F("n") >= 5, depth=2)).legs[
                "sparse"
            ]
            assert [item.source_id for item in found] == ["s5", "s6"]
        with store.snapshot(NS, F("n") < 3) as floored:
            assert len(_texts(floored, query)) == 3

    def test_legs_run_together(self, store: DataStore) -> None:
        self.keep(store, "red apple")
        store.put_vectors(SPACE, [key_of("red apple")], vectors_of(["red apple"]))
        store.replace(NS, [write_of("a", ["red apple", "pear"], vectors=True, sparse=True)])
        request = SearchRequest(
            text="apple pear",
            vector=vectors_of(["apple"])[0],
            space=SPACE,
            sparse=sparse_of(["apple"])[0],
            sparse_space=SPARSE,
        )
        with store.snapshot(NS) as snapshot:
            legs = snapshot.search(request).legs
            assert {leg: len(found) for leg, found in legs.items()} == {"lexical": 2, "dense": 1, "sparse": 1}
            assert {(item.has_vector, item.has_sparse) for item in legs["lexical"]} == {(True, True), (False, False)}

    @pytest.mark.parametrize("bad", [{-1: 1.0}, {1 << 20: 1.0}, {1: 0.0}, {1: -1.0}, {1: float("nan")}, {1: 1e300}])
    def test_bad_vectors_are_refused(self, store: DataStore, bad: dict[int, float]) -> None:
        keys = [key_of(text, SPARSE) for text in ("one", "two")]
        with pytest.raises(EmbeddingError) as error:
            store.put_sparse(SPARSE, keys, [{1: 1.0}, bad])
        assert error.value.code == "bad_vector"
        with pytest.raises(EmbeddingError):
            store.put_sparse(SPARSE, keys, [{1: 1.0}])
        assert store.missing_vectors(SPARSE, keys) == set(keys)
        with store.snapshot(NS) as snapshot:
            store.replace(NS, [write_of("a", ["one"])])
            with pytest.raises(ConfigError):
                snapshot.search(SearchRequest(sparse={1: 1.0}))
        with store.snapshot(NS) as snapshot, pytest.raises(ConfigError):
            snapshot.search(SearchRequest(sparse=bad, sparse_space=SPARSE))

    def test_each_leg_has_its_space(self, store: DataStore, opened: Callable[[], DataStore]) -> None:
        store.bind_space(NS, SPACE)
        assert store.bound_space(NS, leg="sparse") is None
        store.bind_space(NS, SPARSE, leg="sparse")
        store.bind_space(NS, SPARSE, leg="sparse")
        assert opened().bound_space(NS, leg="sparse") == SPARSE.identity
        assert opened().bound_space(NS) == SPACE.identity
        other = EmbeddingSpace(name="other", dimensions=9, metric="dot")
        with pytest.raises(ConfigError) as error:
            store.bind_space(NS, other, leg="sparse")
        assert error.value.code == "space_mismatch"
        for space, leg in ((SPACE, "sparse"), (SPARSE, "dense")):
            with pytest.raises(ConfigError):
                store.bind_space("fresh", space, leg=leg)  # type: ignore[arg-type]
        with pytest.raises(ConfigError):
            store.replace(NS, [write_of("a", ["one"], vectors=True, swapped=True)])

    def test_a_leg_moves_to_another_space_alone(self, store: DataStore) -> None:
        other = EmbeddingSpace(name="other", dimensions=1 << 20, metric="dot")
        store.bind_space(NS, SPACE)
        store.bind_space(NS, SPARSE, leg="sparse")
        store.replace(NS, [write_of("a", ["one", "zwei"], vectors=True, sparse=True)])
        lacking = store.unembedded(NS, other)
        assert [item.text for item in lacking] == ["one", "zwei"]
        assert store.switch_space(NS, other, leg="sparse") == 2
        keyed = [item._replace(key=key_of(item.text, other)) for item in lacking if item.text == "one"]
        store.enqueue_vectors(NS, other, keyed)
        store.fill_vectors(NS, other, keyed, sparse_of(["one"]))
        assert store.switch_space(NS, other, leg="sparse") == 1
        assert store.switch_space(NS, other, leg="sparse", but=[lacking[1].row]) == 0
        assert store.bound_space(NS, leg="sparse") == other.identity
        assert store.bound_space(NS) == SPACE.identity
        assert (store.count_pending(NS, SPARSE), store.count_pending(NS, SPACE)) == (0, 2)
