"""The server store: one schema of a PostgreSQL database with pgvector."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from florilege.interfaces.stores import Findings
from florilege.model.errors import ConfigError
from florilege.model.filters import Filter
from florilege.stores.postgres import care
from florilege.stores.postgres.cache import StageResults
from florilege.stores.postgres.declared import settled
from florilege.stores.postgres.leases import Leases
from florilege.stores.postgres.ledger import Ledger
from florilege.stores.postgres.reading.snapshot import Pinned, PostgresSnapshot
from florilege.stores.postgres.server import schema as tables
from florilege.stores.postgres.server.connection import Database
from florilege.stores.postgres.server.wire import escape
from florilege.stores.postgres.spaces import Spaces
from florilege.stores.postgres.vectors import Vectors
from florilege.stores.postgres.writing.vocabulary import Vocabulary
from florilege.stores.postgres.writing.writer import BATCH_CHUNKS, Writer
from florilege.stores.terms import TextAnalyzer, analyzer_of
from florilege.stores.verbs import Parts, Verbs


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

    Opening a store of an older schema version brings it up to date. Raises NotFound (code ``no_store``) without
    ``create``; ConfigError for a wrong DSN, a server that lacks something, a newer store, or an older one that may not
    be written; Unavailable when the server cannot be reached.
    """

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
        try:
            if create and not read_only:
                tables.create(database)
            else:
                tables.require(database)
            declared = settled(database, fields)
        except BaseException:
            database.close()
            raise
        self._database = database
        self._analyzer = analyzer_of(analyzer)
        self._vocabulary = Vocabulary(database, self._analyzer)
        parts = Parts(
            writer=Writer(database, self._vocabulary, declared, batch_chunks),
            ledger=Ledger(database),
            leases=Leases(database),
            vectors=Vectors(database, self._vocabulary.keys),
            spaces=Spaces(database),
            cache=StageResults(database),
        )
        super().__init__(parts, declared)

    def apply(self, *, ann: bool = False) -> None:
        """Make what is missing or older: extension, schema, tables; with ``ann`` an HNSW index on every dense space.

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

    # -- care -----------------------------------------------------------------------------------------------------

    def lost_chunks(self, namespace: str) -> int:
        """How many chunks the active generations should have and have not; cheap enough for every sync."""
        return care.lost_chunks(self._database, namespace)

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
