"""Care of a store: is it sound, a copy while in use, words analysed anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from florilege.interfaces.stores import Findings
from florilege.model.errors import ConfigError
from florilege.stores.sqlite.database.connection import Database
from florilege.stores.sqlite.database.errors import system_errors, translated
from florilege.stores.sqlite.segments.listing import Listed, every, forget
from florilege.stores.sqlite.writing.rows import add_change
from florilege.stores.sqlite.writing.vocabulary import Vocabulary, lexemes
from florilege.stores.terms import TextAnalyzer, count_terms

_PAGE_ROWS = 2000

_ORPHANS = {
    "sources whose active generation is missing": (
        "SELECT count(*) FROM source s WHERE s.active IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM generation g WHERE g.pk = s.active AND g.published_seq IS NOT NULL)"
    ),
    "manifest lines whose row is missing": (
        "SELECT count(*) FROM manifest m WHERE NOT EXISTS (SELECT 1 FROM row r WHERE r.pk = m.row)"
    ),
    "generations whose manifest is not of their size": (
        "SELECT count(*) FROM generation g WHERE g.published_seq IS NOT NULL AND NOT g.collected"
        " AND g.chunk_count <> (SELECT count(*) FROM manifest m WHERE m.generation = g.pk)"
    ),
    "rows without text": ("SELECT count(*) FROM row r WHERE NOT EXISTS (SELECT 1 FROM text t WHERE t.row = r.pk)"),
    "rows without a lexeme": (
        "SELECT count(*) FROM row r WHERE NOT EXISTS (SELECT 1 FROM lexeme l WHERE l.row = r.pk)"
    ),
    "rows whose metadata is missing": (
        "SELECT count(*) FROM row r WHERE NOT EXISTS (SELECT 1 FROM metadata d WHERE d.pk = r.metadata)"
    ),
    "documents that are missing": (
        "SELECT count(*) FROM generation g WHERE g.document IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM document d WHERE d.hash = g.document)"
    ),
    "live rows of no active generation": (
        "SELECT count(*) FROM row r JOIN generation f ON f.pk = r.first_gen JOIN source s ON s.pk = r.source"
        " WHERE r.died IS NULL AND f.published_seq IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM manifest m WHERE m.generation = s.active AND m.row = r.pk)"
    ),
}


def check(database: Database, analyzer: TextAnalyzer) -> Findings:
    """Read the whole store and say what is wrong with it."""
    findings: list[str] = []
    notes: list[str] = []
    with database.view() as connection:
        findings += [f"integrity: {text}" for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
        broken = len(connection.execute("PRAGMA foreign_key_check").fetchall())
        if broken:
            findings.append(f"{broken} references lead nowhere")
        for what, query in _ORPHANS.items():
            (count,) = connection.execute(query).fetchone()
            if count:
                findings.append(f"{count} {what}")
        parts = every(connection)
        known = analyzer_version(connection)
        if known not in (None, analyzer.version):
            notes.append(
                f"words were analysed by version {known}, this is {analyzer.version}: the next write analyses them anew"
            )
    notes += _damaged(database, parts)
    if sqlite3.sqlite_version_info < (3, 51, 3):
        notes.append(
            f"SQLite {sqlite3.sqlite_version} has the WAL-reset bug fixed in 3.51.3; "
            "the store avoids it as long as nothing else writes to store.db"
        )
    return Findings(findings, notes)


def _damaged(database: Database, parts: Sequence[Listed]) -> list[str]:
    """Notes on files that are not what was written. One that has been replaced meanwhile is nobody's fault."""
    from florilege.stores.resident.segments import checksum

    bad = [part for part in parts if checksum(part.path(database.folder)) != part.checksum]
    with database.read() as connection:
        still = {part.name for part in every(connection)}
    return [
        f"segment {part.name} is missing or damaged: searches read its rows from the database; `florilege repair`"
        " or the next write makes it anew"
        for part in bad
        if part.name in still
    ]


def backup(database: Database, target: Path) -> None:
    """A consistent copy in a new folder while the store is in use. ConfigError when the folder holds anything."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError(f"{target} exists and is not an empty folder; name a new one", code="exists")
    with system_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    path = target / "store.db"
    with database.read() as connection:
        copy = sqlite3.connect(path, isolation_level=None)
        try:
            connection.backup(copy, pages=4096, sleep=0.001)
            forget(copy)
        except sqlite3.Error as error:
            path.unlink(missing_ok=True)  # half a copy, which nobody else has open
            raise translated(error, path) from error
        finally:
            copy.close()


def analyzer_version(connection: sqlite3.Connection) -> str | None:
    """The version of the analyser the store's words come from; None before the first."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'analyzer'").fetchone()
    return None if found is None else str(found[0])


def settle_words(database: Database, analyzer: TextAnalyzer, vocabulary: Vocabulary) -> int:
    """Make sure the store's words are this analyser's; returns how many rows were analysed anew.

    Rows change in short transactions; the version is written last, so an interrupted run starts over.
    """
    with database.read() as connection:
        known = analyzer_version(connection)
    if known == analyzer.version:
        return 0
    done = 0
    after = 0
    while known is not None:
        with database.read() as connection:
            rows = connection.execute(
                "SELECT row, content, context FROM text WHERE row > ? ORDER BY row LIMIT ?", (after, _PAGE_ROWS)
            ).fetchall()
        if not rows:
            break
        texts = (f"{context}\n\n{content}" if context else content for _, content, context in rows)
        counters = count_terms(analyzer, texts)
        with database.write() as connection:
            words = lexemes(connection, vocabulary, counters)
            connection.executemany(
                "UPDATE lexeme SET length = ?, terms = ?, counts = ? WHERE row = ?",
                [(*word, row) for word, (row, _, _) in zip(words, rows, strict=True)],
            )
        done += len(rows)
        after = rows[-1][0]
    with database.write() as connection:
        connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('analyzer', ?)", (analyzer.version,))
        if known is not None:
            add_change(connection, "lexemes", None)
            forget(connection)
    return done
