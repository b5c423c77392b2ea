"""What is on disk: tables, their version, and the check made before a file is trusted.

``row`` is one immutable chunk text with its metadata; it is born when its first generation is published and dies when
a publication leaves it out. ``manifest`` says which rows a generation holds, in which order and from where. A
collected generation keeps its record as long as rows are there that were born with it. ``vector`` is content-addressed
and shared; ``row_vector`` says from which sequence number on a row has one (0: from birth). Everything else a search
needs is derived from these tables and never stored as truth.
"""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

from florilege.model.errors import ConfigError, Corrupt
from florilege.model.failpoints import failpoint

APPLICATION_ID = 0x464C4F52
"""``FLOR`` in the header of every store.db."""

VERSION = 3

_MAGIC = b"SQLite format 3\x00"

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE namespace (
    pk INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    space TEXT
);
CREATE TABLE space (
    pk INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL
);
CREATE TABLE source (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    ns INTEGER NOT NULL REFERENCES namespace,
    source_id TEXT NOT NULL,
    active INTEGER,
    last_number INTEGER NOT NULL DEFAULT 0,
    status TEXT,
    corpus_id TEXT,
    ledger BLOB,
    UNIQUE (ns, source_id)
);
CREATE TABLE generation (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    ns INTEGER NOT NULL REFERENCES namespace,
    source INTEGER NOT NULL REFERENCES source,
    number INTEGER,
    revision INTEGER,
    published_seq INTEGER,
    retired_seq INTEGER,
    published_at INTEGER,
    retired_at INTEGER,
    title TEXT,
    metadata INTEGER NOT NULL,
    document BLOB,
    facts BLOB,
    content_hash TEXT,
    chunk_count INTEGER NOT NULL,
    parent_count INTEGER NOT NULL,
    pinned INTEGER NOT NULL DEFAULT 0,
    collected INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX generation_source ON generation (source, published_seq);
CREATE INDEX generation_published ON generation (ns, published_seq);

CREATE TABLE metadata (pk INTEGER PRIMARY KEY AUTOINCREMENT, hash BLOB NOT NULL UNIQUE, json TEXT NOT NULL);

CREATE TABLE row (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    source INTEGER NOT NULL,
    metadata INTEGER NOT NULL,
    first_gen INTEGER NOT NULL,
    died INTEGER,
    chunk_id TEXT NOT NULL,
    digest BLOB NOT NULL,
    text_digest BLOB NOT NULL,
    parent BLOB
);
CREATE INDEX row_first ON row (first_gen);
CREATE INDEX row_died ON row (died) WHERE died IS NOT NULL;

CREATE TABLE text (row INTEGER PRIMARY KEY, content TEXT NOT NULL, context TEXT NOT NULL);
CREATE TABLE lexeme (row INTEGER PRIMARY KEY, length INTEGER NOT NULL, terms BLOB NOT NULL, counts BLOB NOT NULL);
CREATE TABLE term (pk INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

CREATE TABLE manifest (
    generation INTEGER NOT NULL,
    row INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    provenance BLOB,
    PRIMARY KEY (generation, row)
) WITHOUT ROWID;
CREATE TABLE parent (
    pk INTEGER PRIMARY KEY,
    ns INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    parent_id TEXT NOT NULL,
    key TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    content TEXT NOT NULL,
    title TEXT,
    summary TEXT,
    metadata INTEGER NOT NULL,
    provenance BLOB
);
CREATE INDEX parent_key ON parent (ns, key);
CREATE INDEX parent_generation ON parent (generation);
CREATE TABLE document (hash BLOB PRIMARY KEY, data BLOB NOT NULL);

CREATE TABLE vector (
    pk INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES space,
    key BLOB NOT NULL,
    data BLOB NOT NULL,
    created INTEGER NOT NULL,
    UNIQUE (space, key)
);
CREATE TABLE row_vector (
    row INTEGER NOT NULL,
    space INTEGER NOT NULL,
    vector INTEGER NOT NULL REFERENCES vector,
    seq INTEGER NOT NULL,
    PRIMARY KEY (row, space)
) WITHOUT ROWID;
CREATE INDEX row_vector_vector ON row_vector (vector);
CREATE INDEX row_vector_seq ON row_vector (space, seq) WHERE seq > 0;
CREATE TABLE embed_queue (
    space INTEGER NOT NULL,
    row INTEGER NOT NULL,
    key BLOB NOT NULL,
    PRIMARY KEY (space, row)
) WITHOUT ROWID;
CREATE INDEX embed_queue_key ON embed_queue (space, key);

CREATE TABLE change (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    ns INTEGER,
    source INTEGER,
    generation INTEGER,
    at INTEGER NOT NULL
);
CREATE TABLE stage_cache (
    key BLOB PRIMARY KEY,
    value BLOB NOT NULL,
    size INTEGER NOT NULL,
    at INTEGER NOT NULL
);
CREATE INDEX stage_cache_at ON stage_cache (at, key, size);
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    ns INTEGER NOT NULL,
    corpus_id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    counts TEXT NOT NULL,
    facts TEXT NOT NULL
);
CREATE INDEX run_corpus ON run (ns, corpus_id, id);
CREATE TABLE lease (
    ns INTEGER NOT NULL,
    corpus_id TEXT NOT NULL,
    token INTEGER NOT NULL,
    holder TEXT,
    process TEXT,
    expires REAL NOT NULL,
    PRIMARY KEY (ns, corpus_id)
) WITHOUT ROWID;
"""

_MIGRATIONS: dict[int, str] = {
    1: """
ALTER TABLE namespace ADD COLUMN sparse_space TEXT;
ALTER TABLE space ADD COLUMN sparse INTEGER NOT NULL DEFAULT 0;
""",
    2: """
INSERT INTO meta (key, value) VALUES ('store', lower(hex(randomblob(16))));
CREATE TABLE segment (
    name TEXT PRIMARY KEY,
    ns INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    low INTEGER NOT NULL,
    sealed INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    size INTEGER NOT NULL,
    checksum BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE grave (
    ns INTEGER NOT NULL,
    died INTEGER NOT NULL,
    row INTEGER NOT NULL,
    born INTEGER NOT NULL,
    PRIMARY KEY (ns, died, row)
) WITHOUT ROWID;
""",
}
"""What brings a store of version n to n + 1."""


def check_header(path: Path) -> None:
    """Look at the file's first bytes before SQLite does.

    Only for a file no connection of this process can have open. Raises :class:`Corrupt` for something that is no
    database and :class:`ConfigError` for another program's, or for a newer version of ours.
    """
    with path.open("rb") as file:
        head = file.read(100)
    if not head:
        return
    if len(head) < 100 or not head.startswith(_MAGIC):
        raise Corrupt(f"{path} is not a SQLite database; restore the store from a backup", code="not_a_store")
    (version,) = struct.unpack(">i", head[60:64])
    (application,) = struct.unpack(">i", head[68:72])
    _check_identity(path, application, version)


def _check_identity(path: Path, application: int, version: int) -> None:
    if application != APPLICATION_ID:
        raise ConfigError(f"{path} is a SQLite database, but not a florilege store", code="not_a_store")
    if version > VERSION:
        raise ConfigError(
            f"{path} has schema version {version}; upgrade florilege, which knows {VERSION} at most",
            code="newer_store",
        )


def current(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the database has today's schema (False: older, or empty). Errors as :func:`check_header`."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == 0 and version == 0 and connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
        return False
    _check_identity(path, application, version)
    return bool(version == VERSION)


def upgrade(connection: sqlite3.Connection) -> None:
    """Create the tables or run the migrations that are due, in the caller's transaction."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        _run(connection, _TABLES)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for step in range(max(version, 1), VERSION):
        _run(connection, _MIGRATIONS[step])
        failpoint("migrate")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _run(connection: sqlite3.Connection, script: str) -> None:
    for statement in script.split(";\n"):
        if statement.strip():
            connection.execute(statement)
