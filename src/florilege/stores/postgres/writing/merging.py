"""Blocks of postings merged: eight of like size become one, and rows that are gone are left out."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from functools import partial

import numpy as np

from florilege.model.errors import Unavailable
from florilege.model.failpoints import failpoint
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.names import namespace_key
from florilege.stores.postgres.server.schema import lock_key
from florilege.stores.postgres.server.wire import escape, numbers
from florilege.stores.postgres.writing.rows import delete_blocks
from florilege.stores.postgres.writing.words import POSTING, WEIGHT, write_block

TIER_BITS = 3
TIER = 1 << TIER_BITS
"""So many blocks are merged, and so many times its size a block of the next tier has."""
SEALED_ROWS = 1 << 16
"""Blocks of so many rows are merged no further: what one search reads of them is long already."""


def merge_when_due(database: Database, namespace: str) -> None:
    """Merge where eight blocks of one size have come together. What was published stays published if that fails."""
    with suppress(Unavailable):
        while due := _due(database, namespace):
            if not database.write(partial(_merge, database, *due)):
                return


def merge_wasteful(database: Database, namespace: str) -> int:
    """Write blocks anew when they hold half as many rows again as there are; returns how many blocks."""

    def wasteful(connection: Connection) -> list[tuple[int, list[int]]]:
        ns = namespace_key(connection, namespace)
        blocks = connection.execute(
            "SELECT pk, rows FROM block WHERE ns = %s AND generation IS NULL AND space IS NULL ORDER BY pk", (ns,)
        ).fetchall()
        found = connection.execute("SELECT count(*) FROM published WHERE ns = %s", (ns,)).fetchone()
        held = sum(rows for _, rows in blocks)
        if ns is None or found is None or held <= 1.5 * found[0] + 1000:
            return []
        return [(ns, [pk]) for pk, _ in blocks]

    return sum(database.write(partial(_merge, database, *batch)) for batch in database.read(wasteful))


def _due(database: Database, namespace: str) -> tuple[int, list[int]] | None:
    """The namespace's key, and blocks to be merged."""
    tiers: dict[tuple[int | None, int], list[int]] = defaultdict(list)
    blocks = database.fetch(
        "SELECT n.pk, b.pk, b.space, b.rows FROM namespace n JOIN block b ON b.ns = n.pk"
        " WHERE n.name = %s AND b.generation IS NULL AND b.rows < %s ORDER BY b.pk",
        (escape(namespace), SEALED_ROWS),
    )
    for _, pk, space, rows in blocks:
        tiers[space, rows.bit_length() // TIER_BITS].append(pk)
    full = [found for found in tiers.values() if len(found) >= TIER]
    return (blocks[0][0], full[0][:TIER]) if full else None


def _merge(database: Database, namespace: int, blocks: list[int], connection: Connection) -> int:
    """Put these blocks into one; returns how many there were, 0 when another process is merging."""
    found = connection.execute(
        "SELECT pg_try_advisory_xact_lock(%s)", (lock_key(database, "merge", namespace),)
    ).fetchone()
    # Terms and blocks together are a key; without statistics of a table just filled the planner would read all of it.
    for plan in ("seqscan", "hashjoin", "mergejoin"):
        connection.execute(f"SET LOCAL enable_{plan} = off")
    heads = connection.execute("SELECT pk, space, terms FROM block WHERE pk = ANY(%s)", (blocks,)).fetchall()
    if not found or not found[0] or len(heads) < len(blocks):
        return 0
    parts = [np.frombuffer(terms, dtype="<i8") for _, _, terms in heads]
    owners = np.repeat(np.array([pk for pk, _, _ in heads], dtype=np.int64), [len(part) for part in parts])
    lines = connection.execute(
        "SELECT p.term, p.data FROM unnest(%s, %s) AS u (term, block)"
        " JOIN posting p ON p.term = u.term AND p.block = u.block",
        (numbers(np.concatenate(parts)), numbers(owners)),
        binary=True,
    ).fetchall()
    space = heads[0][1]
    kind = POSTING if space is None else WEIGHT
    postings = np.frombuffer(b"".join(data for _, data in lines), dtype=kind)
    sizes = np.array([len(data) // kind.itemsize for _, data in lines], dtype=np.int64)
    of_terms = np.repeat(np.array([term for term, _ in lines], dtype=np.int64), sizes)
    rows = np.unique(postings["row"])
    there = connection.execute(
        "SELECT row FROM unnest(%s) u (row) JOIN text t USING (row)", (numbers(rows),), binary=True
    ).fetchall()
    kept = np.isin(postings["row"], np.array([row for (row,) in there], dtype=np.int64))
    delete_blocks(connection, "pk = ANY(%s)", (blocks,))
    write_block(connection, namespace, space, of_terms[kept], postings[kept], len(there))
    failpoint("merge")
    return len(blocks)
