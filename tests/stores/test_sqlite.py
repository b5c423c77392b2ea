"""The embedded store under the published suites."""

from __future__ import annotations

from pathlib import Path

from florilege.stores import SQLiteStore
from florilege.testing.stores import StoreTests, VectorStoreTests


class TestSQLite(StoreTests):
    def open(self, path: Path) -> SQLiteStore:
        return SQLiteStore(path)


class TestSealedSQLite(VectorStoreTests):
    """With all rows but the last in segment files as soon as they are published."""

    def open(self, path: Path) -> SQLiteStore:
        return SQLiteStore(path, seal_rows=1)
