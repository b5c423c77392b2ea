"""The segments a database lists, and their files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

FOLDER = "segments"

_COLUMNS = "name, first, last, low, sealed, rows, size, checksum"


class Listed(NamedTuple):
    """A file with the rows of a namespace born from ``first`` to ``last``, as they stood at ``sealed``.

    Rows that had died by ``low`` are left out: it serves snapshots from ``low`` on.
    """

    name: str
    first: int
    last: int
    low: int
    sealed: int
    rows: int
    size: int
    checksum: bytes

    def path(self, folder: Path) -> Path:
        """Where the file is in a store's folder."""
        return folder / FOLDER / self.name

    def intact(self, folder: Path) -> bool:
        """Whether there is a file of its name and size."""
        try:
            return self.path(folder).stat().st_size == self.size
        except OSError:
            return False


def listed(connection: sqlite3.Connection, namespace: int) -> list[Listed]:
    """The segments of a namespace, in the order their rows were born."""
    found = connection.execute(f"SELECT {_COLUMNS} FROM segment WHERE ns = ? ORDER BY first", (namespace,))
    return [Listed._make(row) for row in found]


def every(connection: sqlite3.Connection) -> list[Listed]:
    """The segments of all namespaces."""
    return [Listed._make(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM segment ORDER BY ns, first")]


def store_id(connection: sqlite3.Connection) -> str:
    """What tells this store from all others, and its files from theirs."""
    (found,) = connection.execute("SELECT value FROM meta WHERE key = 'store'").fetchone()
    return str(found)


def enter(connection: sqlite3.Connection, namespace: int, segment: Listed) -> None:
    """List a segment in place of those its rows were in."""
    span = (namespace, segment.first, segment.last)
    connection.execute("DELETE FROM segment WHERE ns = ? AND first >= ? AND last <= ?", span)
    connection.execute("DELETE FROM grave WHERE ns = ? AND born BETWEEN ? AND ? AND died <= ?", (*span, segment.sealed))
    connection.execute(
        f"INSERT INTO segment (ns, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (namespace, *segment)
    )


def bury(connection: sqlite3.Connection, rows: Iterable[int]) -> None:
    """Remember when rows about to be removed died, as long as files hold them that do not know it."""
    connection.executemany(
        "INSERT OR IGNORE INTO grave (ns, died, row, born) SELECT g.ns, r.died, r.pk, g.published_seq"
        " FROM row r JOIN generation g ON g.pk = r.first_gen WHERE r.pk = ? AND EXISTS (SELECT 1 FROM segment s"
        " WHERE s.ns = g.ns AND g.published_seq BETWEEN s.first AND s.last AND s.sealed < r.died)",
        [(row,) for row in rows],
    )


def forget(connection: sqlite3.Connection) -> None:
    """List no segment any more: they are made anew from rows."""
    connection.execute("DELETE FROM segment")
    connection.execute("DELETE FROM grave")
