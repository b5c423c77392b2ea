"""Writes turned into drafts: compared with what their sources hold, given keys, and put in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from florilege.interfaces.stores import Fence, SourceWrite
from florilege.stores import preparation
from florilege.stores.fields import Fields
from florilege.stores.postgres.leases import check_fence
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.names import allocate, namespace_key, source_keys, space_key
from florilege.stores.postgres.server.schema import hold_references, lock_key
from florilege.stores.postgres.server.wire import escape, unescape
from florilege.stores.postgres.writing import publication
from florilege.stores.postgres.writing import rows as sql
from florilege.stores.postgres.writing.linking import attach
from florilege.stores.postgres.writing.rows import Draft
from florilege.stores.postgres.writing.vocabulary import Vocabulary
from florilege.stores.postgres.writing.words import StatDelta, add_block
from florilege.stores.preparation import Prepared
from florilege.stores.rules import Active


class Drafting:
    """What small and staged writes share."""

    def __init__(self, database: Database, vocabulary: Vocabulary, fields: Fields) -> None:
        self.database = database
        self.vocabulary = vocabulary
        self._fields = fields

    def prepare(self, namespace: str, writes: Sequence[SourceWrite]) -> list[Prepared]:
        """Everything about these writes that needs no lock."""
        bases = self.database.read(
            lambda connection: _bases(connection, namespace, [write.record.source_id for write in writes])
        )
        return [preparation.prepare(namespace, write, *bases[write.record.source_id]) for write in writes]

    def begin(self, connection: Connection, namespace: str, fence: Fence | None) -> None:
        """What every transaction that writes rows does first."""
        check_fence(connection, namespace, fence)
        hold_references(self.database, connection)

    def locked(self, connection: Connection, namespace: int, source_ids: Sequence[str]) -> dict[str, Active]:
        """The sources as they stand, nobody else changing them until this transaction ends."""
        for key in sorted(lock_key(self.database, "source", namespace, source_id) for source_id in source_ids):
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (key,))
        return publication.active_sources(connection, namespace, source_ids)

    def admitted(
        self, connection: Connection, namespace: int, plans: Sequence[Prepared]
    ) -> tuple[dict[str, str | None], dict[str, Active]]:
        """Per source why it may not be published, or None; and the sources as they stand, locked."""
        names = [plan.source_id for plan in plans]
        source_keys(connection, namespace, names)
        actives = self.locked(connection, namespace, names)
        return {plan.source_id: publication.conflict_of(plan, actives[plan.source_id]) for plan in plans}, actives

    def drafts(
        self, connection: Connection, namespace: int, plans: Sequence[Prepared], actives: Mapping[str, Active]
    ) -> list[Draft]:
        """Plans with their generation's key and their facets; their rows follow."""
        sources = {actives[plan.source_id].source: plan for plan in plans}
        facets = sql.keep_facets(
            connection,
            namespace,
            {source: plan.metadata for source, plan in sources.items()},
            {source: plan.source_id for source, plan in sources.items()},
            self._fields,
        )
        keys = allocate(connection, "generation_pk", len(plans))
        return [
            Draft(plan, actives[plan.source_id], key, facets[source], [], [])
            for (source, plan), key in zip(sources.items(), keys, strict=True)
        ]

    def add(
        self,
        connection: Connection,
        namespace: int,
        drafts: Sequence[Draft],
        spaces: Mapping[str, int],
        stats: StatDelta,
        staged: int | None = None,
    ) -> None:
        """Texts, manifests, postings and vectors of the drafts' rows."""
        sql.add_texts(connection, drafts)
        rows = [pair for draft in drafts for pair in draft.rows]
        words = [item for draft in drafts for item in draft.words]
        add_block(connection, namespace, [pk for pk, _ in rows], words, staged)
        stats.add(words, 1)
        keyed = [line for draft in drafts for line in draft.keyed(spaces, draft.rows)]
        twins = [(pk, row.twin) for pk, row in rows if row.twin is not None]
        attach(connection, self.vocabulary.keys(namespace), namespace, keyed, twins, staged)

    def fill(self, connection: Connection, namespace: int, draft: Draft, counts: Mapping[int, Counter[str]]) -> None:
        """Give the draft's new rows their keys and words; ``counts`` are counted terms by ordinal."""
        rows = draft.plan.rows if draft.piece is None else draft.piece
        new = [row for row in rows if row.carried is None]
        draft.rows = list(zip(allocate(connection, "row_pk", len(new)), new, strict=True))
        draft.words = self.vocabulary.words(connection, namespace, draft.rows, counts)


def spaces_of(connection: Connection, plans: Sequence[Prepared]) -> dict[str, int]:
    """The keys of the spaces these writes bring vector keys of, by identity."""
    keys: dict[str, int] = {}
    for plan in plans:
        for vectors in plan.vectors:
            if vectors.space.identity not in keys:
                key = space_key(connection, vectors.space, create=True)
                assert key is not None
                keys[vectors.space.identity] = key
    return keys


def _bases(
    connection: Connection, namespace: str, source_ids: Sequence[str]
) -> dict[str, tuple[int | None, list[tuple[int, bytes, bytes]]]]:
    """The active generations of sources, and their rows with their digests and text digests."""
    bases: dict[str, tuple[int | None, list[tuple[int, bytes, bytes]]]] = {name: (None, []) for name in source_ids}
    ns = namespace_key(connection, namespace)
    found = connection.execute(
        "SELECT s.source_id, s.active, r.row, r.digest, r.text_digest FROM source s"
        " LEFT JOIN manifest m ON m.generation = s.active LEFT JOIN live r ON r.row = m.row"
        " WHERE s.ns = %s AND s.source_id = ANY(%s)",
        (ns, list(map(escape, source_ids))),
    )
    for name, active, row, digest, text_digest in found:
        known = bases[unescape(name)][1]
        if row is not None:
            known.append((row, digest, text_digest))
        bases[unescape(name)] = active, known
    return bases
