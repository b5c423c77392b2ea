"""The ledger: what is known of each source, its generations, and the store's figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from florilege.interfaces.stores import Fence
from florilege.model.errors import Conflict, NotFound
from florilege.model.ledger import GenerationRecord, SourceRecord
from florilege.stores import codecs
from florilege.stores.postgres.leases import check_fence
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.names import made_namespace, source_keys
from florilege.stores.postgres.server.wire import escape, unescape
from florilege.stores.rules import listed_record

_SELECT = (
    "SELECT s.source_id, s.ledger, g.number, g.revision, coalesce(g.chunk_count, 0), coalesce(g.parent_count, 0)"
    " FROM namespace n JOIN source s ON s.ns = n.pk LEFT JOIN generation g ON g.pk = s.active"
    " WHERE n.name = %s AND s.status IS NOT NULL"
)


class Ledger:
    """The verbs that read and write ledger rows without touching generations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, namespace: str, source_ids: Sequence[str]) -> dict[str, SourceRecord]:
        """See :meth:`florilege.interfaces.stores.DataStore.get_sources`."""
        rows = self._database.fetch(
            f"{_SELECT} AND s.source_id = ANY(%s)", (escape(namespace), list(map(escape, source_ids)))
        )
        found = {unescape(row[0]): listed_record(row) for row in rows}
        return {source_id: found[source_id] for source_id in dict.fromkeys(source_ids) if source_id in found}

    def page(
        self,
        namespace: str,
        corpus_id: str | None,
        status: Sequence[str] | None,
        limit: int | None,
        cursor: str | None,
    ) -> tuple[list[SourceRecord], str | None]:
        """See :meth:`florilege.interfaces.stores.DataStore.list_sources`."""
        query, values = _SELECT, list[Any]((escape(namespace),))
        if corpus_id is not None:
            query, values = f"{query} AND s.corpus_id = %s", [*values, escape(corpus_id)]
        if status is not None:
            query, values = f"{query} AND s.status = ANY(%s)", [*values, list(status)]
        if cursor is not None:
            query, values = f"{query} AND s.source_id > %s", [*values, escape(cursor)]
        query += " ORDER BY s.source_id LIMIT %s"
        size = None if limit is None else limit + 1
        rows = self._database.fetch(query, [*values, size])
        records = [listed_record(row) for row in rows[: len(rows) if limit is None else limit]]
        more = limit is not None and len(rows) > limit
        return records, records[-1].source_id if more and records else None

    def record(self, namespace: str, records: Sequence[SourceRecord], fence: Fence | None) -> None:
        """See :meth:`florilege.interfaces.stores.DataStore.record`."""

        def work(connection: Connection) -> None:
            check_fence(connection, namespace, fence)
            ns = made_namespace(connection, namespace)
            keys = source_keys(connection, ns, [record.source_id for record in records])
            for record in sorted(records, key=lambda record: record.source_id):
                _put(connection, keys[record.source_id], record)

        self._database.write(work)

    def history(self, namespace: str, source_id: str) -> list[GenerationRecord]:
        """See :meth:`florilege.interfaces.stores.DataStore.history`: one record a generation, at its last revision."""
        rows = self._database.fetch(
            "SELECT g.number, g.revision, g.chunk_count, g.content_hash, g.published_at, g.retired_at, g.pinned"
            " FROM namespace n JOIN source s ON s.ns = n.pk JOIN generation g ON g.source = s.pk"
            " WHERE n.name = %s AND s.source_id = %s AND g.published_seq IS NOT NULL ORDER BY g.published_seq",
            (escape(namespace), escape(source_id)),
        )
        last = {
            number: GenerationRecord(
                generation=number,
                revision=revision,
                state="active" if retired is None else "retired",
                chunk_count=chunk_count,
                content_hash=content_hash,
                published_at=codecs.instant_of(published),
                retired_at=codecs.moment(retired),
                pinned=pinned,
            )
            for number, revision, chunk_count, content_hash, published, retired, pinned in rows
        }
        return list(reversed(last.values()))

    def pin(self, namespace: str, source_id: str, generation: int, pinned: bool) -> None:
        """Keep a generation from being collected, or let it go again. NotFound when there is none of that number."""
        changed = self._database.write(
            lambda connection: (
                connection.execute(
                    "UPDATE generation g SET pinned = %s FROM source s JOIN namespace n ON n.pk = s.ns"
                    " WHERE g.source = s.pk AND n.name = %s AND s.source_id = %s AND g.number = %s",
                    (pinned, escape(namespace), escape(source_id), generation),
                ).rowcount
            )
        )
        if changed == 0:
            raise NotFound(f"{source_id!r} has no generation {generation}", source_id=source_id)

    def namespaces(self) -> list[str]:
        """The namespaces there are."""
        found = self._database.fetch("SELECT name FROM namespace ORDER BY name")
        return [unescape(name) for (name,) in found]

    def stats(self, namespace: str | None) -> dict[str, Any]:
        """Counts of one namespace, or of all with the store's sizes in bytes."""
        names = [namespace] if namespace is not None else self.namespaces()

        def work(connection: Connection) -> dict[str, Any]:
            counts = {name: _counts(connection, name) for name in names}
            if namespace is not None:
                return counts[namespace]
            found = connection.execute(
                "SELECT (SELECT count(*) FROM vector), coalesce(sum(pg_total_relation_size(oid)), 0)::bigint"
                " FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
            ).fetchone()
            assert found is not None
            return {"namespaces": counts, "vectors": found[0], "bytes": found[1]}

        return self._database.read(work)


def _put(connection: Connection, source: int, record: SourceRecord) -> None:
    found = connection.execute(
        "SELECT status, corpus_id, ledger, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM source"
        " WHERE pk = %s FOR UPDATE",
        (source,),
    ).fetchone()
    assert found is not None
    status, owner, ledger, now = found
    owner = None if owner is None else unescape(owner)
    if record.corpus_id is not None and owner not in (None, record.corpus_id) and status != "deleted":
        raise Conflict(f"{record.source_id!r} belongs to corpus {owner!r}", source_id=record.source_id, code="owned")
    before = codecs.decode_ledger(ledger) if status is not None else None
    at = codecs.instant_of(now)
    record = replace(
        record,
        first_seen_at=(before.first_seen_at if before else None) or record.first_seen_at or at,
        failed_at=record.failed_at or (at if record.status == "failed" else None),
        deleted_at=record.deleted_at or (at if record.status == "deleted" else None),
    )
    connection.execute(
        "UPDATE source SET status = %s, corpus_id = %s, ledger = %s WHERE pk = %s",
        (
            record.status,
            None if record.corpus_id is None else escape(record.corpus_id),
            codecs.encode_ledger(record),
            source,
        ),
    )


def _counts(connection: Connection, namespace: str) -> dict[str, Any]:
    found = connection.execute(
        "SELECT pk, space, sparse_space FROM namespace WHERE name = %s", (escape(namespace),)
    ).fetchone()
    ns, dense, sparse = found or (None, None, None)
    statuses: dict[str, int] = dict(
        connection.execute(
            "SELECT status, count(*) FROM source WHERE ns = %s AND status IS NOT NULL GROUP BY status", (ns,)
        ).fetchall()
    )
    counts = connection.execute(
        "SELECT count(*), coalesce(sum(g.chunk_count), 0)::bigint, coalesce(sum(g.parent_count), 0)::bigint,"
        " (SELECT count(*) FROM generation WHERE source IN (SELECT pk FROM source WHERE ns = %(ns)s)"
        "  AND published_seq IS NOT NULL),"
        " (SELECT count(*) FROM embed_queue q JOIN live l ON l.row = q.row WHERE l.ns = %(ns)s)"
        " FROM source s JOIN generation g ON g.pk = s.active WHERE s.ns = %(ns)s",
        {"ns": ns},
    ).fetchone()
    assert counts is not None
    names = ("active_sources", "chunks", "parents", "generations", "pending_vectors")
    return {
        "sources": sum(statuses.values()),
        "statuses": statuses,
        **dict(zip(names, counts, strict=True)),
        "space": dense,
        "sparse_space": sparse,
    }
