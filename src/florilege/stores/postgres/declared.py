"""The declared fields of a store, kept with it: what filters can see of metadata is stored as they make it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from florilege.stores.fields import Fields
from florilege.stores.postgres.reading.filters import filter_doc
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.wire import unescape

_PAGE_FACETS = 2000


def settled(database: Database, given: Mapping[str, type | str] | None) -> Fields:
    """The store's declared fields: those given, which are kept, else those it has.

    Where texts become instants, or no longer are, all that filters see is made anew in one transaction.
    """
    kept = _kept(database)
    if given is None or database.read_only:
        return Fields(kept)
    fields = Fields(given)
    if fields.names() != kept:
        database.write(lambda connection: _keep(connection, fields, Fields(kept)))
    return fields


def _kept(database: Database) -> dict[str, str]:
    found = database.fetch("SELECT value FROM meta WHERE key = 'fields'")
    kept: dict[str, str] = json.loads(found[0][0]) if found else {}
    return kept


def _keep(connection: Connection, fields: Fields, before: Fields) -> None:
    connection.execute(
        "INSERT INTO meta (key, value) VALUES ('fields', %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (json.dumps(fields.names()),),
    )
    if fields.instants == before.instants:
        return
    connection.execute("LOCK TABLE facet IN SHARE ROW EXCLUSIVE MODE")
    after = 0
    while page := connection.execute(
        "SELECT f.pk, f.record, s.source_id FROM facet f JOIN source s ON s.pk = f.source"
        " WHERE f.pk > %s ORDER BY f.pk LIMIT %s",
        (after, _PAGE_FACETS),
    ).fetchall():
        after = page[-1][0]
        docs = [filter_doc(record, unescape(name), fields) for _, record, name in page]
        connection.execute(
            "UPDATE facet f SET doc = u.doc FROM unnest(%s::bigint[], %s::jsonb[]) AS u (pk, doc) WHERE f.pk = u.pk",
            ([pk for pk, _, _ in page], docs),
        )
