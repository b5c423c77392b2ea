"""Stage results by key, with a limit on their sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from florilege.stores import codecs
from florilege.stores.postgres.server.connection import Connection, Database

LIMIT_BYTES = 512 << 20


class StageResults:
    """The verbs of the stage cache."""

    def __init__(self, database: Database, limit: int = LIMIT_BYTES) -> None:
        self._database = database
        self._limit = limit

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """See :meth:`florilege.interfaces.stores.DataStore.get_cached`."""
        return dict(self._database.fetch("SELECT key, value FROM stage_cache WHERE key = ANY(%s)", (list(keys),)))

    def put(self, items: Mapping[bytes, bytes]) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.put_cached`."""

        def work(connection: Connection) -> None:
            keys = sorted(items)
            connection.execute(
                "INSERT INTO stage_cache (key, value, size, at) SELECT key, value, length(value), %s"
                " FROM unnest(%s::bytea[], %s::bytea[]) AS u (key, value)"
                " ON CONFLICT (key) DO UPDATE SET value = excluded.value, size = excluded.size, at = excluded.at",
                (codecs.now(), keys, [items[key] for key in keys]),
            )
            found = connection.execute("SELECT coalesce(sum(size), 0) FROM stage_cache").fetchone()
            if found is None or found[0] <= self._limit:
                return
            # Down to four fifths, so that a full cache is not trimmed at every write.
            connection.execute(
                "DELETE FROM stage_cache WHERE key IN (SELECT key FROM (SELECT key,"
                " sum(size) OVER (ORDER BY at DESC, key) AS kept FROM stage_cache) x WHERE kept > %s)",
                (self._limit * 4 // 5,),
            )

        self._database.write(work)
