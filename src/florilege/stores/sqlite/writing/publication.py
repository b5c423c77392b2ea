"""What a publication and a delete change, and why they may be refused. Runs inside the caller's write transaction."""

from __future__ import annotations

import sqlite3

from florilege.interfaces.stores import WriteOutcome
from florilege.model.ledger import Version
from florilege.stores import codecs
from florilege.stores.preparation import Prepared
from florilege.stores.rules import Active, deleted_record, owner_conflict, published_record, version_conflict
from florilege.stores.sqlite.writing import rows as sql
from florilege.stores.sqlite.writing.linking import Wanted, link_vectors


class Replan(Exception):
    """The plan was made against a generation that has been replaced since."""


def spaces_of(connection: sqlite3.Connection, plan: Prepared) -> list[Wanted]:
    return [(sql.space_key(connection, space, create=True) or 0, keys) for space, keys in plan.vectors]


def active_source(connection: sqlite3.Connection, namespace: int, source_id: str) -> Active | None:
    found = connection.execute(
        "SELECT s.pk, s.active, g.number, g.revision, s.last_number, s.status, s.corpus_id, s.ledger"
        " FROM source s LEFT JOIN generation g ON g.pk = s.active WHERE s.ns = ? AND s.source_id = ?",
        (namespace, source_id),
    ).fetchone()
    if found is None:
        return None
    source, generation, number, revision, *rest = found
    return Active(source, generation, None if generation is None else Version(number, revision), *rest)


def conflict_of(connection: sqlite3.Connection, namespace: int, plan: Prepared) -> str | None:
    """Why this plan may not be published, or None. Raises when it may, but was made against another generation."""
    active = active_source(connection, namespace, plan.source_id)
    assert active is not None
    conflict = owner_conflict(active, plan.source_id, plan.write.record.corpus_id) or version_conflict(
        active, plan.source_id, plan.write.expected
    )
    if conflict is None and active.generation != plan.base:
        raise Replan
    return conflict


def publish(connection: sqlite3.Connection, namespace: int, plan: Prepared, generation: int) -> WriteOutcome:
    """Make a staged generation the active one. The caller has compared versions in this transaction."""
    active = active_source(connection, namespace, plan.source_id)
    assert active is not None
    seq, at = sql.add_change(
        connection,
        "metadata" if plan.write.keep_generation else "publish",
        namespace,
        active.source,
        generation,
    )
    version = Version(active.last_number + 1, 1)
    if plan.write.keep_generation and active.version is not None:
        version = Version(active.version.generation, active.version.revision + 1)
    connection.execute(
        "UPDATE generation SET number = ?, revision = ?, published_seq = ?, published_at = ? WHERE pk = ?",
        (*version, seq, at, generation),
    )
    queued = link_vectors(connection, spaces_of(connection, plan), plan.rows, generation, seq)
    carried = {row.carried for row in plan.rows if row.carried is not None}
    if active.generation is not None:
        sql.retire(connection, active.generation, (pk for pk in plan.base_rows if pk not in carried), seq, at)
    record = published_record(plan, active, version, at)
    connection.execute(
        "UPDATE source SET active = ?, last_number = max(last_number, ?), status = ?, corpus_id = ?, ledger = ?"
        " WHERE pk = ?",
        (generation, version.generation, record.status, record.corpus_id, codecs.encode_ledger(record), active.source),
    )
    return WriteOutcome(
        source_id=plan.source_id, version=version, chunk_count=len(plan.rows), carried=len(carried), queued=queued
    )


def delete(
    connection: sqlite3.Connection, namespace: int, source_id: str, active: Active, forget: bool, run_id: int | None
) -> WriteOutcome:
    chunk_count = 0
    at = codecs.now()
    if active.generation is not None:
        seq, at = sql.add_change(connection, "delete", namespace, active.source, active.generation)
        alive = connection.execute("SELECT row FROM manifest WHERE generation = ?", (active.generation,)).fetchall()
        sql.retire(connection, active.generation, (pk for (pk,) in alive), seq, at)
        chunk_count = len(alive)
    status, corpus_id, ledger = None, None, None
    if not forget and active.ledger is not None and active.status is not None:
        record = deleted_record(codecs.decode_ledger(active.ledger), at, run_id)
        status, corpus_id, ledger = record.status, record.corpus_id, codecs.encode_ledger(record)
    connection.execute(
        "UPDATE source SET active = NULL, status = ?, corpus_id = ?, ledger = ? WHERE pk = ?",
        (status, corpus_id, ledger, active.source),
    )
    return WriteOutcome(source_id=source_id, chunk_count=chunk_count)
