"""Segments: files of searchable rows that may be lost, damaged, replaced or old, and change no answer."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from florilege.interfaces.stores import SearchRequest, SearchResult
from florilege.model.ledger import Version
from florilege.stores import SQLiteStore
from florilege.stores.sqlite.segments import listing, sealing
from florilege.testing.stores import NS, SPACE, contents, vectors_of, write_of
from florilege.testing.stores.replacement import replacement_tests
from florilege.text.lexical import Analyzer

_analyzer = Analyzer()


def _open(path: Path, seal_rows: int = 8, **options: Any) -> SQLiteStore:
    return SQLiteStore(path, analyzer=_analyzer, seal_rows=seal_rows, **options)


def _open_sealing(path: Path) -> SQLiteStore:
    return _open(path, seal_rows=2)


TestSealedReplacement: Any = replacement_tests(_open_sealing, _analyzer.analyze)
TestSealedReplacement.settings = settings(stateful_step_count=15, max_examples=25)


@pytest.fixture(autouse=True)
def no_retention(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that died a moment ago are left out of new files."""
    monkeypatch.setattr(sealing, "_RETENTION", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store of forty sources in several segments, with vectors and a tail."""
    with _open(tmp_path / "store") as store:
        for number in range(40):
            store.replace(NS, [write_of(f"s{number:02}", _texts(number), vectors=True, metadata={"n": number})])
        _fill(store)
        store.replace(NS, [write_of("s03", ["apple three again"], expected=Version(1, 1), metadata={"n": 3})])
        store.delete_sources(NS, {"s04": None})
    assert len(_files(tmp_path / "store")) > 1
    return tmp_path / "store"


def _texts(number: int) -> list[str]:
    return [f"apple {number} of {part}" if part % 2 else f"pear {number} plum" for part in range(1 + number % 4)]


def _fill(store: SQLiteStore) -> None:
    pending = store.pending_vectors(NS, SPACE, limit=1000)
    store.fill_vectors(NS, SPACE, pending, vectors_of([item.text for item in pending]))


def _files(path: Path) -> list[Path]:
    return sorted((path / listing.FOLDER).glob("*"))


def _listed(path: Path) -> list[str]:
    raw = sqlite3.connect(f"file:{path / 'store.db'}?mode=ro", uri=True)
    try:
        return [name for (name,) in raw.execute("SELECT name FROM segment ORDER BY name")]
    finally:
        raw.close()


def _answers(store: SQLiteStore) -> list[SearchResult]:
    with store.snapshot(NS) as snapshot:
        return [
            snapshot.search(SearchRequest(text=text, vector=vectors_of([text])[0], space=SPACE, depth=30))
            for text in ("apple", "pear plum", "three", "absent")
        ]


def _truth(path: Path) -> list[SearchResult]:
    """What a copy without any file answers."""
    with _open(path, seal_rows=10_000) as store:
        copy = path.parent / f"copy-{len(list(path.parent.iterdir()))}"
        store.backup(copy)
    with _open(copy, seal_rows=10_000) as store:
        return _answers(store)


def _missing(file: Path) -> None:
    file.unlink()


def _cut_short(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _empty(file: Path) -> None:
    os.truncate(file, 0)


def _other_format(file: Path) -> None:
    file.write_bytes(b"\0" * 16 + file.read_bytes()[16:])


def _no_header(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:16] + b"\0" * (file.stat().st_size - 16))


def _other_store(file: Path) -> None:
    data = file.read_bytes()
    at = data.index(b'"store":"') + 9
    file.write_bytes(data[:at] + b"f" * 32 + data[at + 32 :])


def _folder_in_its_place(file: Path) -> None:
    file.unlink()
    file.mkdir()


_DAMAGES = [_missing, _cut_short, _empty, _other_format, _no_header, _other_store, _folder_in_its_place]


@pytest.mark.parametrize("damage", _DAMAGES)
def test_damaged_files_change_no_answer(path: Path, damage: Callable[[Path], None]) -> None:
    wanted = _truth(path)
    with _open(path) as store:
        assert _answers(store) == wanted
    for file in _files(path):
        damage(file)
    with _open(path) as store:
        assert _answers(store) == wanted
        assert store.check().problems == []
        assert sum("segment" in note for note in store.check().notes) == len(_listed(path))
        store.repair(NS)
        assert store.check().problems == []
        store.replace(NS, [write_of("new", ["quince"])])
        assert not any("segment" in note for note in store.check().notes)
        assert [file.name for file in _files(path) if file.is_file()] == _listed(path) != []
    with _open(path) as store:
        assert [result.legs["dense"] for result in _answers(store)] == [result.legs["dense"] for result in wanted]


def test_the_next_write_makes_lost_files_anew(path: Path) -> None:
    before = len(_listed(path))
    for file in _files(path):
        file.unlink()
    os.rmdir(path / listing.FOLDER)
    with _open(path) as store:
        store.replace(NS, [write_of("new", ["quince"])])
        assert not any("segment" in note for note in store.check().notes)
    assert len(_listed(path)) >= before
    with _open(path) as store:
        assert _answers(store) == _truth(path)


def test_damage_within_a_file_is_found_by_its_checksum(path: Path) -> None:
    file = _files(path)[0]
    data = bytearray(file.read_bytes())
    data[-1] ^= 0xFF
    file.write_bytes(data)
    with _open(path) as store:
        assert [note for note in store.check().notes if file.name in note]
        store.repair(NS)
        store.replace(NS, [write_of("new", ["quince"])])
        assert not any("segment" in note for note in store.check().notes)


def test_files_nobody_lists_are_swept(path: Path) -> None:
    for name in ("0" * 32 + ".segment", "half-written.segment.new"):
        (path / listing.FOLDER / name).write_bytes(b"x")
    with _open(path) as store:
        store.replace(NS, [write_of("new", [f"text {number}" for number in range(20)])])
    assert [file.name for file in _files(path)] == _listed(path)


def test_rows_collected_since_they_were_sealed_stay_dead(path: Path) -> None:
    with _open(path, seal_rows=10_000) as store:
        for number in range(10, 20):
            store.replace(NS, [write_of(f"s{number}", ["quince"], expected=Version(1, 1), metadata={"n": 1})])
        store.collect(NS, keep_generations=0, retention=0)
    wanted = _truth(path)
    with _open(path, seal_rows=10_000) as store:
        assert _answers(store) == wanted
    with _open(path, seal_rows=1) as store:  # every file is made anew, and the graves are gone with the old ones
        for number in range(20, 40):
            store.replace(NS, [write_of(f"s{number}", ["fig"], expected=Version(1, 1), metadata={"n": 1})])
        assert _answers(store) == _truth(path)


def test_a_reader_that_slept_through_collection_wakes(path: Path) -> None:
    with _open(path) as reader, _open(path) as writer:
        _answers(reader)
        for number in range(10, 20):
            writer.replace(NS, [write_of(f"s{number}", ["quince"], expected=Version(1, 1), metadata={"n": 1})])
        writer.collect(NS, keep_generations=0, retention=0)
        assert _answers(reader) == _answers(writer) == _truth(path)


def test_a_merge_between_listing_and_opening_is_no_damage(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = _truth(path)
    listed = listing.listed
    merged: list[bool] = []

    def slow(connection: sqlite3.Connection, namespace: int) -> Any:
        found = listed(connection, namespace)
        if not merged:
            merged.append(True)
            with _open(path, seal_rows=1) as store:
                for number in range(9):
                    store.replace(NS, [write_of(f"z{number}", ["unrelated", "words"])])
            assert not all(part.intact(path) for part in found)
        return found

    monkeypatch.setattr("florilege.stores.sqlite.reading.feed.listed", slow)
    with _open(path) as store, store.snapshot(NS) as snapshot:
        found = [item[1:] for item in snapshot.search(SearchRequest(text="three", depth=30)).legs["lexical"]]
    assert [item[:2] for item in found] == [item[1:3] for item in wanted[2].legs["lexical"]]


def test_old_snapshots_are_served_from_rows(path: Path) -> None:
    with _open(path, seal_rows=10_000) as store:
        with store.snapshot(NS) as snapshot:
            before = snapshot.seq
            texts = contents(snapshot, "s10")
        version = store.get_sources(NS, ["s10"])["s10"].version
        store.replace(NS, [write_of("s10", ["quince"], expected=version)])
    with _open(path, seal_rows=1) as store:
        store.replace(NS, [write_of("new", [f"text {number}" for number in range(20)])])
    with _open(path) as store, store.snapshot(NS, at=before) as snapshot:
        assert contents(snapshot, "s10") == texts
        rows = [item.row for item in snapshot.search(SearchRequest(text="10", depth=9)).legs["lexical"]]
        assert sorted(chunk.content for chunk in snapshot.hydrate(rows)) == sorted(texts)


def test_sealing_that_fails_fails_no_publication(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    before = _listed(path)
    with _open(path) as store:
        monkeypatch.setattr(os, "fsync", full)
        (outcome,) = store.replace(NS, [write_of("new", [f"text {number}" for number in range(20)])])
        assert outcome.conflict is None
        assert _listed(path) == before
        monkeypatch.undo()
        store.replace(NS, [write_of("newer", [f"text {number}" for number in range(20)])])
        assert [file.name for file in _files(path)] == _listed(path) != before
        assert store.check().problems == []


def test_words_analysed_anew_leave_the_files(path: Path) -> None:
    class Shouting(Analyzer):
        def __init__(self) -> None:
            super().__init__()
            self.version = "loud"

        def analyze(self, text: str) -> list[str]:
            return [term.upper() for term in super().analyze(text)]

        def query_terms(self, text: str) -> list[str]:
            return list(dict.fromkeys(self.analyze(text)))

    with SQLiteStore(path, analyzer=Shouting(), seal_rows=8) as store:
        store.replace(NS, [write_of("new", ["apple"])])
        with store.snapshot(NS) as snapshot:
            hits = snapshot.search(SearchRequest(text="apple", depth=1000)).legs["lexical"]
        assert len(hits) > 20
    assert _listed(path)
    with SQLiteStore(path, analyzer=Shouting(), seal_rows=8) as store, store.snapshot(NS) as snapshot:
        assert snapshot.search(SearchRequest(text="apple", depth=1000)).legs["lexical"] == hits


def test_files_are_mapped_for_this_process_alone(path: Path) -> None:
    before = {file: file.read_bytes() for file in _files(path)}
    with _open(path, seal_rows=10_000) as store:
        store.delete_sources(NS, {"s20": None})
        _answers(store)
        blocks = store._searching()._residents[1]._blocks
        assert any(block.sealed and np.count_nonzero(block.died < 10_000) for block in blocks)
    assert {file: file.read_bytes() for file in _files(path)} == before


def test_a_store_from_before_there_were_segments_gets_them(path: Path) -> None:
    wanted = _truth(path)
    for file in _files(path):
        file.unlink()
    raw = sqlite3.connect(path / "store.db")
    for statement in ("DROP TABLE segment", "DROP TABLE grave", "DELETE FROM meta WHERE key = 'store'"):
        raw.execute(statement)
    raw.commit()
    raw.execute("PRAGMA user_version = 2")
    raw.close()
    with _open(path) as store:
        assert _answers(store) == wanted
        store.replace(NS, [write_of("new", ["quince"])])
    assert _listed(path) == [file.name for file in _files(path)] != []
    with _open(path) as store:
        assert _answers(store) == _truth(path)
