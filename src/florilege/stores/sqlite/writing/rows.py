"""The statements that put rows in and take them out. All of them run inside the caller's write transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.stores import codecs
from florilege.stores.preparation import Prepared, Row
from florilege.stores.sqlite.writing.linking import Wanted, add_vectors, borrow_from_twins

Lexeme = tuple[int, bytes, bytes]


def namespace_key(connection: sqlite3.Connection, name: str, *, create: bool = False) -> int | None:
    """The namespace's key; None when there is no such namespace and none shall be made."""
    found = connection.execute("SELECT pk FROM namespace WHERE name = ?", (name,)).fetchone()
    if found is not None:
        return int(found[0])
    if not create:
        return None
    return int(connection.execute("INSERT INTO namespace (name) VALUES (?) RETURNING pk", (name,)).fetchone()[0])


def space_key(connection: sqlite3.Connection, space: EmbeddingSpace, *, create: bool = False) -> int | None:
    """The space's key, as :func:`namespace_key`."""
    found = connection.execute("SELECT pk FROM space WHERE identity = ?", (space.identity,)).fetchone()
    if found is not None:
        return int(found[0])
    if not create:
        return None
    (key,) = connection.execute(
        "INSERT INTO space (identity, dimensions, sparse) VALUES (?, ?, ?) RETURNING pk",
        (space.identity, space.dimensions, space.sparse),
    ).fetchone()
    return int(key)


def source_key(connection: sqlite3.Connection, namespace: int, source_id: str) -> int:
    """The source's key, made when there is none."""
    connection.execute(
        "INSERT INTO source (ns, source_id) VALUES (?, ?) ON CONFLICT DO NOTHING", (namespace, source_id)
    )
    (key,) = connection.execute(
        "SELECT pk FROM source WHERE ns = ? AND source_id = ?", (namespace, source_id)
    ).fetchone()
    return int(key)


def keep_metadata(connection: sqlite3.Connection, records: Mapping[bytes, str]) -> dict[bytes, int]:
    """The keys of metadata records, stored where they are new."""
    keys = {}
    for name, text in records.items():
        found = connection.execute("SELECT pk FROM metadata WHERE hash = ?", (name,)).fetchone()
        if found is None:
            found = connection.execute(
                "INSERT INTO metadata (hash, json) VALUES (?, ?) RETURNING pk", (name, text)
            ).fetchone()
        keys[name] = int(found[0])
    return keys


def add_generation(
    connection: sqlite3.Connection, namespace: int, source: int, prepared: Prepared, metadata: Mapping[bytes, int]
) -> int:
    """A generation nobody sees yet, with its parents and document."""
    write = prepared.write
    document, facts = (prepared.document[0] if prepared.document else None), prepared.facts
    if prepared.document is not None:
        connection.execute("INSERT INTO document (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING", prepared.document)
    elif write.keep_generation and prepared.base is not None:
        document, facts = connection.execute(
            "SELECT document, facts FROM generation WHERE pk = ?", (prepared.base,)
        ).fetchone()
    (generation,) = connection.execute(
        "INSERT INTO generation (ns, source, title, metadata, document, facts, content_hash, chunk_count, parent_count)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING pk",
        (
            namespace,
            source,
            write.record.title,
            metadata[prepared.source_metadata],
            document,
            facts,
            write.record.content_hash,
            len(prepared.rows),
            len(prepared.parents),
        ),
    ).fetchone()
    connection.executemany(
        "INSERT INTO parent (ns, generation, parent_id, key, ordinal, content, title, summary, metadata, provenance)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(namespace, generation, *parent[:6], metadata[parent[6]], parent[7]) for parent in prepared.parents],
    )
    return int(generation)


def add_rows(
    connection: sqlite3.Connection,
    source: int,
    generation: int,
    rows: Sequence[Row],
    lexemes: Mapping[int, Lexeme],
    metadata: Mapping[bytes, int],
    spaces: Iterable[Wanted],
) -> None:
    """Put ``rows`` into the generation: carried ones as manifest lines, new ones with text, lexeme and vector.

    ``lexemes`` holds those of new rows without a twin, by ordinal. Twins lend their lexeme and their vectors of
    every space the write says nothing about.
    """
    (next_pk,) = connection.execute(
        "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'row'), 0) + 1"
    ).fetchone()
    new = [row for row in rows if row.carried is None]
    keyed = list(zip(range(next_pk, next_pk + len(new)), new, strict=True))
    connection.executemany(
        "INSERT INTO row (pk, source, metadata, first_gen, chunk_id, digest, text_digest, parent)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                pk,
                source,
                metadata[row.metadata],
                generation,
                row.chunk.chunk_id,
                row.digest,
                row.text_digest,
                row.parent,
            )
            for pk, row in keyed
        ],
    )
    connection.executemany(
        "INSERT INTO text (row, content, context) VALUES (?, ?, ?)",
        [(pk, row.chunk.content, row.chunk.context) for pk, row in keyed],
    )
    connection.executemany(
        "INSERT INTO lexeme (row, length, terms, counts) VALUES (?, ?, ?, ?)",
        [(pk, *lexemes[row.ordinal]) for pk, row in keyed if row.ordinal in lexemes],
    )
    connection.executemany(
        "INSERT INTO manifest (generation, row, ordinal, provenance) VALUES (?, ?, ?, ?)",
        [(generation, row.carried, row.ordinal, row.provenance) for row in rows if row.carried is not None]
        + [(generation, pk, row.ordinal, row.provenance) for pk, row in keyed],
    )
    for space, keys in spaces:
        add_vectors(connection, space, [(pk, keys[row.ordinal]) for pk, row in keyed])
    borrow_from_twins(connection, [(pk, row.twin) for pk, row in keyed if row.twin is not None])


def add_change(
    connection: sqlite3.Connection,
    kind: str,
    namespace: int | None,
    source: int | None = None,
    generation: int | None = None,
) -> tuple[int, int]:
    """The next sequence number, and the moment it was taken."""
    at = codecs.now()
    (seq,) = connection.execute(
        "INSERT INTO change (kind, ns, source, generation, at) VALUES (?, ?, ?, ?, ?) RETURNING seq",
        (kind, namespace, source, generation, at),
    ).fetchone()
    return int(seq), at


def retire(connection: sqlite3.Connection, generation: int, dead: Iterable[int], seq: int, at: int) -> None:
    """The generation ends at ``seq``, and with it these of its rows, which also leave the embed queue."""
    connection.execute("UPDATE generation SET retired_seq = ?, retired_at = ? WHERE pk = ?", (seq, at, generation))
    pks = [(pk,) for pk in dead]
    connection.executemany("UPDATE row SET died = ? WHERE pk = ?", [(seq, pk) for (pk,) in pks])
    connection.executemany("DELETE FROM embed_queue WHERE space IN (SELECT pk FROM space) AND row = ?", pks)


def delete_rows(connection: sqlite3.Connection, rows: Iterable[int]) -> None:
    """Remove rows and all that hangs on them except manifest lines."""
    pks = [(pk,) for pk in rows]
    for statement in (
        "DELETE FROM text WHERE row = ?",
        "DELETE FROM lexeme WHERE row = ?",
        "DELETE FROM row_vector WHERE row = ?",
        "DELETE FROM embed_queue WHERE space IN (SELECT pk FROM space) AND row = ?",
        "DELETE FROM row WHERE pk = ?",
    ):
        connection.executemany(statement, pks)


def delete_generation(connection: sqlite3.Connection, generation: int) -> None:
    """Remove a generation's manifest, parents and, once no row was born with it, its record.

    Its rows are :func:`delete_rows`'s to remove.
    """
    connection.execute("DELETE FROM manifest WHERE generation = ?", (generation,))
    connection.execute("DELETE FROM parent WHERE generation = ?", (generation,))
    connection.execute("UPDATE generation SET collected = 1, document = NULL, facts = NULL WHERE pk = ?", (generation,))
    connection.execute(
        "DELETE FROM generation WHERE pk = ?1 AND NOT EXISTS (SELECT 1 FROM row WHERE first_gen = ?1)", (generation,)
    )
