"""The embedded store under the published suites."""

from __future__ import annotations

from pathlib import Path

from florilege.stores import SQLiteStore
from florilege.testing.stores import StoreTests


class TestSQLite(StoreTests):
    def open(self, path: Path) -> SQLiteStore:
        return SQLiteStore(path)
