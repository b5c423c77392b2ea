"""The embedded store under the published suites."""

from __future__ import annotations

from pathlib import Path

from florilege.stores import SQLiteStore
from florilege.testing.stores import DataStoreTests, FilterTests, SparseTests, VectorStoreTests


class TestSQLite(DataStoreTests, VectorStoreTests, SparseTests, FilterTests):
    def open(self, path: Path) -> SQLiteStore:
        return SQLiteStore(path)
