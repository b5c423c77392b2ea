"""What a publication and a delete change, and why they may be refused. Runs inside the caller's write transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from florilege.interfaces.stores import WriteOutcome
from florilege.model.ledger import Version
from florilege.stores import codecs
from florilege.stores.postgres.server.connection import Connection
from florilege.stores.postgres.server.names import add_changes, next_seq
from florilege.stores.postgres.server.wire import escape, unescape
from florilege.stores.postgres.writing import rows as sql
from florilege.stores.postgres.writing.linking import link
from florilege.stores.postgres.writing.rows import Draft
from florilege.stores.postgres.writing.words import StatDelta, TermKeys
from florilege.stores.preparation import Prepared
from florilege.stores.rules import Active, deleted_record, owner_conflict, published_record, version_conflict


class Replan(Exception):
    """The plan was made against a generation that has been replaced since."""


def active_sources(connection: Connection, namespace: int, source_ids: Sequence[str]) -> dict[str, Active]:
    """The sources there are, as they stand in this transaction."""
    found = connection.execute(
        "SELECT s.source_id, s.pk, s.active, g.number, g.revision, s.last_number, s.status, s.corpus_id, s.ledger"
        " FROM source s LEFT JOIN generation g ON g.pk = s.active WHERE s.ns = %s AND s.source_id = ANY(%s)",
        (namespace, list(map(escape, source_ids))),
    )
    actives = {}
    for name, source, generation, number, revision, last, status, corpus_id, ledger in found:
        version = None if generation is None else Version(number, revision)
        owner = None if corpus_id is None else unescape(corpus_id)
        actives[unescape(name)] = Active(source, generation, version, last, status, owner, ledger)
    return actives


def conflict_of(plan: Prepared, active: Active) -> str | None:
    """Why this plan may not be published, or None. Raises when it may, but was made against another generation."""
    conflict = owner_conflict(active, plan.source_id, plan.write.record.corpus_id) or version_conflict(
        active, plan.source_id, plan.write.expected
    )
    if conflict is None and active.generation != plan.base:
        raise Replan
    return conflict


def publish(
    connection: Connection,
    namespace: int,
    drafts: Sequence[Draft],
    seq: int,
    at: int,
    spaces: Mapping[str, int],
    stats: StatDelta,
    keys: TermKeys,
) -> list[WriteOutcome]:
    """Make these generations, whose rows are live already, the active ones. Versions were compared before.

    ``spaces`` holds the keys of the spaces that vector keys are of, by identity.
    """
    versions = [_version(draft) for draft in drafts]
    connection.execute(
        "UPDATE generation g SET number = u.number, revision = u.revision, published_seq = %s, published_at = %s"
        " FROM unnest(%s::bigint[], %s::int[], %s::int[]) AS u (pk, number, revision) WHERE g.pk = u.pk",
        (
            seq,
            at,
            [draft.generation for draft in drafts],
            [version.generation for version in versions],
            [version.revision for version in versions],
        ),
    )
    carried = {draft.generation: {pk for pk, _ in draft.carried()} for draft in drafts}
    before = [draft.active.generation for draft in drafts if draft.active.generation is not None]
    dead = [pk for draft in drafts for pk in draft.plan.base_rows if pk not in carried[draft.generation]]
    retire(connection, before, dead, seq, at, stats, keys)
    keyed = [line for draft in drafts for line in draft.keyed(spaces, draft.carried())]
    queued = link(connection, keys, namespace, [draft.generation for draft in drafts], keyed, seq, stats)
    _settle(connection, drafts, versions, at)
    add_changes(
        connection,
        namespace,
        seq,
        at,
        [
            ("metadata" if draft.plan.write.keep_generation else "publish", draft.source, draft.generation)
            for draft in drafts
        ],
    )
    return [
        WriteOutcome(
            source_id=draft.plan.source_id,
            version=version,
            chunk_count=len(draft.plan.rows),
            carried=len(carried[draft.generation]),
            queued=queued.get(draft.generation, 0),
        )
        for draft, version in zip(drafts, versions, strict=True)
    ]


def _version(draft: Draft) -> Version:
    active = draft.active
    if draft.plan.write.keep_generation and active.version is not None:
        return Version(active.version.generation, active.version.revision + 1)
    return Version(active.last_number + 1, 1)


def _settle(connection: Connection, drafts: Sequence[Draft], versions: Sequence[Version], at: int) -> None:
    records = [
        published_record(draft.plan, draft.active, version, at) for draft, version in zip(drafts, versions, strict=True)
    ]
    connection.execute(
        "UPDATE source s SET active = u.active, last_number = greatest(s.last_number, u.number), status = u.status,"
        " corpus_id = u.corpus_id, ledger = u.ledger FROM unnest(%s::bigint[], %s::bigint[], %s::int[], %s::text[],"
        " %s::text[], %s::bytea[]) AS u (pk, active, number, status, corpus_id, ledger) WHERE s.pk = u.pk",
        (
            [draft.source for draft in drafts],
            [draft.generation for draft in drafts],
            [version.generation for version in versions],
            [record.status for record in records],
            [None if record.corpus_id is None else escape(record.corpus_id) for record in records],
            [codecs.encode_ledger(record) for record in records],
        ),
    )


def retire(
    connection: Connection,
    generations: Sequence[int],
    dead: Sequence[int],
    seq: int,
    at: int,
    stats: StatDelta,
    keys: TermKeys,
) -> None:
    """These generations end at ``seq``, and these of their rows with them."""
    if generations:
        connection.execute(
            "UPDATE generation SET retired_seq = %s, retired_at = %s WHERE pk = ANY(%s)", (seq, at, list(generations))
        )
    if dead:
        stats.add(list(sql.words_of(connection, dead).values()), -1)
        for space, count in sql.retire_rows(connection, dead, seq).items():
            stats.count(keys.vectors(space), -count)


def delete(
    connection: Connection,
    namespace: int,
    actives: Mapping[str, Active],
    forget: bool,
    run_id: int | None,
    keys: TermKeys,
) -> dict[str, int]:
    """Retire the active generations of these sources; returns how many rows of each died."""
    doomed = [active.generation for active in actives.values() if active.generation is not None]
    counts = dict.fromkeys(actives, 0)
    at = codecs.now()
    if doomed:
        by_generation: dict[int, list[int]] = {generation: [] for generation in doomed}
        for generation, row in connection.execute(
            "SELECT generation, row FROM manifest WHERE generation = ANY(%s)", (doomed,)
        ):
            by_generation[generation].append(row)
        counts = {
            name: len(by_generation[active.generation]) if active.generation is not None else 0
            for name, active in actives.items()
        }
        stats = StatDelta(keys)
        seq, at = next_seq(connection, namespace)
        retire(connection, doomed, [row for rows in by_generation.values() for row in rows], seq, at, stats, keys)
        stats.write(connection, namespace, seq)
        add_changes(
            connection,
            namespace,
            seq,
            at,
            [
                ("delete", active.source, active.generation)
                for active in actives.values()
                if active.generation is not None
            ],
        )
    for active in actives.values():
        _forget(connection, active, at, forget, run_id)
    return counts


def _forget(connection: Connection, active: Active, at: int, forget: bool, run_id: int | None) -> None:
    status, corpus_id, ledger = None, None, None
    if not forget and active.ledger is not None and active.status is not None:
        record = deleted_record(codecs.decode_ledger(active.ledger), at, run_id)
        status, corpus_id, ledger = record.status, record.corpus_id, codecs.encode_ledger(record)
    connection.execute(
        "UPDATE source SET active = NULL, status = %s, corpus_id = %s, ledger = %s WHERE pk = %s",
        (status, None if corpus_id is None else escape(corpus_id), ledger, active.source),
    )
