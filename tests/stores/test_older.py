"""Stores of earlier schema versions: brought up to date whole, or refused with the way out."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from florilege.apps.cli import main
from florilege.model.errors import ConfigError
from florilege.stores import SQLiteStore
from florilege.stores.sqlite.database import schema
from tests.stores.older.kept import check_kept, sqlite_store


@pytest.fixture(params=range(1, schema.VERSION))
def older(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A store of each older version."""
    return sqlite_store(tmp_path / "store", request.param)


def version(folder: Path) -> int:
    raw = sqlite3.connect(f"file:{folder / 'store.db'}?mode=ro", uri=True)
    try:
        return int(raw.execute("PRAGMA user_version").fetchone()[0])
    finally:
        raw.close()


def test_opening_brings_it_up_to_date(older: Path) -> None:
    with SQLiteStore(older, create=False) as store:
        check_kept(store)
    with SQLiteStore(older, read_only=True) as store:
        assert store.check().problems == []


def test_the_command_brings_it_up_to_date(older: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert version(older) < schema.VERSION
    assert main(["--store", str(older), "store", "migrate"]) == 0
    assert version(older) == schema.VERSION
    assert main(["--store", str(older), "store", "check"]) == 0
    with SQLiteStore(older, create=False) as store:
        check_kept(store)


def test_reading_only_tells_what_to_do(older: Path) -> None:
    before = (older / "store.db").read_bytes()
    with pytest.raises(ConfigError, match="florilege store migrate") as error:
        SQLiteStore(older, read_only=True)
    assert error.value.code == "older_store"
    assert (older / "store.db").read_bytes() == before


def test_a_migration_that_is_killed_begins_again(older: Path) -> None:
    script = "import sys; from florilege.stores import SQLiteStore; SQLiteStore(sys.argv[1])"
    armed = {**os.environ, "FLORILEGE_FAILPOINT": "migrate"}
    assert subprocess.run([sys.executable, "-c", script, str(older)], env=armed).returncode == -9
    with SQLiteStore(older) as store:
        check_kept(store)
