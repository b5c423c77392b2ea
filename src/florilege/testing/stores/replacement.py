"""Replacement as a state machine: any order of writes, fills, deletes, collections and held snapshots.

    ReplacementTests = replacement_tests(lambda path: MyStore(path))

A plain dictionary is the model. At each step every snapshot still held must show the model of the moment it was taken,
in records and in both legs, whichever of two handles it came from.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence, Set
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from unittest import TestCase

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from florilege.interfaces.stores import SearchRequest, Snapshot
from florilege.model.errors import NotFound
from florilege.model.filters import F
from florilege.model.hashing import mint_ids
from florilege.model.ledger import Version
from florilege.testing.stores.cases import NS, SPACE, key_of, vectors_of, write_of
from florilege.testing.stores.ranking import Ranked, bm25, nearest

SOURCES = ("a", "b", "c:d", "é")
TEXTS = ("red apple", "green apple apple", "red pear", "one plum and one pear", "", "plum", "apple red", "the the the")
QUERIES = ("apple", "red pear plum", "the", "absent")

_sources = st.sampled_from(SOURCES)
_texts = st.lists(st.sampled_from(TEXTS), max_size=7)
_handles = st.integers(0, 1)


class _State(NamedTuple):
    """What the model holds of a source."""

    version: Version
    texts: tuple[str, ...]
    metadata: int


class _Moment(NamedTuple):
    """The model at the time a snapshot was taken."""

    sources: dict[str, _State]
    filled: frozenset[tuple[str, str]]
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
        self.filled: set[tuple[str, str]] = set()
        self.waiting: set[tuple[str, str]] = set()
        self.kept: set[str] = set()
        self.collections = 0
        self.held: list[tuple[Snapshot, _Moment]] = []

    @initialize(keyed=st.booleans())
    def start(self, keyed: bool) -> None:
        """Begin with something worth losing."""
        self._open()
        for source in SOURCES[:2]:
            self.replace(0, source, [*TEXTS[:3], source], 1, keyed)
        self.fill(1, 5)

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

    @rule(handle=_handles, source=_sources, texts=_texts, metadata=st.integers(0, 2), keyed=st.booleans())
    def replace(self, handle: int, source: str, texts: list[str], metadata: int, keyed: bool) -> None:
        before = self.sources.get(source)
        write = write_of(
            source, texts, expected=before.version if before else None, metadata={"m": metadata}, vectors=keyed
        )
        (outcome,) = self.stores[handle].replace(NS, [write])
        self.numbers[source] = self.numbers.get(source, 0) + 1
        assert outcome.version == Version(self.numbers[source], 1)
        assert outcome.chunk_count == len(texts)
        self._settle(source, _State(outcome.version, tuple(texts), metadata), keyed)

    @precondition(lambda self: self.sources)
    @rule(handle=_handles, data=st.data(), metadata=st.integers(0, 2), keyed=st.booleans())
    def revise(self, handle: int, data: st.DataObject, metadata: int, keyed: bool) -> None:
        source = data.draw(st.sampled_from(sorted(self.sources)))
        before = self.sources[source]
        write = write_of(
            source,
            before.texts,
            expected=before.version,
            metadata={"m": metadata},
            vectors=keyed,
            keep_generation=True,
        )
        (outcome,) = self.stores[handle].replace(NS, [write])
        assert outcome.version == Version(before.version.generation, before.version.revision + 1)
        self._settle(source, before._replace(version=outcome.version, metadata=metadata), keyed)

    def _settle(self, source: str, state: _State, keyed: bool) -> None:
        """A text has a vector when it had one before; else, once it waits for one, as soon as its key is kept."""
        texts = {(source, text) for text in state.texts}
        wanting = texts if keyed else texts & self.waiting
        self._forget(source, texts)
        ready = {pair for pair in wanting if pair[1] in self.kept}
        self.filled |= ready
        self.waiting = (self.waiting | wanting) - self.filled
        self.sources[source] = state

    def _forget(self, source: str, keep: Set[tuple[str, str]] = frozenset()) -> None:
        self.filled = {pair for pair in self.filled if pair[0] != source or pair in keep}
        self.waiting = {pair for pair in self.waiting if pair[0] != source or pair in keep}

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
        self._forget(source)

    @rule(handle=_handles, limit=st.integers(1, 5))
    def fill(self, handle: int, limit: int) -> None:
        store = self.stores[handle]
        pending = store.pending_vectors(NS, SPACE, limit=limit)
        assert {item.text for item in pending} <= {text for _, text in self.waiting}
        assert all(item.key == key_of(item.text) for item in pending)
        assert len(pending) >= min(limit, len(self.waiting))
        store.fill_vectors(NS, SPACE, pending, vectors_of([item.text for item in pending]))
        self.kept |= {item.text for item in pending}
        self.filled |= {pair for pair in self.waiting if pair[1] in self.kept}
        self.waiting -= self.filled

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
        return _Moment(dict(self.sources), frozenset(self.filled), self.collections)

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
        vectors = {row: _half(vectors_of([text])[0]) for row, text in rows.items() if (row[0], text) in moment.filled}
        matching = {row for row in rows if moment.sources[row[0]].metadata >= 1}
        for text in QUERIES:
            lexical = bm25(analysed, type(self).analyze(text))
            dense = nearest(vectors, vectors_of([text])[0])
            request = SearchRequest(text=text, vector=vectors_of([text])[0], space=SPACE)
            result = snapshot.search(request)
            _same(result.legs["lexical"], lexical)
            _same(result.legs["dense"], dense)
            assert result.coverage == (len(vectors) / len(rows) if rows else 1.0)
            few = snapshot.search(SearchRequest(text=text, filter=F("m") >= 1, depth=3))
            _same(few.legs["lexical"], [item for item in lexical if item[:2] in matching][:3])


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
