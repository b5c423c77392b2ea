"""The embedded store: a folder with one SQLite database as its only truth."""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import (
    Capabilities,
    Fence,
    Findings,
    PendingVector,
    RunRecord,
    SourceWrite,
    VectorLeg,
    WriteOutcome,
)
from florilege.model.filters import OPERATORS, Filter
from florilege.model.ledger import GenerationRecord, SourceRecord, Version
from florilege.stores.fields import Fields
from florilege.stores.sqlite import maintenance
from florilege.stores.sqlite.cache import StageResults
from florilege.stores.sqlite.connection import Database
from florilege.stores.sqlite.leases import Leases
from florilege.stores.sqlite.ledger import Ledger
from florilege.stores.sqlite.reading.snapshot import Pinned, SQLiteSnapshot
from florilege.stores.sqlite.repair import lost_chunks
from florilege.stores.sqlite.segments.sealing import SEAL_ROWS, Sealer
from florilege.stores.sqlite.spaces import Spaces
from florilege.stores.sqlite.vectors import Vectors
from florilege.stores.sqlite.writing.collect import RETENTION_SECONDS, VECTOR_SECONDS, collect
from florilege.stores.sqlite.writing.writer import BATCH_CHUNKS, Writer
from florilege.stores.terms import TextAnalyzer

if TYPE_CHECKING:
    from florilege.stores.resident.search import Search


class SQLiteStore:
    """A :class:`~florilege.interfaces.DataStore` and :class:`~florilege.interfaces.VectorStore` in a folder.

    ``create`` makes a missing folder; ``read_only`` opens for search alone, from media that cannot be written too.
    ``fields`` declares metadata fields and their kinds (``{"year": int, "due": datetime}``). ``analyzer`` turns text
    into terms (default: :class:`florilege.text.lexical.Analyzer`). ``batch_chunks`` are written in one transaction; a
    source of more is staged in several. More than ``seal_rows`` rows outside any segment file become one. Share one
    among threads; a forked child may go on using it. Raises NotFound (code ``no_store``),
    :class:`florilege.model.errors.Corrupt` for a damaged file and
    :class:`florilege.model.errors.ConfigError` for something that is no store, or a newer one.
    """

    capabilities = Capabilities(
        legs=frozenset({"dense", "sparse", "lexical"}),
        transactions=True,
        snapshots=True,
        concurrent_writers=True,
        filters=OPERATORS,
    )

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
        self._database = Database(self.path, create=create, read_only=read_only)
        self._fields = Fields(fields)
        self._given_analyzer = analyzer
        sealer = Sealer(self._database, seal_rows)
        self._writer = Writer(self._database, self._analyzer, batch_chunks, sealer)
        self._ledger = Ledger(self._database)
        self._leases = Leases(self._database)
        self._vectors = Vectors(self._database, sealer)
        self._spaces = Spaces(self._database)
        self._cache = StageResults(self._database)
        self._forget()
        self._database.on_fork.append(self._forget)

    def _forget(self) -> None:
        self._search: Search | None = None
        self._held: Counter[int] = Counter()
        self._lock = threading.Lock()

    def __enter__(self) -> SQLiteStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

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

    def _analyzer(self) -> TextAnalyzer:
        if self._given_analyzer is None:
            from florilege.text.lexical import Analyzer

            self._given_analyzer = Analyzer()
        return self._given_analyzer

    # -- sources --------------------------------------------------------------------------------------------------

    def get_sources(self, namespace: str, source_ids: Sequence[str]) -> dict[str, SourceRecord]:
        """The ledger rows there are for these ids, deleted ones included."""
        return self._ledger.get(namespace, source_ids)

    def list_sources(
        self,
        namespace: str,
        *,
        corpus_id: str | None = None,
        status: Sequence[str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[list[SourceRecord], str | None]:
        """Ledger rows by source id, and a cursor for the next page (None: no more)."""
        return self._ledger.page(namespace, corpus_id, status, limit, cursor)

    def replace(
        self, namespace: str, writes: Sequence[SourceWrite], *, fence: Fence | None = None
    ) -> list[WriteOutcome]:
        """Publish sources, each at once and whole; see :meth:`florilege.interfaces.DataStore.replace`."""
        for write in writes if self._fields else ():
            for metadata in itertools.chain([write.record.metadata], (chunk.metadata for chunk in write.chunks)):
                self._fields.check(metadata, write.record.source_id)
        return self._writer.replace(namespace, writes, fence)

    def delete_sources(
        self,
        namespace: str,
        expected: Mapping[str, Version | None],
        *,
        fence: Fence | None = None,
        forget: bool = False,
        run_id: int | None = None,
    ) -> list[WriteOutcome]:
        """Retire every generation of these sources; ``forget`` drops the ledger row too."""
        return self._writer.delete(namespace, expected, fence, forget, run_id)

    def record(self, namespace: str, records: Sequence[SourceRecord], *, fence: Fence | None = None) -> None:
        """Write ledger rows without touching generations."""
        self._ledger.record(namespace, records, fence)

    def history(self, namespace: str, source_id: str) -> list[GenerationRecord]:
        """A source's generations, newest first."""
        return self._ledger.history(namespace, source_id)

    def pin(self, namespace: str, source_id: str, generation: int, *, pinned: bool = True) -> None:
        """Keep a generation from being collected, or let it go again."""
        self._ledger.pin(namespace, source_id, generation, pinned)

    def stats(self, namespace: str | None = None) -> dict[str, Any]:
        """Sizes and counts."""
        return self._ledger.stats(namespace)

    def namespaces(self) -> list[str]:
        """The namespaces there are."""
        return self._ledger.namespaces()

    # -- runs and leases ------------------------------------------------------------------------------------------

    def begin_run(self, namespace: str, corpus_id: str) -> int:
        """A new run id, not yet written."""
        return self._leases.begin_run()

    def end_run(self, run: RunRecord, *, fence: Fence | None = None) -> None:
        """Write the run's one row."""
        self._leases.end_run(run, fence)

    def runs(self, namespace: str, corpus_id: str | None = None, limit: int = 20) -> list[RunRecord]:
        """The newest runs first."""
        return self._leases.runs(namespace, corpus_id, limit)

    def acquire_lease(self, namespace: str, corpus_id: str, holder: str, *, wait: float = 0.0) -> Fence:
        """Take the corpus's lease; Conflict names the holder after ``wait`` seconds."""
        return self._leases.acquire(namespace, corpus_id, holder, wait)

    def renew_lease(self, fence: Fence) -> None:
        """Hold it 60 s more; Conflict when it was taken over."""
        self._leases.renew(fence)

    def release_lease(self, fence: Fence) -> None:
        """Give it back; nothing happens when it was taken over."""
        self._leases.release(fence)

    # -- vectors --------------------------------------------------------------------------------------------------

    def bind_space(self, namespace: str, space: EmbeddingSpace, *, leg: VectorLeg = "dense") -> None:
        """Bind this leg of the namespace to this space; ConfigError when it has another."""
        self._vectors.bind(namespace, space, leg)

    def bound_space(self, namespace: str, *, leg: VectorLeg = "dense") -> str | None:
        """The identity of the space this leg of the namespace is bound to."""
        return self._vectors.bound(namespace, leg)

    def missing_vectors(self, space: EmbeddingSpace, keys: Sequence[bytes]) -> set[bytes]:
        """Which of these keys the store has no vector for."""
        return self._vectors.missing(space, keys)

    def put_vectors(self, space: EmbeddingSpace, keys: Sequence[bytes], vectors: Any) -> None:
        """Keep dense vectors by content key; keys that are there already are left as they are."""
        self._vectors.put(space, keys, vectors)

    def put_sparse(self, space: EmbeddingSpace, keys: Sequence[bytes], vectors: Sequence[Mapping[int, float]]) -> None:
        """Keep sparse vectors by content key; keys that are there already are left as they are."""
        self._vectors.put(space, keys, vectors)

    def pending_vectors(
        self, namespace: str, space: EmbeddingSpace, *, after: int = 0, limit: int = 64
    ) -> list[PendingVector]:
        """Visible chunks that wait for a vector, by row, from the one after ``after``."""
        return self._vectors.pending(namespace, space, after, limit)

    def count_pending(self, namespace: str, space: EmbeddingSpace) -> int:
        """How many visible chunks wait for a vector."""
        return self._vectors.count_pending(namespace, space)

    def fill_vectors(
        self,
        namespace: str,
        space: EmbeddingSpace,
        pending: Sequence[PendingVector],
        vectors: Any = None,
        *,
        fence: Fence | None = None,
    ) -> int:
        """Give waiting chunks their vectors (None: those kept under their keys); returns how many rows took one."""
        return self._vectors.fill(namespace, space, pending, vectors, fence)

    def unembedded(
        self, namespace: str, space: EmbeddingSpace, *, after: int = 0, limit: int = 64
    ) -> list[PendingVector]:
        """Visible chunks without a vector of this space, by row, from the one after ``after``; their key is empty."""
        return self._spaces.unembedded(namespace, space, after, limit)

    def enqueue_vectors(
        self, namespace: str, space: EmbeddingSpace, pending: Sequence[PendingVector], *, fence: Fence | None = None
    ) -> None:
        """Let these chunks wait for a vector of this space under the keys they bring."""
        self._spaces.enqueue(namespace, space, pending, fence)

    def switch_space(
        self,
        namespace: str,
        space: EmbeddingSpace,
        *,
        leg: VectorLeg = "dense",
        but: Collection[int] = (),
        fence: Fence | None = None,
    ) -> int:
        """Bind the leg to another space unless visible chunks (not in ``but``) lack a vector of it; how many do."""
        return self._spaces.switch(namespace, space, leg, but, fence)

    # -- stage results --------------------------------------------------------------------------------------------

    def get_cached(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Stage results by key, those there are."""
        return self._cache.get(keys)

    def put_cached(self, items: Mapping[bytes, bytes]) -> None:
        """Keep stage results; beyond 512 MB the ones written longest ago give way."""
        self._cache.put(items)

    # -- care -----------------------------------------------------------------------------------------------------

    def collect(
        self,
        namespace: str,
        *,
        keep_generations: int = 1,
        retention: float = RETENTION_SECONDS,
        vector_age: float = VECTOR_SECONDS,
        fence: Fence | None = None,
    ) -> dict[str, int]:
        """Remove what nobody can ask for any more; returns how many of each thing went.

        A source keeps its active generation, the newest ``keep_generations`` others (a deleted source none), pinned
        ones, and all that was retired less than ``retention`` seconds ago. Then go documents, metadata, forgotten
        sources and, past ``vector_age`` seconds, vectors nothing refers to. Snapshots from before raise NotFound
        (code ``collected``).
        """
        self._writer.sweep()
        return collect(
            self._database,
            namespace,
            keep_generations=keep_generations,
            retention=retention,
            vector_age=vector_age,
            fence=fence,
        )

    def lost_chunks(self, namespace: str) -> int:
        """How many chunks the active generations should have and have not; cheap enough for every sync."""
        return lost_chunks(self._database, namespace)

    def repair(self, namespace: str) -> list[str]:
        """Make what is derived anew and retire what cannot be trusted; the ids of the sources to index again."""
        return self._writer.repair(namespace)

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
