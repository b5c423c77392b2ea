"""Stage results by key, with a limit on their sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from florilege.stores import codecs
from florilege.stores.sqlite.database.connection import Database

LIMIT_BYTES = 512 << 20


class StageResults:
    """The verbs of the stage cache."""

    def __init__(self, database: Database, limit: int = LIMIT_BYTES) -> None:
        self._database = database
        self._limit = limit

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """See :meth:`florilege.interfaces.stores.DataStore.get_cached`."""
        found: dict[bytes, bytes] = {}
        wanted = list(dict.fromkeys(keys))
        with self._database.view() as connection:
            for start in range(0, len(wanted), 500):
                batch = wanted[start : start + 500]
                marks = ",".join("?" * len(batch))
                found.update(connection.execute(f"SELECT key, value FROM stage_cache WHERE key IN ({marks})", batch))
        return found

    def put(self, items: Mapping[bytes, bytes]) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.put_cached`."""
        at = codecs.now()
        with self._database.write() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO stage_cache (key, value, size, at) VALUES (?, ?, ?, ?)",
                [(key, value, len(value), at) for key, value in items.items()],
            )
            (total,) = connection.execute("SELECT coalesce(sum(size), 0) FROM stage_cache").fetchone()
            if total <= self._limit:
                return
            # Down to four fifths, so that a full cache is not trimmed at every write.
            connection.execute(
                "DELETE FROM stage_cache WHERE key IN (SELECT key FROM (SELECT key,"
                " sum(size) OVER (ORDER BY at DESC, key) AS kept FROM stage_cache) WHERE kept > ?)",
                (self._limit * 4 // 5,),
            )
