"""Replacement as a state machine: any order of writes, fills, deletes, collections and held snapshots.

    ReplacementTests = replacement_tests(lambda path: MyStore(path))

A plain dictionary is the model. At each step every snapshot still held must show the model of the moment it was taken,
in records and in every leg the store has, whichever of two handles it came from.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest import TestCase

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import SearchRequest, Snapshot
from florilege.model.errors import NotFound
from florilege.model.filters import F
from florilege.model.hashing import mint_ids
from florilege.model.ledger import Version
from florilege.testing.stores.cases import NS, SPACE, SPARSE, key_of, sparse_of, vectors_of, write_of
from florilege.testing.stores.ranking import Ranked, bm25, nearest, products

SOURCES = ("a", "b", "c:d", "é")
TEXTS = ("red apple", "green apple apple", "red pear", "one plum and one pear", "", "plum", "apple red", "the the the")
QUERIES = ("apple", "red pear plum", "the", "absent")

_sources = st.sampled_from(SOURCES)
_texts = st.lists(st.sampled_from(TEXTS), max_size=7)
_handles = st.integers(0, 1)
_keyed = st.sets(st.sampled_from((SPACE, SPARSE)))


class _State(NamedTuple):
    """What the model holds of a source."""

    version: Version
    texts: tuple[str, ...]
    metadata: int


@dataclass
class _Vectors:
    """Which texts of which sources have a vector of a space, which wait for one, and whose key is kept."""

    filled: set[tuple[str, str]] = field(default_factory=set)
    waiting: set[tuple[str, str]] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)

    def forget(self, source: str, keep: Set[tuple[str, str]]) -> None:
        """The source has these texts alone now."""
        self.filled = {pair for pair in self.filled if pair[0] != source or pair in keep}
        self.waiting = {pair for pair in self.waiting if pair[0] != source or pair in keep}

    def want(self, pairs: Set[tuple[str, str]]) -> None:
        """These texts wait for a vector, those whose key is kept have one."""
        self.filled |= {pair for pair in pairs if pair[1] in self.kept}
        self.waiting = (self.waiting | pairs) - self.filled

    def fill(self, texts: Set[str]) -> None:
        """The vectors of these texts have come."""
        self.kept |= texts
        self.filled |= {pair for pair in self.waiting if pair[1] in self.kept}
        self.waiting -= self.filled


class _Moment(NamedTuple):
    """The model at the time a snapshot was taken."""

    sources: dict[str, _State]
    filled: dict[EmbeddingSpace, frozenset[tuple[str, str]]]
    collections: int


class ReplacementMachine(RuleBasedStateMachine):
    """Subclass with ``open``; ``analyze`` must be the store's analyser."""

    open: Callable[[Path], Any]
    analyze: Callable[[str], Sequence[str]]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="florilege-"))
        self.sources: dict[str, _State] = {}
        self.numbers: dict[str, int] = {}
        self.vectors: dict[EmbeddingSpace, _Vectors] = {}
        self.collections = 0
        self.held: list[tuple[Snapshot, _Moment]] = []

    @initialize(keyed=_keyed)
    def start(self, keyed: set[EmbeddingSpace]) -> None:
        """Begin with something worth losing."""
        self._open()
        legs = self.stores[0].capabilities.legs
        self.vectors = {space: _Vectors() for space in (SPACE, SPARSE) if space.leg in legs}
        for source in SOURCES[:2]:
            self.replace(0, source, [*TEXTS[:3], source], 1, keyed)
        self.fill(1, 5, SPACE)

    def _open(self) -> None:
        self.stack = ExitStack()
        self.stores = [type(self).open(self.folder / "store") for _ in range(2)]
        for store in self.stores:
            self.stack.callback(store.close)

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.stack.close()
        shutil.rmtree(self.folder)

    # -- what may happen ------------------------------------------------------------------------------------------

    @rule(handle=_handles, source=_sources, texts=_texts, metadata=st.integers(0, 2), keyed=_keyed)
    def replace(self, handle: int, source: str, texts: list[str], metadata: int, keyed: set[EmbeddingSpace]) -> None:
        before = self.sources.get(source)
        expected = before.version if before else None
        write = write_of(source, texts, expected=expected, metadata={"m": metadata}, **self._legs(keyed))
        (outcome,) = self.stores[handle].replace(NS, [write])
        self.numbers[source] = self.numbers.get(source, 0) + 1
        assert outcome.version == Version(self.numbers[source], 1)
        assert outcome.chunk_count == len(texts)
        self._settle(source, _State(outcome.version, tuple(texts), metadata), keyed)

    @precondition(lambda self: self.sources)
    @rule(handle=_handles, data=st.data(), metadata=st.integers(0, 2), keyed=_keyed)
    def revise(self, handle: int, data: st.DataObject, metadata: int, keyed: set[EmbeddingSpace]) -> None:
        source = data.draw(st.sampled_from(sorted(self.sources)))
        before = self.sources[source]
        write = write_of(
            source,
            before.texts,
            expected=before.version,
            metadata={"m": metadata},
            keep_generation=True,
            **self._legs(keyed),
        )
        (outcome,) = self.stores[handle].replace(NS, [write])
        assert outcome.version == Version(before.version.generation, before.version.revision + 1)
        self._settle(source, before._replace(version=outcome.version, metadata=metadata), keyed)

    def _legs(self, keyed: set[EmbeddingSpace]) -> dict[str, bool]:
        return {"vectors": SPACE in keyed, "sparse": SPARSE in keyed and SPARSE in self.vectors}

    def _settle(self, source: str, state: _State, keyed: set[EmbeddingSpace]) -> None:
        """A text has a vector when it had one before; else, once it waits for one, as soon as its key is kept."""
        texts = {(source, text) for text in state.texts}
        for space, vectors in self.vectors.items():
            wanting = texts if space in keyed else texts & vectors.waiting
            vectors.forget(source, texts)
            vectors.want(wanting)
        self.sources[source] = state

    @rule(handle=_handles, source=_sources, texts=_texts, generation=st.integers(0, 9))
    def replace_from_elsewhere(self, handle: int, source: str, texts: list[str], generation: int) -> None:
        wrong = Version(generation, 7)
        (outcome,) = self.stores[handle].replace(NS, [write_of(source, texts, expected=wrong)])
        assert outcome.conflict
        assert outcome.version is None

    @rule(handle=_handles, source=_sources, forget=st.booleans())
    def delete(self, handle: int, source: str, forget: bool) -> None:
        before = self.sources.pop(source, None)
        expected = {source: before.version if before else None}
        (outcome,) = self.stores[handle].delete_sources(NS, expected, forget=forget)
        assert outcome.chunk_count == (len(before.texts) if before else 0)
        for vectors in self.vectors.values():
            vectors.forget(source, frozenset())

    @rule(handle=_handles, limit=st.integers(1, 5), space=st.sampled_from((SPACE, SPARSE)))
    def fill(self, handle: int, limit: int, space: EmbeddingSpace) -> None:
        if space not in self.vectors:
            return
        store, vectors = self.stores[handle], self.vectors[space]
        pending = store.pending_vectors(NS, space, limit=limit)
        texts = [item.text for item in pending]
        assert set(texts) <= {text for _, text in vectors.waiting}
        assert all(item.key == key_of(item.text, space) for item in pending)
        assert len(pending) >= min(limit, len(vectors.waiting))
        store.fill_vectors(NS, space, pending, sparse_of(texts) if space.sparse else vectors_of(texts))
        vectors.fill(set(texts))

    @rule(handle=_handles)
    def hold(self, handle: int) -> None:
        snapshot = self.stack.enter_context(self.stores[handle].snapshot(NS))
        self.held.append((snapshot, self._moment()))

    @rule(handle=_handles)
    def collect(self, handle: int) -> None:
        self.stores[handle].collect(NS, keep_generations=1, retention=0)
        self.collections += 1
        self.numbers = {
            name: number
            for name, number in self.numbers.items()
            if self.stores[handle].history(NS, name) or self.stores[handle].get_sources(NS, [name])
        }

    @rule()
    def reopen(self) -> None:
        self.held.clear()
        self.stack.close()
        self._open()

    # -- what must hold -------------------------------------------------------------------------------------------

    def _moment(self) -> _Moment:
        filled = {space: frozenset(vectors.filled) for space, vectors in self.vectors.items()}
        return _Moment(dict(self.sources), filled, self.collections)

    @invariant()
    def snapshots_show_their_moment(self) -> None:
        if not hasattr(self, "stores"):
            return
        for store in self.stores:
            with store.snapshot(NS) as snapshot:
                self._compare(snapshot, self._moment())
        for snapshot, moment in self.held:
            gone = None
            try:
                self._compare(snapshot, moment)
            except NotFound as error:
                gone = error.code
            assert gone is None or (gone == "collected" and moment.collections < self.collections)

    def _compare(self, snapshot: Snapshot, moment: _Moment) -> None:
        rows: dict[tuple[str, str], str] = {}
        for source in SOURCES:
            state = moment.sources.get(source)
            chunks = snapshot.chunks(source)
            assert tuple(chunk.content for chunk in chunks) == (state.texts if state else ())
            if state is not None:
                assert {chunk.generation_id for chunk in chunks} <= {state.version.generation}
                assert all(chunk.metadata == {"m": state.metadata} for chunk in chunks)
                assert snapshot.document(source).content == "\n\n".join(state.texts)
                ids = mint_ids(source, [(text, "") for text in state.texts])
                rows.update({(source, chunk_id): text for chunk_id, text in zip(ids, state.texts, strict=True)})
        assert set(snapshot.titles(SOURCES)) == set(moment.sources)
        self._compare_legs(snapshot, moment, rows)

    def _compare_legs(self, snapshot: Snapshot, moment: _Moment, rows: dict[tuple[str, str], str]) -> None:
        analysed = {row: type(self).analyze(text) for row, text in rows.items()}
        dense = {row: _half(vectors_of([text])[0]) for row, text in rows.items() if _has(moment, SPACE, row, text)}
        sparse = {row: sparse_of([text])[0] for row, text in rows.items() if _has(moment, SPARSE, row, text)}
        matching = {row for row in rows if moment.sources[row[0]].metadata >= 1}
        for text in QUERIES:
            lexical = bm25(analysed, type(self).analyze(text))
            request = SearchRequest(text=text, vector=vectors_of([text])[0], space=SPACE)
            if SPARSE in moment.filled:
                request = replace(request, sparse=sparse_of([text])[0], sparse_space=SPARSE)
            result = snapshot.search(request)
            _same(result.legs["lexical"], lexical)
            _same(result.legs["dense"], nearest(dense, vectors_of([text])[0]))
            _same(result.legs.get("sparse", ()), products(sparse, sparse_of([text])[0]))
            assert result.coverage == (len(dense) / len(rows) if rows else 1.0)
            few = snapshot.search(SearchRequest(text=text, filter=F("m") >= 1, depth=3))
            _same(few.legs["lexical"], [item for item in lexical if item[:2] in matching][:3])


def _has(moment: _Moment, space: EmbeddingSpace, row: tuple[str, str], text: str) -> bool:
    return (row[0], text) in moment.filled.get(space, ())


def _half(vector: Any) -> Any:
    wide = np.asarray(vector, dtype=np.float64)
    return (wide / np.linalg.norm(wide)).astype(np.float16)


def _same(found: Sequence[Any], wanted: Sequence[Ranked]) -> None:
    assert [(item.source_id, item.chunk_id) for item in found] == [item[:2] for item in wanted]
    np.testing.assert_allclose([item.score for item in found], [item.score for item in wanted], rtol=1e-6, atol=1e-6)


def replacement_tests(open: Callable[[Path], Any], analyze: Callable[[str], Sequence[str]]) -> type[TestCase]:
    """The machine as a test case for stores opened by ``open``, whose analyser is ``analyze``."""
    doors = {"open": staticmethod(open), "analyze": staticmethod(analyze)}
    machine: Any = type("Replacement", (ReplacementMachine,), doors)
    case: type[TestCase] = machine.TestCase
    return case
