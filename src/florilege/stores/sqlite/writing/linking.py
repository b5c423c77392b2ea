"""Rows and their vectors: taken when they are there, waited for when not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from florilege.stores.preparation import Row

Wanted = tuple[int, Sequence[bytes | None]]
"""A space, and the vector key of the row at each ordinal."""


def vector_keys(connection: sqlite3.Connection, space: int, keys: Iterable[bytes]) -> dict[bytes, int]:
    """Which of these content keys have a vector, and which row of ``vector`` it is."""
    found: dict[bytes, int] = {}
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), 1000):
        batch = wanted[start : start + 1000]
        marks = ",".join("?" * len(batch))
        found.update(
            connection.execute(f"SELECT key, pk FROM vector WHERE space = ? AND key IN ({marks})", [space, *batch])
        )
    return found


def add_vectors(connection: sqlite3.Connection, space: int, keyed: Iterable[tuple[int, bytes | None]]) -> None:
    """Give new rows the vectors there are under their keys; the others wait for theirs."""
    wanted = [(pk, key) for pk, key in keyed if key is not None]
    known = vector_keys(connection, space, (key for _, key in wanted))
    connection.executemany(
        "INSERT INTO row_vector (row, space, vector, seq) VALUES (?, ?, ?, 0)",
        [(pk, space, known[key]) for pk, key in wanted if key in known],
    )
    connection.executemany(
        "INSERT INTO embed_queue (space, row, key) VALUES (?, ?, ?)",
        [(space, pk, key) for pk, key in wanted if key not in known],
    )


def borrow_from_twins(connection: sqlite3.Connection, twins: Sequence[tuple[int, int]]) -> None:
    """Give new rows the lexeme and, where they have none and wait for none, the vectors of rows with the same text."""
    if not twins:
        return
    connection.executemany(
        "INSERT OR IGNORE INTO lexeme (row, length, terms, counts)"
        " SELECT ?, length, terms, counts FROM lexeme WHERE row = ?",
        twins,
    )
    connection.executemany(
        "INSERT OR IGNORE INTO row_vector (row, space, vector, seq)"
        " SELECT ?1, space, vector, 0 FROM row_vector v WHERE row = ?2"
        " AND NOT EXISTS (SELECT 1 FROM embed_queue q WHERE q.row = ?1 AND q.space = v.space)",
        twins,
    )
    connection.executemany(
        "INSERT OR IGNORE INTO embed_queue (space, row, key)"
        " SELECT space, ?1, key FROM embed_queue q WHERE space IN (SELECT pk FROM space) AND row = ?2"
        " AND NOT EXISTS (SELECT 1 FROM row_vector v WHERE v.row = ?1 AND v.space = q.space)",
        twins,
    )


def link_vectors(
    connection: sqlite3.Connection, spaces: Iterable[Wanted], rows: Sequence[Row], generation: int, seq: int
) -> int:
    """See that every row of a generation has its vectors or waits for them; returns how many are waited for.

    Carried rows may lack a vector of a space that was not asked for when they were written, and a vector may have
    come since a row was queued: such rows have theirs from sequence number ``seq`` on.
    """
    for space, keys in spaces:
        carried = [
            (space, row.carried, keys[row.ordinal])
            for row in rows
            if row.carried is not None and keys[row.ordinal] is not None
        ]
        connection.executemany(
            "INSERT INTO embed_queue (space, row, key) SELECT ?1, ?2, ?3"
            " WHERE NOT EXISTS (SELECT 1 FROM row_vector WHERE row = ?2 AND space = ?1)"
            " ON CONFLICT (space, row) DO UPDATE SET key = excluded.key",
            carried,
        )
    waiting = (
        " FROM manifest m CROSS JOIN space s CROSS JOIN embed_queue q ON q.space = s.pk AND q.row = m.row"
        " LEFT JOIN vector v ON v.space = q.space AND v.key = q.key WHERE m.generation = ?"
    )
    queued = connection.execute(f"SELECT q.row, q.space, v.pk {waiting}", (generation,)).fetchall()
    filled = [(row, key, vector, seq) for row, key, vector in queued if vector is not None]
    connection.executemany("INSERT INTO row_vector (row, space, vector, seq) VALUES (?, ?, ?, ?)", filled)
    connection.executemany(
        "DELETE FROM embed_queue WHERE row = ? AND space = ?", [(row, key) for row, key, _, _ in filled]
    )
    return len(queued) - len(filled)
