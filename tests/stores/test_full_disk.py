"""A disk that is full, wherever the write stands when it shows: told clearly, and nothing is lost."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from florilege.model.errors import StoreError
from florilege.model.ledger import Version
from florilege.stores import SQLiteStore
from florilege.stores.sqlite.database import connection
from florilege.testing.stores import NS, SPACE, contents, key_of, vectors_of, write_of

OLD = [f"old words {number}" for number in range(6)]
NEW = [f"new words {number} " * 200 for number in range(12)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with two generations of a source."""
    with SQLiteStore(tmp_path / "store") as store:
        store.replace(NS, [write_of("a", ["older"], vectors=True)])
        store.replace(NS, [write_of("a", OLD, vectors=True, expected=Version(1, 1))])
    return tmp_path / "store"


def replaced(store: SQLiteStore) -> None:
    store.replace(NS, [write_of("a", NEW, vectors=True, expected=Version(2, 1))])


def kept(store: SQLiteStore) -> None:
    texts = [f"text {number}" for number in range(400)]
    store.put_vectors(SPACE, [key_of(text) for text in texts], vectors_of(texts))


def cached(store: SQLiteStore) -> None:
    store.put_cached({bytes([number]): bytes(9000) for number in range(12)})


@pytest.mark.parametrize("act", [replaced, kept, cached])
@pytest.mark.parametrize("batch_chunks", [2000, 4], ids=["at once", "staged"])
def test_nothing_is_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[SQLiteStore], None], batch_chunks: int
) -> None:
    """With ever more room: the act fails whole, at another place each time, until there is enough."""
    failures = []
    for room in range(0, 400, 3):
        with monkeypatch.context() as patch, SQLiteStore(path, batch_chunks=batch_chunks) as store:
            patch.setattr(connection.Database, "_connect", cramped(room))
            store._database._pool.clear()
            failure = outcome(act, store)
        if failure is None:
            break
        failures.append(failure)
        with SQLiteStore(path) as store:
            assert store.check().problems == []
            with store.snapshot(NS) as snapshot:
                assert contents(snapshot, "a") == OLD
    assert len(failures) > 1
    assert {(failure.code, failure.retryable) for failure in failures} == {("disk_full", True)}
    assert all(str(path) in str(failure) for failure in failures)
    with SQLiteStore(path) as store:
        assert store.check().problems == []
        with store.snapshot(NS) as snapshot:
            assert contents(snapshot, "a") == (NEW if act is replaced else OLD)


def cramped(room: int) -> Callable[[connection.Database], sqlite3.Connection]:
    """Connections under which the file grows by ``room`` pages at the most."""
    connect = connection.Database._connect

    def connected(self: connection.Database) -> sqlite3.Connection:
        made = connect(self)
        made.execute(f"PRAGMA max_page_count = {made.execute('PRAGMA page_count').fetchone()[0] + room}")
        return made

    return connected


def outcome(act: Callable[[SQLiteStore], None], store: SQLiteStore) -> StoreError | None:
    try:
        act(store)
    except StoreError as error:
        return error
    return None


def test_the_system_refuses_to_let_files_grow(path: Path) -> None:
    script = (
        "import resource, sys\n"
        "from florilege.model.errors import FlorilegeError\n"
        "from florilege.stores import SQLiteStore\n"
        "from florilege.testing.stores import NS, write_of\n"
        "with SQLiteStore(sys.argv[1]) as store:\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))\n"
        "    try:\n"
        "        for number in range(200):\n"
        "            store.replace(NS, [write_of(f's{number}', ['word ' * 3000])])\n"
        "            print(f's{number}', flush=True)\n"
        "    except FlorilegeError as error:\n"
        "        print(error.code, error.retryable, sys.argv[1] in str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    *acknowledged, told = done.stdout.splitlines()
    assert told in ("io True True", "disk_full True True")
    assert acknowledged
    with SQLiteStore(path) as store:
        assert sorted(record.source_id for record in store.list_sources(NS)[0]) == sorted(["a", *acknowledged])
        assert store.check().problems == []
        assert store.replace(NS, [write_of("next", ["goes on"])])[0].conflict is None


def test_a_backup_that_does_not_fit_is_no_backup(path: Path, tmp_path: Path) -> None:
    script = (
        "import resource, sys\n"
        "from florilege.model.errors import FlorilegeError\n"
        "from florilege.stores import SQLiteStore\n"
        "with SQLiteStore(sys.argv[1]) as store:\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))\n"
        "    try:\n"
        "        store.backup(sys.argv[2])\n"
        "    except FlorilegeError as error:\n"
        "        print(error.code, sys.argv[2] in str(error))\n"
    )
    target = tmp_path / "copy"
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(target)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() in (["io", "True"], ["disk_full", "True"])
    assert list(target.iterdir()) == []
    with SQLiteStore(path) as store:
        store.backup(target)
    with SQLiteStore(target) as copy, copy.snapshot(NS) as snapshot:
        assert contents(snapshot, "a") == OLD
