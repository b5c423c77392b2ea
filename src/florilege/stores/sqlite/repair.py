"""Mending a damaged store: what is derived is made anew, what cannot be trusted is retired and named."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace

from florilege.stores import codecs
from florilege.stores.sqlite.database.connection import Database
from florilege.stores.sqlite.segments.listing import forget
from florilege.stores.sqlite.writing import rows as sql
from florilege.stores.sqlite.writing.vocabulary import Vocabulary, lexemes
from florilege.stores.terms import TextAnalyzer, count_terms

_PAGE_ROWS = 2000

_COUNTS = (
    "SELECT coalesce(sum(g.chunk_count), 0), coalesce(sum((SELECT count(*) FROM manifest m JOIN row r ON r.pk = m.row"
    " WHERE m.generation = g.pk)), 0) FROM namespace n JOIN generation g ON g.ns = n.pk"
    " WHERE n.name = ? AND g.published_seq IS NOT NULL AND g.retired_seq IS NULL"
)

# A source whose active generation is gone, not of its size, or holds rows without text or metadata.
_DAMAGED = (
    "SELECT s.pk, s.source_id, s.active FROM namespace n JOIN source s ON s.ns = n.pk"
    " LEFT JOIN generation g ON g.pk = s.active"
    " WHERE n.name = ? AND s.active IS NOT NULL AND (g.pk IS NULL OR g.published_seq IS NULL OR g.chunk_count <> ("
    "  SELECT count(*) FROM manifest m JOIN row r ON r.pk = m.row AND r.died IS NULL JOIN text t ON t.row = r.pk"
    "  JOIN metadata d ON d.pk = r.metadata WHERE m.generation = s.active))"
)


def lost_chunks(database: Database, namespace: str) -> int:
    """How many chunks the active generations should have and have not; cheap enough for every sync."""
    with database.read() as connection:
        told, found = connection.execute(_COUNTS, (namespace,)).fetchone()
    return int(told) - int(found)


def repair(database: Database, analyzer: TextAnalyzer, vocabulary: Vocabulary, namespace: str) -> list[str]:
    """See :meth:`florilege.interfaces.stores.DataStore.repair`."""
    _words(database, analyzer, vocabulary)
    with database.write() as connection:
        damaged = connection.execute(_DAMAGED, (namespace,)).fetchall()
        for source, _, generation in damaged:
            _retire(connection, namespace, source, generation)
        _bury_orphans(connection, namespace)
        _trim(connection)
        forget(connection)
    return [source_id for _, source_id, _ in damaged]


def _retire(connection: sqlite3.Connection, namespace: str, source: int, generation: int) -> None:
    """Take a damaged generation out of every reader's sight; its source may be indexed anew."""
    ns = sql.namespace_key(connection, namespace)
    seq, at = sql.add_change(connection, "delete", ns, source, generation)
    rows = connection.execute("SELECT row FROM manifest WHERE generation = ?", (generation,)).fetchall()
    sql.retire(connection, generation, (row for (row,) in rows), seq, at)
    connection.execute("UPDATE source SET active = NULL WHERE pk = ?", (source,))
    (ledger,) = connection.execute("SELECT ledger FROM source WHERE pk = ?", (source,)).fetchone()
    if ledger is not None:
        record = codecs.decode_ledger(ledger)
        error = {"code": "damaged", "message": "its generation was damaged and has been retired", "retryable": True}
        # Without a version and hashes the next sync takes the source for a new one.
        mended = codecs.encode_ledger(
            replace(record, status="failed", version=None, content_hash=None, revision=None, error=error)
        )
        connection.execute("UPDATE source SET ledger = ?, status = 'failed' WHERE pk = ?", (mended, source))


def _bury_orphans(connection: sqlite3.Connection, namespace: str) -> None:
    """Rows that live in no active generation stop living."""
    ns = sql.namespace_key(connection, namespace)
    orphans = connection.execute(
        "SELECT r.pk FROM row r JOIN generation f ON f.pk = r.first_gen JOIN source s ON s.pk = r.source"
        " WHERE f.ns = ? AND r.died IS NULL AND f.published_seq IS NOT NULL AND (s.active IS NULL OR NOT EXISTS"
        " (SELECT 1 FROM manifest m WHERE m.generation = s.active AND m.row = r.pk))",
        (ns,),
    ).fetchall()
    if orphans:
        seq, _ = sql.add_change(connection, "delete", ns)
        connection.executemany("UPDATE row SET died = ? WHERE pk = ?", [(seq, row) for (row,) in orphans])


def _trim(connection: sqlite3.Connection) -> None:
    """What is left of retired generations agrees with itself: no line without a row, no row without a text."""
    empty = connection.execute(
        "SELECT pk FROM row WHERE died IS NOT NULL AND NOT EXISTS (SELECT 1 FROM text t WHERE t.row = row.pk)"
    ).fetchall()
    sql.delete_rows(connection, [row for (row,) in empty])
    connection.execute("DELETE FROM manifest WHERE NOT EXISTS (SELECT 1 FROM row r WHERE r.pk = manifest.row)")
    connection.execute(
        "UPDATE generation SET chunk_count = (SELECT count(*) FROM manifest m WHERE m.generation = generation.pk)"
        " WHERE retired_seq IS NOT NULL AND NOT collected"
    )


def _words(database: Database, analyzer: TextAnalyzer, vocabulary: Vocabulary) -> None:
    """Analyse rows that have no words."""
    while True:
        with database.read() as connection:
            rows = connection.execute(
                "SELECT t.row, t.content, t.context FROM text t WHERE NOT EXISTS"
                " (SELECT 1 FROM lexeme l WHERE l.row = t.row) ORDER BY t.row LIMIT ?",
                (_PAGE_ROWS,),
            ).fetchall()
        if not rows:
            return
        _analyse(database, analyzer, vocabulary, rows)


def _analyse(
    database: Database, analyzer: TextAnalyzer, vocabulary: Vocabulary, rows: Iterable[tuple[int, str, str]]
) -> None:
    found = list(rows)
    texts = (f"{context}\n\n{content}" if context else content for _, content, context in found)
    counters = count_terms(analyzer, texts)
    with database.write() as connection:
        words = lexemes(connection, vocabulary, counters)
        connection.executemany(
            "INSERT INTO lexeme (row, length, terms, counts) VALUES (?, ?, ?, ?)",
            [(row, *word) for word, (row, _, _) in zip(words, found, strict=True)],
        )
        sql.add_change(connection, "lexemes", None)
        forget(connection)
