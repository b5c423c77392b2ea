"""Snapshots of the past: what was written later is not there, whatever became of it since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import DataStore, SearchRequest, Snapshot
from florilege.model.errors import NotFound
from florilege.model.filters import F, Filter
from florilege.model.ledger import Version
from florilege.testing.stores.cases import (
    NS,
    SPACE,
    SPARSE,
    Suite,
    contents,
    found,
    key_of,
    sparse_of,
    vectors_of,
    write_of,
)


class _Held(NamedTuple):
    """A snapshot, and what it saw when it was taken: of each text whether it had a vector."""

    snapshot: Snapshot
    texts: Mapping[str, bool]


class MomentTests(Suite):
    """Snapshots of the past: what was written later is not there, whatever became of it since."""

    def fill(self, store: DataStore) -> int:
        """Embed whatever waits."""
        pending = store.pending_vectors(NS, SPACE, limit=1000)
        return store.fill_vectors(NS, SPACE, pending, vectors_of([item.text for item in pending]))

    def test_carried_rows_take_vectors_later(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["one", "two"])])
        store.put_vectors(SPACE, [key_of("one")], vectors_of(["one"]))
        with store.snapshot(NS) as before:
            (outcome,) = store.replace(NS, [write_of("a", ["one", "two"], vectors=True, expected=Version(1, 1))])
            assert (outcome.carried, outcome.queued) == (2, 1)
            query = SearchRequest(vector=vectors_of(["one"])[0], space=SPACE)
            assert before.search(query).legs["dense"] == []
            with store.snapshot(NS) as after:
                assert len(after.search(query).legs["dense"]) == 1

    def test_a_snapshot_stays(self, store: DataStore, opened: Callable[[], DataStore]) -> None:
        other = opened()
        store.replace(NS, [write_of("a", ["old apple", "shared pear"], vectors=True), write_of("b", ["plum"])])
        self.fill(store)
        query = vectors_of(["old apple"])[0]
        with store.snapshot(NS) as before, other.snapshot(NS) as elsewhere:
            store.replace(NS, [write_of("a", ["new apple", "shared pear"], vectors=True, expected=Version(1, 1))])
            self.fill(other)
            store.delete_sources(NS, {"b": None})
            other.replace(NS, [write_of("c", ["cherry apple"])])
            for snapshot in (before, elsewhere):
                assert contents(snapshot, "a") == ["old apple", "shared pear"]
                assert found(snapshot, text="apple plum")["lexical"] == [("b", "plum"), ("a", "old apple")]
                dense = found(snapshot, vector=query, space=SPACE)["dense"]
                assert dense == [("a", "old apple"), ("a", "shared pear")]
                assert snapshot.document("a").content == "old apple\n\nshared pear"
                assert snapshot.titles(["a", "b", "c"]) == {"a": "A", "b": "B"}
            for handle in (store, other):
                with handle.snapshot(NS) as after:
                    assert set(found(after, text="apple plum")["lexical"]) == {
                        ("a", "new apple"),
                        ("c", "cherry apple"),
                    }
                    dense = found(after, vector=query, space=SPACE)["dense"]
                    assert {text for _, text in dense} == {"new apple", "shared pear"}
        with store.snapshot(NS) as after, pytest.raises(NotFound):
            after.hydrate([1])

    @pytest.mark.parametrize("space", [SPACE, SPARSE], ids=["dense", "sparse"])
    def test_late_vectors_are_unseen_before_they_came(
        self, store: DataStore, opened: Callable[[], DataStore], space: EmbeddingSpace
    ) -> None:
        """They come one by one, then with a publication, move to other rows, and end in the past with their rows."""
        if space.leg not in store.capabilities.legs:
            pytest.skip(f"the store has no {space.leg} leg")
        handles = (store, opened())
        keyed: dict[str, Any] = {"sparse" if space.sparse else "vectors": True}
        first, second = ["red apple", "green apple", "apple pie"], ["green apple", "apple pie", "apple tart"]
        with ExitStack() as stack:
            held: list[_Held] = []

            def check(**texts: bool) -> None:
                now = {name.replace("_", " "): has for name, has in texts.items()}
                held.extend(_Held(stack.enter_context(handle.snapshot(NS)), now) for handle in handles)
                for moment in held:
                    for filter in (None, F("all") == 1, F("other").exists()):
                        _compare(moment, space, filter)

            store.replace(NS, [write_of("a", first, metadata={"all": 1}, **keyed)])
            check(red_apple=False, green_apple=False, apple_pie=False)
            waiting = store.pending_vectors(NS, space, limit=1)
            assert store.fill_vectors(NS, space, waiting, _vectors(space, ["red apple"])) == 1
            check(red_apple=True, green_apple=False, apple_pie=False)
            _keep(store, space, ["green apple", "apple tart"])
            version = Version(1, 1)
            store.replace(NS, [write_of("a", second, metadata={"all": 1}, expected=version, **keyed)])
            check(green_apple=True, apple_pie=False, apple_tart=True)
            revised = write_of("a", second, metadata={"all": 1, "n": 2}, expected=Version(2, 1), keep_generation=True)
            store.replace(NS, [revised])
            check(green_apple=True, apple_pie=False, apple_tart=True)
            waiting = store.pending_vectors(NS, space)
            assert store.fill_vectors(NS, space, waiting, _vectors(space, ["apple pie"])) == 1
            check(green_apple=True, apple_pie=True, apple_tart=True)
            store.delete_sources(NS, {"a": None})
            check()


def _vectors(space: EmbeddingSpace, texts: list[str]) -> Any:
    return sparse_of(texts) if space.sparse else vectors_of(texts)


def _keep(store: DataStore, space: EmbeddingSpace, texts: list[str]) -> None:
    keys = [key_of(text, space) for text in texts]
    put = store.put_sparse if space.sparse else store.put_vectors
    put(space, keys, _vectors(space, texts))


def _compare(moment: _Held, space: EmbeddingSpace, filter: Filter | None) -> None:
    """Every way of seeing a vector tells the same: the leg, the flags of other legs, the coverage, the chunks."""
    snapshot, texts = moment
    if filter is not None and filter != (F("all") == 1):
        texts = {}
    having = {text for text, has in texts.items() if has}
    asked = _vectors(space, ["apple"])[0]
    query: dict[str, Any] = (
        {"sparse": asked, "sparse_space": space} if space.sparse else {"vector": asked, "space": space}
    )
    result = snapshot.search(SearchRequest(text="apple", filter=filter, **query))
    by_leg = {
        leg: {chunk.content for chunk in snapshot.hydrate([item.row for item in candidates])}
        for leg, candidates in result.legs.items()
    }
    assert by_leg == {"lexical": set(texts), space.leg: having}
    lexical = result.legs["lexical"]
    told = snapshot.hydrate([item.row for item in lexical])
    flags = [item.has_sparse if space.sparse else item.has_vector for item in lexical]
    assert {chunk.content: flag for chunk, flag in zip(told, flags, strict=True)} == texts
    coverage = result.facts.get("sparse_coverage") if space.sparse else result.coverage
    assert coverage == (len(having) / len(texts) if texts else 1.0)
    if filter is None:
        chunks = snapshot.chunks("a", vectors=True)
        kept = {chunk.content: (chunk.sparse_embedding if space.sparse else chunk.embedding) for chunk in chunks}
        assert {text: vector is not None for text, vector in kept.items()} == texts
