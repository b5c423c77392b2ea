"""The embedded store: a folder with one SQLite database as its only truth."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from florilege.interfaces.stores import Findings
from florilege.model.filters import Filter
from florilege.stores.fields import Fields
from florilege.stores.sqlite import maintenance
from florilege.stores.sqlite.cache import StageResults
from florilege.stores.sqlite.database.connection import Database
from florilege.stores.sqlite.leases import Leases
from florilege.stores.sqlite.ledger import Ledger
from florilege.stores.sqlite.reading.snapshot import Pinned, SQLiteSnapshot
from florilege.stores.sqlite.repair import lost_chunks
from florilege.stores.sqlite.segments.sealing import SEAL_ROWS, Sealer
from florilege.stores.sqlite.spaces import Spaces
from florilege.stores.sqlite.vectors import Vectors
from florilege.stores.sqlite.writing.writer import BATCH_CHUNKS, Writer
from florilege.stores.terms import TextAnalyzer, analyzer_of
from florilege.stores.verbs import Parts, Verbs

if TYPE_CHECKING:
    from florilege.stores.resident.searching.search import Search


class SQLiteStore(Verbs):
    """A :class:`~florilege.interfaces.DataStore` and :class:`~florilege.interfaces.VectorStore` in a folder.

    ``create`` makes a missing folder; ``read_only`` opens for search alone, from media that cannot be written too.
    ``fields`` declares metadata fields and their kinds (``{"year": int, "due": datetime}``). ``analyzer`` turns text
    into terms (default: :class:`florilege.text.lexical.Analyzer`). ``batch_chunks`` are written in one transaction; a
    source of more is staged in several. More than ``seal_rows`` rows outside any segment file become one. Share one
    among threads; a forked child may go on using it. Raises NotFound (code ``no_store``),
    :class:`florilege.model.errors.Corrupt` for a damaged file and
    :class:`florilege.model.errors.ConfigError` for something that is no store, or a newer one.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        read_only: bool = False,
        fields: Mapping[str, type | str] | None = None,
        analyzer: TextAnalyzer | None = None,
        batch_chunks: int = BATCH_CHUNKS,
        seal_rows: int = SEAL_ROWS,
    ) -> None:
        self.path = Path(path).expanduser().absolute()
        self._database = database = Database(self.path, create=create, read_only=read_only)
        self._analyzer = analyzer_of(analyzer)
        sealer = Sealer(database, seal_rows)
        parts = Parts(
            writer=Writer(database, self._analyzer, batch_chunks, sealer),
            ledger=Ledger(database),
            leases=Leases(database),
            vectors=Vectors(database, sealer),
            spaces=Spaces(database),
            cache=StageResults(database),
        )
        super().__init__(parts, Fields(fields))
        self._forget()
        self._database.on_fork.append(self._forget)

    def _forget(self) -> None:
        self._search: Search | None = None
        self._held: Counter[int] = Counter()
        self._lock = threading.Lock()

    # -- snapshots ------------------------------------------------------------------------------------------------

    @contextmanager
    def snapshot(
        self, namespace: str, floor: Filter | None = None, *, at: int | None = None
    ) -> Iterator[SQLiteSnapshot]:
        """Pin the newest sequence number, or an earlier one; ``floor`` joins every request's filter."""
        with self._database.view() as connection:
            found = connection.execute("SELECT pk FROM namespace WHERE name = ?", (namespace,)).fetchone()
            (seq,) = connection.execute("SELECT coalesce(max(seq), 0) FROM change").fetchone()
        seq = seq if at is None else min(at, seq)
        with self._lock:
            self._held[seq] += 1
        try:
            yield SQLiteSnapshot(self._pinned(), namespace, found[0] if found else None, seq, floor)
        finally:
            with self._lock:
                self._held -= Counter((seq,))

    def _pinned(self) -> Pinned:
        return Pinned(self._database, self._analyzer, self._searching, self._fields)

    def _oldest(self) -> int:
        with self._lock:
            return min(self._held, default=0)

    def _searching(self) -> Search:
        search = self._search
        if search is None:
            from florilege.stores.sqlite.reading.feed import search_of

            search = self._search = search_of(self._database, self._fields, self._oldest)
        return search

    # -- care -----------------------------------------------------------------------------------------------------

    def lost_chunks(self, namespace: str) -> int:
        """How many chunks the active generations should have and have not; cheap enough for every sync."""
        return lost_chunks(self._database, namespace)

    def check(self) -> Findings:
        """Read the whole store: what is damaged, and what is worth knowing."""
        return maintenance.check(self._database, self._analyzer())

    def backup(self, path: str | os.PathLike[str]) -> None:
        """A consistent copy in a new folder, while the store is in use."""
        maintenance.backup(self._database, Path(path))

    # -- the end --------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close every handle; using the store afterwards is a StoreError."""
        self._database.close()
        self._search = None
