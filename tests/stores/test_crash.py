"""Writers that die at any moment, while they seal and merge too, and processes that write and read side by side."""

from __future__ import annotations

from pathlib import Path

from florilege.stores import SQLiteStore
from florilege.testing.crash import SOAK, ConcurrencyTests, CrashTests


def open_at(location: str, batch_chunks: int) -> SQLiteStore:
    """A store that seals after so few rows that killed writers are often at it."""
    return SQLiteStore(location, batch_chunks=batch_chunks, seal_rows=4)


class TestSQLiteProcesses(CrashTests, ConcurrencyTests):
    opener = "tests.stores.test_crash:open_at"
    kills = 200 if SOAK else 18
    failpoints = ("stage", "publish.before", "publish.after", "delete", "fill", "collect", "seal", "merge", "")

    def location(self, path: Path) -> str:
        return str(path / "store")

    def opened(self, place: str) -> SQLiteStore:
        store = open_at(place, batch_chunks=2000)
        with store._database.read() as connection:
            staged = connection.execute("SELECT count(*) FROM generation WHERE published_seq IS NULL").fetchone()[0]
        assert staged <= 1, "what dead writers staged is swept by the next one"
        assert not any("missing or damaged" in note for note in store.check().notes)
        return store
