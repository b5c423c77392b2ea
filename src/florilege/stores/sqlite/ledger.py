"""The ledger: what is known of each source, its generations, and the store's figures."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from florilege.interfaces.stores import Fence
from florilege.model.errors import Conflict, NotFound
from florilege.model.ledger import GenerationRecord, SourceRecord
from florilege.stores import codecs
from florilege.stores.rules import listed_record
from florilege.stores.sqlite.database.connection import Database
from florilege.stores.sqlite.leases import check_fence
from florilege.stores.sqlite.writing.rows import namespace_key, source_key

_SELECT = (
    "SELECT s.source_id, s.ledger, g.number, g.revision, coalesce(g.chunk_count, 0), coalesce(g.parent_count, 0)"
    " FROM namespace n JOIN source s ON s.ns = n.pk LEFT JOIN generation g ON g.pk = s.active"
    " WHERE n.name = ? AND s.status IS NOT NULL"
)


class Ledger:
    """The verbs that read and write ledger rows without touching generations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, namespace: str, source_ids: Sequence[str]) -> dict[str, SourceRecord]:
        """See :meth:`florilege.interfaces.stores.DataStore.get_sources`."""
        found: dict[str, SourceRecord] = {}
        wanted = list(dict.fromkeys(source_ids))
        with self._database.view() as connection:
            for start in range(0, len(wanted), 1000):
                batch = wanted[start : start + 1000]
                marks = ",".join("?" * len(batch))
                rows = connection.execute(f"{_SELECT} AND s.source_id IN ({marks})", [namespace, *batch])
                found.update((row[0], listed_record(row)) for row in rows)
        return {source_id: found[source_id] for source_id in wanted if source_id in found}

    def page(
        self,
        namespace: str,
        corpus_id: str | None,
        status: Sequence[str] | None,
        limit: int | None,
        cursor: str | None,
    ) -> tuple[list[SourceRecord], str | None]:
        """See :meth:`florilege.interfaces.stores.DataStore.list_sources`."""
        query, values = _SELECT, [namespace]
        if corpus_id is not None:
            query, values = f"{query} AND s.corpus_id = ?", [*values, corpus_id]
        if status is not None:
            query, values = f"{query} AND s.status IN ({','.join('?' * len(status))})", [*values, *status]
        if cursor is not None:
            query, values = f"{query} AND s.source_id > ?", [*values, cursor]
        query += " ORDER BY s.source_id LIMIT ?"
        size = -1 if limit is None else limit + 1
        with self._database.read() as connection:
            rows = connection.execute(query, [*values, size]).fetchall()
        records = [listed_record(row) for row in rows[: len(rows) if limit is None else limit]]
        more = limit is not None and len(rows) > limit
        return records, records[-1].source_id if more and records else None

    def record(self, namespace: str, records: Sequence[SourceRecord], fence: Fence | None) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.record`."""
        at = codecs.instant_of(codecs.now())
        with self._database.write() as connection:
            check_fence(connection, namespace, fence)
            ns = namespace_key(connection, namespace, create=True)
            assert ns is not None
            for record in records:
                source = source_key(connection, ns, record.source_id)
                status, owner, ledger = connection.execute(
                    "SELECT status, corpus_id, ledger FROM source WHERE pk = ?", (source,)
                ).fetchone()
                if record.corpus_id is not None and owner not in (None, record.corpus_id) and status != "deleted":
                    raise Conflict(
                        f"{record.source_id!r} belongs to corpus {owner!r}", source_id=record.source_id, code="owned"
                    )
                before = codecs.decode_ledger(ledger) if status is not None else None
                record = replace(
                    record,
                    first_seen_at=(before.first_seen_at if before else None) or record.first_seen_at or at,
                    failed_at=record.failed_at or (at if record.status == "failed" else None),
                    deleted_at=record.deleted_at or (at if record.status == "deleted" else None),
                )
                connection.execute(
                    "UPDATE source SET status = ?, corpus_id = ?, ledger = ? WHERE pk = ?",
                    (record.status, record.corpus_id, codecs.encode_ledger(record), source),
                )

    def history(self, namespace: str, source_id: str) -> list[GenerationRecord]:
        """See :meth:`florilege.interfaces.stores.DataStore.history`: one record a generation, at its last revision."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT g.number, g.revision, g.chunk_count, g.content_hash, g.published_at, g.retired_at, g.pinned"
                " FROM namespace n JOIN source s ON s.ns = n.pk JOIN generation g ON g.source = s.pk"
                " WHERE n.name = ? AND s.source_id = ? AND g.published_seq IS NOT NULL AND NOT g.collected"
                " ORDER BY g.published_seq",
                (namespace, source_id),
            ).fetchall()
        last = {
            number: GenerationRecord(
                generation=number,
                revision=revision,
                state="active" if retired is None else "retired",
                chunk_count=chunk_count,
                content_hash=content_hash,
                published_at=codecs.instant_of(published),
                retired_at=codecs.moment(retired),
                pinned=bool(pinned),
            )
            for number, revision, chunk_count, content_hash, published, retired, pinned in rows
        }
        return list(reversed(last.values()))

    def pin(self, namespace: str, source_id: str, generation: int, pinned: bool) -> None:
        """Keep a generation from being collected, or let it go again. NotFound when there is none of that number."""
        with self._database.write() as connection:
            changed = connection.execute(
                "UPDATE generation SET pinned = ? WHERE number = ? AND NOT collected"
                " AND source = (SELECT s.pk FROM namespace n JOIN source s ON s.ns = n.pk"
                " WHERE n.name = ? AND s.source_id = ?)",
                (int(pinned), generation, namespace, source_id),
            )
            if changed.rowcount == 0:
                raise NotFound(f"{source_id!r} has no generation {generation}", source_id=source_id)

    def namespaces(self) -> list[str]:
        """The namespaces there are."""
        with self._database.read() as connection:
            return [name for (name,) in connection.execute("SELECT name FROM namespace ORDER BY name")]

    def stats(self, namespace: str | None) -> dict[str, Any]:
        """Counts of one namespace, or of all with the store's sizes in bytes."""
        with self._database.view() as connection:
            if namespace is not None:
                return _counts(connection, namespace)
            names = [name for (name,) in connection.execute("SELECT name FROM namespace ORDER BY name")]
            (vectors,) = connection.execute("SELECT count(*) FROM vector").fetchone()
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            (page,) = connection.execute("PRAGMA page_size").fetchone()
            return {
                "namespaces": {name: _counts(connection, name) for name in names},
                "vectors": vectors,
                "bytes": pages * page,
                "wal_bytes": self._database.wal_bytes(),
            }


def _counts(connection: sqlite3.Connection, namespace: str) -> dict[str, Any]:
    ns = namespace_key(connection, namespace)
    statuses = dict(
        connection.execute(
            "SELECT status, count(*) FROM source WHERE ns = ? AND status IS NOT NULL GROUP BY status", (ns,)
        ).fetchall()
    )
    active, chunks, parents = connection.execute(
        "SELECT count(*), coalesce(sum(g.chunk_count), 0), coalesce(sum(g.parent_count), 0)"
        " FROM source s JOIN generation g ON g.pk = s.active WHERE s.ns = ?",
        (ns,),
    ).fetchone()
    (generations,) = connection.execute(
        "SELECT count(*) FROM generation WHERE ns = ? AND published_seq IS NOT NULL AND NOT collected", (ns,)
    ).fetchone()
    (pending,) = connection.execute(
        "SELECT count(*) FROM embed_queue q JOIN row r ON r.pk = q.row JOIN generation g ON g.pk = r.first_gen"
        " WHERE g.ns = ? AND g.published_seq IS NOT NULL AND r.died IS NULL",
        (ns,),
    ).fetchone()
    spaces = connection.execute("SELECT space, sparse_space FROM namespace WHERE pk = ?", (ns,)).fetchone()
    dense, sparse = spaces or (None, None)
    return {
        "sources": sum(statuses.values()),
        "statuses": statuses,
        "active_sources": active,
        "generations": generations,
        "chunks": chunks,
        "parents": parents,
        "pending_vectors": pending,
        "space": dense,
        "sparse_space": sparse,
    }
