"""The embedded store."""

from __future__ import annotations

import sqlite3
from typing import Any

from benchmarks.stores.engines.ours import Ours

from florilege.stores import SQLiteStore


class Engine(Ours):
    def make(self) -> Any:
        return SQLiteStore(self.folder / "store")

    def disk(self) -> float:
        return sum(file.stat().st_size for file in (self.folder / "store").rglob("*") if file.is_file()) / 2**20

    def versions(self) -> str:
        return f"florilege, SQLite {sqlite3.sqlite_version}"
