"""The server store: one schema of a PostgreSQL database with pgvector."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from florilege.interfaces.stores import Capabilities, Fence, Findings
from florilege.model.errors import ConfigError
from florilege.model.filters import OPERATORS, Filter
from florilege.stores.postgres import care
from florilege.stores.postgres.declared import settled
from florilege.stores.postgres.reading.snapshot import Pinned, PostgresSnapshot
from florilege.stores.postgres.server import schema as tables
from florilege.stores.postgres.server.connection import Database
from florilege.stores.postgres.server.wire import escape
from florilege.stores.postgres.verbs import Verbs
from florilege.stores.postgres.writing.collect import RETENTION_SECONDS, VECTOR_SECONDS, collect
from florilege.stores.postgres.writing.vocabulary import Vocabulary
from florilege.stores.postgres.writing.writer import BATCH_CHUNKS
from florilege.stores.terms import TextAnalyzer


def check_server(dsn: str, schema: str | None = None) -> Findings:
    """What a server or a role lacks for a store, before there is one. Unavailable when it cannot be reached."""
    database = Database(dsn, schema, read_only=True)
    try:
        return tables.missing(database)
    finally:
        database.close()


class PostgresStore(Verbs):
    """A :class:`~florilege.interfaces.DataStore` and :class:`~florilege.interfaces.VectorStore` on a server.

    ``dsn`` is a libpq URL or connection string for PostgreSQL 15 or newer with pgvector 0.8 or newer; everything lives
    in ``schema`` (default: the URL's ``schema`` parameter, else ``florilege``), so one database holds many stores.
    ``create`` makes what is missing, as :meth:`apply` does. ``fields``, ``analyzer`` and ``batch_chunks`` are as for
    :class:`florilege.stores.SQLiteStore`; declared fields are kept with the store, and None means those. Share one
    among threads; a forked child may go on using it. Connections keep session state: behind a pooler, let it pool
    sessions.

    Raises NotFound (code ``no_store``) without ``create``; ConfigError for a wrong DSN, a server that lacks something,
    or a newer store; Unavailable when the server cannot be reached.
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
        dsn: str,
        *,
        schema: str | None = None,
        create: bool = True,
        read_only: bool = False,
        fields: Mapping[str, type | str] | None = None,
        analyzer: TextAnalyzer | None = None,
        batch_chunks: int = BATCH_CHUNKS,
    ) -> None:
        database = Database(dsn, schema, read_only=read_only)
        self._given_analyzer = analyzer
        try:
            if create and not read_only:
                tables.create(database)
            else:
                tables.require(database)
            declared = settled(database, fields)
        except BaseException:
            database.close()
            raise
        super().__init__(database, Vocabulary(database, self._analyzer), declared, batch_chunks)

    def __enter__(self) -> PostgresStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def apply(self, *, ann: bool = False) -> None:
        """Make whatever is missing: extension, schema, tables; with ``ann`` an HNSW index on every dense space.

        Does nothing where everything is there. With the index, dense searches over more than 20,000 matching rows are
        approximate and faster; all others stay exact.
        """
        tables.create(self._database)
        if ann:
            tables.index_spaces(self._database)

    def check(self) -> Findings:
        """What the server or the role lacks (extension, versions, grants), and what is damaged in the store."""
        return care.check(self._database, self._vocabulary)

    # -- snapshots ------------------------------------------------------------------------------------------------

    @contextmanager
    def snapshot(
        self, namespace: str, floor: Filter | None = None, *, at: int | None = None
    ) -> Iterator[PostgresSnapshot]:
        """Pin the newest sequence number, or an earlier one; ``floor`` joins every request's filter."""
        found = self._database.fetch("SELECT pk, seq FROM namespace WHERE name = %s", (escape(namespace),))
        key, seq = found[0] if found else (None, 0)
        pinned = Pinned(self._database, self._analyzer, self._vocabulary.keys, self._fields)
        yield PostgresSnapshot(pinned, namespace, key, seq if at is None else min(at, seq), floor)

    def _analyzer(self) -> TextAnalyzer:
        if self._given_analyzer is None:
            from florilege.text.lexical import Analyzer

            self._given_analyzer = Analyzer()
        return self._given_analyzer

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
        return care.lost_chunks(self._database, namespace)

    def repair(self, namespace: str) -> list[str]:
        """Make what is derived anew and retire what cannot be trusted; the ids of the sources to index again."""
        return care.repair(self._database, self._vocabulary, namespace)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Not this store's to do: ConfigError naming what does it."""
        raise ConfigError(
            f"a server is backed up by its own tools: pg_dump --schema={self._database.schema}; "
            f"or copy the store into a folder: florilege store copy {os.fspath(path)}",
            code="no_backup",
        )

    # -- the end --------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close every connection; using the store afterwards is a StoreError."""
        self._database.close()
