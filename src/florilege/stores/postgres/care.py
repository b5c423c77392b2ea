"""Care of a store: is it sound, and mending what is not."""

from __future__ import annotations

from dataclasses import replace

from florilege.interfaces.stores import Findings
from florilege.stores import codecs
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.names import add_changes, namespace_key, next_seq
from florilege.stores.postgres.server.schema import missing
from florilege.stores.postgres.server.wire import unescape
from florilege.stores.postgres.writing.publication import retire
from florilege.stores.postgres.writing.rows import retire_rows
from florilege.stores.postgres.writing.vocabulary import Vocabulary
from florilege.stores.postgres.writing.words import StatDelta

_ORPHANS = {
    "sources whose active generation is missing": (
        "SELECT count(*) FROM source s WHERE s.active IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM generation g WHERE g.pk = s.active AND g.published_seq IS NOT NULL)"
    ),
    "manifest lines whose row is missing": (
        "SELECT count(*) FROM manifest m JOIN generation g ON g.pk = m.generation AND g.published_seq IS NOT NULL"
        " WHERE NOT EXISTS (SELECT 1 FROM published r WHERE r.row = m.row)"
    ),
    "generations whose manifest is not of their size": (
        "SELECT count(*) FROM generation g LEFT JOIN (SELECT generation, count(*) AS lines FROM manifest GROUP BY 1) m"
        " ON m.generation = g.pk WHERE g.published_seq IS NOT NULL AND g.chunk_count <> coalesce(m.lines, 0)"
    ),
    "rows without text": (
        "SELECT count(*) FROM published r WHERE NOT EXISTS (SELECT 1 FROM text t WHERE t.row = r.row)"
    ),
    "rows whose metadata is missing": (
        "SELECT count(*) FROM published r WHERE NOT EXISTS (SELECT 1 FROM facet d WHERE d.pk = r.facet)"
    ),
    "documents that are missing": (
        "SELECT count(*) FROM generation g WHERE g.document IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM document d WHERE d.hash = g.document)"
    ),
    "live rows of no active generation": (
        "SELECT count(*) FROM live r JOIN source s ON s.pk = r.source"
        " WHERE NOT EXISTS (SELECT 1 FROM manifest m WHERE m.generation = s.active AND m.row = r.row)"
    ),
    "namespaces whose row count is wrong": (
        "SELECT count(*) FROM (SELECT r.ns, count(*) FROM live r GROUP BY 1) found FULL JOIN"
        " (SELECT d.ns, sum(d.ddf) FROM unnest(%(namespaces)s::int[], %(rows)s::bigint[]) AS k (ns, term)"
        " JOIN stat_delta d ON d.term = k.term GROUP BY 1) told USING (ns)"
        " WHERE found.count IS DISTINCT FROM nullif(told.sum, 0)"
    ),
}

# A source whose active generation is gone, not of its size, or holds rows without text or metadata.
_DAMAGED = (
    "SELECT s.pk, s.source_id, s.active, s.ledger FROM source s LEFT JOIN generation g ON g.pk = s.active"
    " WHERE s.ns = %s AND s.active IS NOT NULL AND (g.pk IS NULL OR g.published_seq IS NULL OR g.chunk_count <> ("
    "  SELECT count(*) FROM manifest m JOIN live r ON r.row = m.row JOIN text t ON t.row = r.row"
    "  JOIN facet d ON d.pk = r.facet WHERE m.generation = s.active))"
)


def check(database: Database, vocabulary: Vocabulary) -> Findings:
    """See :meth:`florilege.stores.PostgresStore.check`."""
    findings = missing(database)
    if findings.problems or any("apply()" in note and "not there" in note for note in findings.notes):
        return findings

    def work(connection: Connection) -> None:
        names = [pk for (pk,) in connection.execute("SELECT pk FROM namespace")]
        values = {"namespaces": names, "rows": [vocabulary.keys(pk).rows for pk in names]}
        for what, query in _ORPHANS.items():
            found = connection.execute(query, values).fetchone()
            if found and found[0]:
                findings.problems.append(f"{found[0]} {what}")
        for name, analyzer in connection.execute("SELECT name, analyzer FROM namespace ORDER BY name"):
            if analyzer not in (None, vocabulary.version):
                findings.notes.append(
                    f"words of namespace {unescape(name)!r} were analysed by version {analyzer}, this is "
                    f"{vocabulary.version}: the next write analyses them anew"
                )

    database.read(work)
    return findings


def lost_chunks(database: Database, namespace: str) -> int:
    """See :meth:`florilege.interfaces.stores.DataStore.lost_chunks`."""

    def work(connection: Connection) -> int:
        ns = namespace_key(connection, namespace)
        found = connection.execute(
            "SELECT coalesce(sum(g.chunk_count), 0)::bigint - (SELECT count(*) FROM live r WHERE r.ns = %(ns)s)"
            " FROM source s JOIN generation g ON g.pk = s.active WHERE s.ns = %(ns)s",
            {"ns": ns},
        ).fetchone()
        return int(found[0]) if found else 0

    return database.read(work)


def repair(database: Database, vocabulary: Vocabulary, namespace: str) -> list[str]:
    """See :meth:`florilege.interfaces.stores.DataStore.repair`."""

    def work(connection: Connection) -> list[str]:
        ns = namespace_key(connection, namespace)
        if ns is None:
            return []
        damaged = connection.execute(_DAMAGED, (ns,)).fetchall()
        keys = vocabulary.keys(ns)
        if damaged:
            seq, at = next_seq(connection, ns)
            doomed = [generation for _, _, generation, _ in damaged]
            retire(connection, doomed, [], seq, at, StatDelta(keys), keys)
            add_changes(connection, ns, seq, at, [("delete", source, active) for source, _, active, _ in damaged])
            for source, _, _, ledger in damaged:
                _mark(connection, source, ledger)
        seq, _ = next_seq(connection, ns)
        orphans = connection.execute(
            "SELECT r.row FROM live r JOIN source s ON s.pk = r.source WHERE r.ns = %s"
            " AND NOT EXISTS (SELECT 1 FROM manifest m WHERE m.generation = s.active AND m.row = r.row)",
            (ns,),
        ).fetchall()
        retire_rows(connection, [row for (row,) in orphans], seq)
        _trim(connection, ns)
        vocabulary.rebuild(connection, ns)
        return [unescape(name) for _, name, _, _ in damaged]

    return database.write(work)


def _mark(connection: Connection, source: int, ledger: bytes | None) -> None:
    """The source of a damaged generation is failed; the next sync takes it for a new one."""
    if ledger is None:
        connection.execute("UPDATE source SET active = NULL WHERE pk = %s", (source,))
        return
    error = {"code": "damaged", "message": "its generation was damaged and has been retired", "retryable": True}
    record = replace(
        codecs.decode_ledger(ledger), status="failed", version=None, content_hash=None, revision=None, error=error
    )
    connection.execute(
        "UPDATE source SET active = NULL, status = 'failed', ledger = %s WHERE pk = %s",
        (codecs.encode_ledger(record), source),
    )


def _trim(connection: Connection, namespace: int) -> None:
    """What is left of retired generations agrees with itself: no line without a row, no row without a text."""
    connection.execute(
        "DELETE FROM retired r WHERE r.ns = %s AND NOT EXISTS (SELECT 1 FROM text t WHERE t.row = r.row)", (namespace,)
    )
    connection.execute(
        "DELETE FROM manifest m USING generation g WHERE g.pk = m.generation AND g.ns = %s"
        " AND g.published_seq IS NOT NULL AND NOT EXISTS (SELECT 1 FROM published r WHERE r.row = m.row)",
        (namespace,),
    )
    connection.execute(
        "UPDATE generation g SET chunk_count = (SELECT count(*) FROM manifest m WHERE m.generation = g.pk)"
        " WHERE g.ns = %s AND g.retired_seq IS NOT NULL",
        (namespace,),
    )
