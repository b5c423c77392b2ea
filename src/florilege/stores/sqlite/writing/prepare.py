"""Writes made ready against what their sources hold now."""

from __future__ import annotations

import sqlite3

from florilege.interfaces.stores import SourceWrite
from florilege.stores import preparation
from florilege.stores.preparation import Prepared


def prepare(connection: sqlite3.Connection, namespace: str, write: SourceWrite) -> Prepared:
    """See :func:`florilege.stores.preparation.prepare`."""
    base, known = _base(connection, namespace, write.record.source_id)
    return preparation.prepare(namespace, write, base, known)


def _base(
    connection: sqlite3.Connection, namespace: str, source_id: str
) -> tuple[int | None, list[tuple[int, bytes, bytes]]]:
    found = connection.execute(
        "SELECT s.active FROM namespace n JOIN source s ON s.ns = n.pk WHERE n.name = ? AND s.source_id = ?",
        (namespace, source_id),
    ).fetchone()
    if found is None or found[0] is None:
        return None, []
    rows = connection.execute(
        "SELECT r.pk, r.digest, r.text_digest FROM manifest m CROSS JOIN row r ON r.pk = m.row WHERE m.generation = ?",
        found,
    ).fetchall()
    return found[0], rows
