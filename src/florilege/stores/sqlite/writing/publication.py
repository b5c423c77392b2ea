"""What a publication and a delete change, and why they may be refused. Runs inside the caller's write transaction."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import NamedTuple

from florilege.interfaces.stores import WriteOutcome
from florilege.model.ledger import SourceRecord, Version
from florilege.stores import codecs
from florilege.stores.sqlite.writing import rows as sql
from florilege.stores.sqlite.writing.prepare import Prepared


class Active(NamedTuple):
    """A source as it stands inside the write transaction."""

    source: int
    generation: int | None
    version: Version | None
    last_number: int
    status: str | None
    corpus_id: str | None
    ledger: bytes | None


class Replan(Exception):
    """The plan was made against a generation that has been replaced since."""


def space_of(connection: sqlite3.Connection, plan: Prepared) -> int | None:
    vectors = plan.write.vectors
    return None if vectors is None else sql.space_key(connection, vectors.space, create=True)


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


def owner_conflict(active: Active, source_id: str, corpus_id: str | None) -> str | None:
    if corpus_id is None or active.corpus_id in (None, corpus_id) or active.status in (None, "deleted"):
        return None
    return f"{source_id!r} belongs to corpus {active.corpus_id!r}"


def version_conflict(active: Active, source_id: str, expected: Version | None) -> str | None:
    if active.version == expected:
        return None
    return f"{source_id!r} is at {_told(active.version)}, not {_told(expected)}"


def _told(version: Version | None) -> str:
    return "no generation" if version is None else f"generation {version.generation} revision {version.revision}"


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
    queued = sql.link_vectors(connection, space_of(connection, plan), plan.rows, generation, seq)
    carried = {row.carried for row in plan.rows if row.carried is not None}
    if active.generation is not None:
        sql.retire(connection, active.generation, (pk for pk in plan.base_rows if pk not in carried), seq, at)
    record = _published_record(plan, active, version, at)
    connection.execute(
        "UPDATE source SET active = ?, last_number = max(last_number, ?), status = ?, corpus_id = ?, ledger = ?"
        " WHERE pk = ?",
        (generation, version.generation, record.status, record.corpus_id, codecs.encode_ledger(record), active.source),
    )
    return WriteOutcome(
        source_id=plan.source_id, version=version, chunk_count=len(plan.rows), carried=len(carried), queued=queued
    )


def _published_record(plan: Prepared, active: Active, version: Version, at: int) -> SourceRecord:
    record = plan.write.record
    before = codecs.decode_ledger(active.ledger) if active.ledger is not None and active.status else None
    now = codecs.instant_of(at)
    return replace(
        record,
        corpus_id=record.corpus_id if record.corpus_id is not None or before is None else before.corpus_id,
        version=version,
        chunk_count=len(plan.rows),
        parent_count=len(plan.parents),
        first_seen_at=(before.first_seen_at if before else None) or record.first_seen_at or now,
        last_seen_at=now,
        indexed_at=now,
        failed_at=record.failed_at or (before.failed_at if before else None),
        deleted_at=None,
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
        record = codecs.decode_ledger(active.ledger)
        if active.status != "deleted":
            record = replace(
                record,
                status="deleted",
                version=None,
                chunk_count=0,
                parent_count=0,
                deleted_at=codecs.instant_of(at),
                run_id=run_id if run_id is not None else record.run_id,
            )
        status, corpus_id, ledger = record.status, record.corpus_id, codecs.encode_ledger(record)
    connection.execute(
        "UPDATE source SET active = NULL, status = ?, corpus_id = ?, ledger = ? WHERE pk = ?",
        (status, corpus_id, ledger, active.source),
    )
    return WriteOutcome(source_id=source_id, chunk_count=chunk_count)
