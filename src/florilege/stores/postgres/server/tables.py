"""What is in the database: tables, their version, what a server must have, and how it is made.

``text`` is one immutable chunk text with its terms. Its search row stands in ``live`` while a snapshot of now sees it,
in ``staged`` before and in ``retired`` afterwards; only ``live`` is indexed for searching. ``manifest`` says which rows
a generation holds, in which order and from where. ``facet`` is what a filter can see of rows of one source: ``doc``
holds the metadata in a form SQL compares exactly (see :mod:`florilege.stores.postgres.reading.filters`), ``record``
the truth. ``vector`` is content-addressed and shared; ``row_vector`` says from which sequence number on a row has one
(0: from birth); ``vec_N`` holds the vectors of dense space N's live rows. ``posting`` holds what words and sparse
vectors are found by, in blocks (see :mod:`florilege.stores.postgres.writing.words`), and ``stat_delta`` the changes to
document frequencies. Sequence numbers count publications of a namespace.

Texts are ``COLLATE "C"`` wherever they are compared, so their order is that of code points. Contents are bytes: a text
column cannot hold every character.
"""

from __future__ import annotations

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.stores.postgres.server.connection import Connection

_PLAIN_BYTES = 7800
"""Longer vectors do not fit a page and are kept beside their rows."""

_SEARCH_ROW = (
    "row bigint PRIMARY KEY, ns int NOT NULL, source bigint NOT NULL, facet bigint NOT NULL,"
    ' length int NOT NULL, chunk_id text COLLATE "C" NOT NULL,'
    " digest bytea NOT NULL, text_digest bytea NOT NULL, parent bytea"
)
ROW_COLUMNS = "row, ns, source, facet, length, chunk_id, digest, text_digest, parent"

TABLES = f"""
CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE namespace (
    pk int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    space text,
    sparse_space text,
    analyzer text,
    seq bigint NOT NULL DEFAULT 0,
    horizon bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE space (
    pk int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    identity text COLLATE "C" NOT NULL UNIQUE,
    dimensions int NOT NULL,
    sparse boolean NOT NULL
);
CREATE TABLE source (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ns int NOT NULL REFERENCES namespace,
    source_id text COLLATE "C" NOT NULL,
    active bigint,
    last_number int NOT NULL DEFAULT 0,
    status text,
    corpus_id text COLLATE "C",
    ledger bytea,
    UNIQUE (ns, source_id)
);
CREATE TABLE facet (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ns int NOT NULL,
    source bigint NOT NULL,
    hash bytea NOT NULL,
    record text NOT NULL,
    doc jsonb NOT NULL,
    UNIQUE (source, hash)
);
CREATE INDEX facet_ns ON facet (ns);
CREATE INDEX facet_doc ON facet USING gin (doc jsonb_path_ops) WITH (fastupdate = off);
CREATE TABLE generation (
    pk bigint PRIMARY KEY,
    ns int NOT NULL,
    source bigint NOT NULL,
    number int,
    revision int,
    published_seq bigint,
    retired_seq bigint,
    published_at bigint,
    retired_at bigint,
    title bytea,
    facet bigint NOT NULL,
    document bytea,
    facts bytea,
    content_hash text,
    chunk_count int NOT NULL,
    parent_count int NOT NULL,
    pinned boolean NOT NULL DEFAULT false
);
CREATE INDEX generation_source ON generation (source, published_seq);
CREATE INDEX generation_staged ON generation (ns) WHERE published_seq IS NULL;

CREATE SEQUENCE generation_pk;
CREATE SEQUENCE row_pk;
CREATE TABLE text (row bigint PRIMARY KEY, content bytea NOT NULL, context bytea NOT NULL, words bytea NOT NULL);
CREATE TABLE staged ({_SEARCH_ROW}, generation bigint NOT NULL);
CREATE TABLE live ({_SEARCH_ROW}, born bigint NOT NULL, created bigint NOT NULL)
    WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX live_facet ON live (facet);
CREATE TABLE retired ({_SEARCH_ROW}, born bigint NOT NULL, created bigint NOT NULL, died bigint NOT NULL);
CREATE INDEX retired_died ON retired (ns, died);
CREATE VIEW published AS
    SELECT {ROW_COLUMNS}, born, created, NULL::bigint AS died FROM live
    UNION ALL SELECT {ROW_COLUMNS}, born, created, died FROM retired;
CREATE TABLE manifest (
    generation bigint NOT NULL,
    row bigint NOT NULL,
    ordinal int NOT NULL,
    provenance bytea,
    PRIMARY KEY (generation, row)
);
CREATE TABLE parent (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ns int NOT NULL,
    generation bigint NOT NULL,
    parent_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    ordinal int NOT NULL,
    content bytea NOT NULL,
    title bytea,
    summary bytea,
    facet bigint NOT NULL,
    provenance bytea
);
CREATE INDEX parent_key ON parent (ns, key);
CREATE INDEX parent_generation ON parent (generation);
CREATE TABLE document (hash bytea PRIMARY KEY, data bytea NOT NULL);
ALTER TABLE document ALTER data SET STORAGE EXTERNAL;

CREATE TABLE vector (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space int NOT NULL REFERENCES space,
    key bytea NOT NULL,
    dense halfvec,
    sparse bytea,
    created bigint NOT NULL,
    UNIQUE (space, key),
    CHECK ((dense IS NULL) <> (sparse IS NULL))
);
CREATE TABLE row_vector (
    row bigint NOT NULL,
    space int NOT NULL,
    vector bigint NOT NULL REFERENCES vector,
    seq bigint NOT NULL,
    PRIMARY KEY (row, space)
);
CREATE INDEX row_vector_vector ON row_vector (vector);
CREATE TABLE embed_queue (
    space int NOT NULL,
    row bigint NOT NULL,
    key bytea NOT NULL,
    PRIMARY KEY (space, row)
);
CREATE INDEX embed_queue_key ON embed_queue (space, key);
CREATE INDEX embed_queue_row ON embed_queue (row);

CREATE TABLE block (
    pk bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ns int NOT NULL,
    space int,
    generation bigint,
    rows int NOT NULL,
    terms bytea NOT NULL
);
CREATE INDEX block_ns ON block (ns);
CREATE TABLE posting (term bigint NOT NULL, block bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY (term, block));
ALTER TABLE posting ALTER data SET STORAGE EXTERNAL;
CREATE TABLE stat_delta (
    ns int NOT NULL, term bigint NOT NULL, seq bigint NOT NULL, ddf bigint NOT NULL, PRIMARY KEY (term, seq)
);

CREATE TABLE change (
    ns int NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    source bigint,
    generation bigint,
    at bigint NOT NULL
);
CREATE INDEX change_seq ON change (ns, seq);
CREATE TABLE stage_cache (key bytea PRIMARY KEY, value bytea NOT NULL, size int NOT NULL, at bigint NOT NULL);
CREATE INDEX stage_cache_at ON stage_cache (at, key, size);
CREATE TABLE run (
    id bigint PRIMARY KEY,
    ns int NOT NULL,
    corpus_id text COLLATE "C" NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint,
    counts text NOT NULL,
    facts text NOT NULL
);
CREATE INDEX run_corpus ON run (ns, corpus_id, id);
CREATE TABLE lease (
    ns int NOT NULL,
    corpus_id text COLLATE "C" NOT NULL,
    token bigint NOT NULL,
    holder text,
    process text,
    expires timestamptz NOT NULL,
    PRIMARY KEY (ns, corpus_id)
);
"""


def vec_table(space: int) -> str:
    """The table of the vectors of a space's live rows."""
    return f"vec_{space}"


def add_space(connection: Connection, space: EmbeddingSpace) -> int:
    """The key of a new space, with its table when it is a dense one."""
    found = connection.execute(
        "INSERT INTO space (identity, dimensions, sparse) VALUES (%s, %s, %s) RETURNING pk",
        (space.identity, space.dimensions, space.sparse),
    ).fetchone()
    assert found is not None
    if space.sparse:
        return int(found[0])
    table = vec_table(found[0])
    connection.execute(
        f"CREATE TABLE {table} (row bigint PRIMARY KEY, ns int NOT NULL, facet bigint NOT NULL,"
        f" since bigint NOT NULL, data halfvec({int(space.dimensions)}) NOT NULL)"
        " WITH (autovacuum_vacuum_scale_factor = 0.02)"
    )
    connection.execute(f"CREATE INDEX {table}_ns ON {table} (ns)")
    connection.execute(f"CREATE INDEX {table}_facet ON {table} (facet)")
    if 2 * space.dimensions < _PLAIN_BYTES:
        connection.execute(f"ALTER TABLE {table} ALTER data SET STORAGE PLAIN")
    return int(found[0])
