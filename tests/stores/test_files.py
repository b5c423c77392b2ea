"""The embedded store's folder: what it refuses, survives and says."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from florilege.interfaces.stores import SearchRequest
from florilege.model.errors import ConfigError, Corrupt, NotFound, StoreError, Unavailable
from florilege.model.filters import F
from florilege.model.ledger import Version
from florilege.stores import SQLiteStore, open_store
from florilege.stores.sqlite.database import connection, schema
from florilege.testing.stores import NS, SPACE, contents, found, key_of, vectors_of, write_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with two sources."""
    with SQLiteStore(tmp_path / "store") as store:
        store.replace(NS, [write_of("a", ["apple pie", "pear"]), write_of("b", ["plum"])])
    return tmp_path / "store"


def test_a_missing_store_is_made_only_when_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as error:
        SQLiteStore(tmp_path / "none", create=False)
    assert error.value.code == "no_store"
    with pytest.raises(NotFound):
        SQLiteStore(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()
    SQLiteStore(tmp_path / "deep" / "one.florilege").close()
    SQLiteStore(tmp_path / "deep" / "one.florilege", create=False).close()


def test_urls(path: Path) -> None:
    with open_store(f"sqlite://{path}", create=False) as store:
        assert store.namespaces() == [NS]
    with pytest.raises(ConfigError, match="mystery"):
        open_store("mystery://host/base")


def test_folders_of_something_else_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A")
    for name in ("file", "docs"):
        with pytest.raises(ConfigError):
            SQLiteStore(tmp_path / name)
    assert os.listdir(tmp_path / "docs") == ["a.md"]


@pytest.mark.parametrize("head", [b"not a database at all" * 10, b"SQLite format 3\x00", b"\x00" * 200])
def test_a_file_that_is_no_database(path: Path, head: bytes) -> None:
    (path / "store.db").write_bytes(head)
    with pytest.raises(Corrupt, match=r"store\.db"):
        SQLiteStore(path)
    assert (path / "store.db").read_bytes() == head


def test_the_database_of_another_program(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    other = sqlite3.connect(tmp_path / "store" / "store.db")
    other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(ConfigError, match="not a florilege store"):
        SQLiteStore(tmp_path / "store")


def test_a_newer_store_is_refused_by_name(path: Path) -> None:
    raw = sqlite3.connect(path / "store.db")
    raw.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    raw.close()
    with pytest.raises(ConfigError, match=r"store\.db.*version") as error:
        SQLiteStore(path)
    assert error.value.code == "newer_store"


def test_damage_is_told_and_nothing_is_written(path: Path) -> None:
    data = bytearray((path / "store.db").read_bytes())
    for at in range(8192, len(data), 4096):
        data[at : at + 200] = b"\xff" * 200
    (path / "store.db").write_bytes(data)
    with pytest.raises(Corrupt) as error:
        _use(path)
    assert "store.db" in str(error.value)
    assert "backup" in str(error.value)


def test_a_truncated_file_is_told(path: Path) -> None:
    data = (path / "store.db").read_bytes()
    (path / "store.db").write_bytes(data[: len(data) // 2 + 100])
    with pytest.raises(Corrupt):
        _use(path)


def _use(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.list_sources(NS)
        store.replace(NS, [write_of("c", ["x"])])
        store.check()


def test_reading_only(path: Path) -> None:
    with SQLiteStore(path, read_only=True) as store:
        with store.snapshot(NS) as snapshot:
            assert found(snapshot, text="apple")["lexical"] == [("a", "apple pie")]
        for act in (
            lambda: store.replace(NS, [write_of("c", ["x"])]),
            lambda: store.delete_sources(NS, {"a": None}),
            lambda: store.acquire_lease(NS, "shelf", "me"),
        ):
            with pytest.raises(StoreError) as error:
                act()
            assert error.value.code == "read_only"


def test_media_that_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection.os, "access", lambda *args: False)
    before = sorted(os.listdir(path))
    with SQLiteStore(path, read_only=True) as store, store.snapshot(NS) as snapshot:
        assert found(snapshot, text="plum")["lexical"] == [("b", "plum")]
    assert sorted(os.listdir(path)) == before
    (path / "store.db-wal").write_bytes(b"something not merged")
    with pytest.raises(Unavailable):
        SQLiteStore(path, read_only=True)


def test_a_writer_that_waits_too_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LOCK_SECONDS", 0.2)
    script = (
        "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True);"
        "sys.stdin.read()"
    )
    with SQLiteStore(path) as store:
        holder = subprocess.Popen(
            [sys.executable, "-c", script, str(path / "writer.lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(Unavailable) as error:
            store.replace(NS, [write_of("c", ["x"])])
        assert error.value.retryable
        with store.snapshot(NS) as snapshot:
            assert contents(snapshot, "b") == ["plum"]
        holder.communicate()
        assert store.replace(NS, [write_of("c", ["x"])])[0].conflict is None


def test_an_open_database_is_never_opened_by_other_means(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SQLiteStore(path) as store:
        monkeypatch.setattr(schema, "check_header", lambda path: pytest.fail("closing it would drop our locks"))
        with SQLiteStore(path) as other:
            other.replace(NS, [write_of("c", ["x"])])
        with store.snapshot(NS) as snapshot:
            assert contents(snapshot, "c") == ["x"]


def test_the_log_is_merged_in_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CHECKPOINT_BYTES", 1 << 20)
    with SQLiteStore(path) as store:
        for number in range(40):
            store.replace(NS, [write_of(f"s{number}", [f"text {number} " * 4000])])
        assert store.stats()["wal_bytes"] < 3 << 20
    assert sorted(os.listdir(path)) == ["store.db", "writer.lock"]


def test_a_forked_child_goes_on(path: Path) -> None:
    with SQLiteStore(path) as store:
        with store.snapshot(NS) as snapshot:
            assert len(found(snapshot, text="apple")["lexical"]) == 1
        child = os.fork()
        if not child:
            status = 1
            try:
                with store.snapshot(NS) as snapshot:
                    assert len(found(snapshot, text="apple")["lexical"]) == 1
                store.replace(NS, [write_of("child", ["from the child"])])
                store.close()
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        store.replace(NS, [write_of("parent", ["from the parent"])])
        with store.snapshot(NS) as snapshot:
            texts = {text for _, text in found(snapshot, text="from")["lexical"]}
            assert texts == {"from the child", "from the parent"}
        assert store.check().problems == []


def test_threads_share_a_store(path: Path) -> None:
    faults: list[str] = []
    stop = threading.Event()

    def texts(number: int) -> list[str]:
        return [f"version {number} part {part}" for part in range(3)] + ["shared"]

    def read(store: SQLiteStore) -> None:
        while not stop.is_set() and not faults:
            with store.snapshot(NS) as snapshot:
                hits = found(snapshot, text="version", vector=vectors_of(["version"])[0], space=SPACE)["lexical"]
            versions = Counter((source, text.split()[1]) for source, text in hits)
            if len(versions) != 3 or set(versions.values()) != {3}:
                faults.append(str(hits))

    with SQLiteStore(path) as store:
        store.replace(NS, [write_of(name, texts(0), vectors=True) for name in "xyz"])
        readers = [threading.Thread(target=read, args=(store,)) for _ in range(4)]
        for reader in readers:
            reader.start()
        for number in range(1, 40):
            for name in "xyz":
                version = store.get_sources(NS, [name])[name].version
                store.replace(NS, [write_of(name, texts(number), expected=version, vectors=True)])
            pending = store.pending_vectors(NS, SPACE)
            store.fill_vectors(NS, SPACE, pending, vectors_of([item.text for item in pending]))
        stop.set()
        for reader in readers:
            reader.join()
    assert faults == []


class _Words:
    """An analyser that splits at blanks; ``version`` tells them apart, ``cut`` shortens the words."""

    def __init__(self, version: str, cut: int) -> None:
        self.version = version
        self.cut = cut

    def analyze(self, text: str) -> list[str]:
        return [word[: self.cut] for word in text.split()]

    def query_terms(self, text: str) -> list[str]:
        return list(dict.fromkeys(self.analyze(text)))


def test_words_follow_the_analyser(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "store", analyzer=_Words("long", 99)) as store:
        store.replace(NS, [write_of("a", ["apples are red"]), write_of("b", ["applause"])])
        with store.snapshot(NS) as snapshot:
            assert found(snapshot, text="apples")["lexical"] == [("a", "apples are red")]
    with SQLiteStore(tmp_path / "store", analyzer=_Words("short", 4)) as store:
        with store.snapshot(NS) as snapshot:
            result = snapshot.search(SearchRequest(text="apples"))
            assert result.legs["lexical"] == []
            assert result.facts["stale_lexemes"]
        assert any("long" in note for note in store.check().notes)
        store.replace(NS, [write_of("c", ["pear"])])
        with store.snapshot(NS) as snapshot:
            assert {name for name, _ in found(snapshot, text="apples")["lexical"]} == {"a", "b"}
            assert "stale_lexemes" not in snapshot.search(SearchRequest(text="apples")).facts
        assert store.check().problems == []


def test_a_copy_while_in_use(path: Path, tmp_path: Path) -> None:
    with SQLiteStore(path) as store:
        store.backup(tmp_path / "copy")
        store.replace(NS, [write_of("c", ["later"])])
        with pytest.raises(ConfigError):
            store.backup(tmp_path / "copy")
    with SQLiteStore(tmp_path / "copy", create=False) as copy:
        assert [record.source_id for record in copy.list_sources(NS)[0]] == ["a", "b"]
        with copy.snapshot(NS) as snapshot:
            assert found(snapshot, text="apple")["lexical"] == [("a", "apple pie")]
        assert copy.check().problems == []


def test_collection_keeps_what_it_says(path: Path) -> None:
    def count(table: str) -> int:
        raw = sqlite3.connect(f"file:{path / 'store.db'}?mode=ro", uri=True)
        try:
            return int(raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
        finally:
            raw.close()

    store = SQLiteStore(path)
    for number in range(1, 6):
        texts = ["apple pie", f"only in {number}"]
        store.replace(NS, [write_of("a", texts, expected=Version(number, 1), metadata={"of": "a"})])
    store.pin(NS, "a", 2)
    assert store.collect(NS)["generations"] == 0  # all too young
    counts = store.collect(NS, retention=0)
    assert counts["generations"] == 3  # 6 is active, 5 the newest other, 2 pinned
    assert [item.generation for item in store.history(NS, "a")] == [6, 5, 2]
    assert count("text") == 1 + 1 + 3  # plum, the carried pie, one text in each of 6, 5, 2
    with store.snapshot(NS) as snapshot:
        assert [chunk.content for chunk in snapshot.chunks("a", generation=2)] == ["apple pie", "only in 1"]
        with pytest.raises(NotFound) as error:
            snapshot.chunks("a", generation=3)
        assert error.value.code == "collected"
    store.pin(NS, "a", 2, pinned=False)
    with pytest.raises(NotFound):
        store.pin(NS, "a", 3)
    assert store.collect(NS, retention=0)["generations"] == 1
    assert store.check().problems == []
    store.close()
    with SQLiteStore(path) as store:  # arrays are fed from rows whose first generation is gone
        with store.snapshot(NS) as snapshot:
            assert ("a", "apple pie") in found(snapshot, text="apple")["lexical"]
        store.delete_sources(NS, {"a": None, "b": None}, forget=True)
        store.collect(NS, retention=0)
    assert [count(name) for name in ("text", "row", "generation", "manifest", "document", "source", "metadata")] == [
        0
    ] * 7


def test_unreferenced_vectors_go_with_age(path: Path) -> None:
    with SQLiteStore(path) as store:
        keys = [key_of("kept"), key_of("loose")]
        store.put_vectors(SPACE, keys, vectors_of(["kept", "loose"]))
        store.replace(NS, [write_of("c", ["kept"], vectors=True)])
        assert store.collect(NS)["vectors"] == 0
        assert store.collect(NS, vector_age=-1)["vectors"] == 1
        assert store.missing_vectors(SPACE, keys) == {keys[1]}


def test_an_old_snapshot_is_told_what_happened(path: Path) -> None:
    with SQLiteStore(path) as store, store.snapshot(NS) as before:
        (row,) = (item.row for item in before.search(SearchRequest(text="pear")).legs["lexical"])
        store.replace(NS, [write_of("a", ["fig"], expected=Version(1, 1))])
        assert before.hydrate([row])[0].content == "pear"
        store.collect(NS, keep_generations=0, retention=0)
        acts: list[Callable[[], object]] = [
            lambda: before.hydrate([row]),
            lambda: before.chunks("a"),
            lambda: before.titles(["a"]),
            lambda: before.document("a"),
        ]
        for act in acts:
            with pytest.raises(NotFound) as error:
                act()
            assert error.value.code == "collected"


def test_declared_fields(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "store", fields={"due": datetime, "year": int}) as store:
        early, late = {"due": "2024-05-01", "year": 1}, {"due": "2024-05-01T10:00:00+02:00"}
        store.replace(NS, [write_of("early", ["same"], metadata=early), write_of("late", ["same"], metadata=late)])
        with pytest.raises(ConfigError, match="year"):
            store.replace(NS, [write_of("bad", ["same"], metadata={"year": "2024"})])
        with pytest.raises(ConfigError, match="due"):
            store.replace(NS, [write_of("bad", ["same"], metadata={"due": "tomorrow"})])
        wanted = F("due") > datetime(2024, 5, 1)
        with store.snapshot(NS) as snapshot, store.snapshot(NS, floor=wanted) as floored:
            result = snapshot.search(SearchRequest(text="same", filter=wanted))
            assert [item.source_id for item in result.legs["lexical"]] == ["late"]
            assert result.facts["undeclared_fields"] == []
            assert snapshot.chunks("early")[0].metadata == early
            assert floored.titles(["early", "late"]) == {"late": "LATE"}


def test_the_lease_of_a_dead_process_is_free(path: Path) -> None:
    script = (
        "import sys, os, signal; from florilege.stores import SQLiteStore;"
        "SQLiteStore(sys.argv[1]).acquire_lease('library', 'shelf', 'doomed'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    if not Path("/proc/self/stat").exists():
        pytest.skip("dead processes are told by /proc")
    with SQLiteStore(path) as store:
        assert store.acquire_lease(NS, "shelf", "next").token == 2


def test_a_moved_store_is_the_same_store(path: Path, tmp_path: Path) -> None:
    shutil.move(path, tmp_path / "moved.florilege")
    with SQLiteStore(tmp_path / "moved.florilege", create=False) as store, store.snapshot(NS) as snapshot:
        assert contents(snapshot, "b") == ["plum"]
