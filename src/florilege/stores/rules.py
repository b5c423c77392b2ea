"""What may be written, why it may not, and what becomes of a ledger row: the same for every store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from florilege.concurrency import Deadline
from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import Fence, SourceWrite, VectorLeg
from florilege.model.altering import altered
from florilege.model.errors import ConfigError, Conflict, StoreError
from florilege.model.ledger import SourceRecord, Version
from florilege.stores import codecs
from florilege.stores.preparation import Prepared

LEASE_SECONDS = 60.0
"""How long a lease is held unless it is renewed."""

SPACE_COLUMNS: dict[VectorLeg, str] = {"dense": "space", "sparse": "sparse_space"}
"""Where a namespace keeps what its legs are bound to."""

RETENTION_SECONDS = 600.0
"""A generation retired less long ago is still some reader's."""

VECTOR_SECONDS = 7 * 86_400.0
"""An unreferenced vector younger than this may be needed again."""


class Active(NamedTuple):
    """A source as it stands inside the write transaction."""

    source: int
    generation: int | None
    version: Version | None
    last_number: int
    status: str | None
    corpus_id: str | None
    ledger: bytes | None


def owner_conflict(active: Active, source_id: str, corpus_id: str | None) -> str | None:
    """Why a corpus may not write this source, or None."""
    if corpus_id is None or active.corpus_id in (None, corpus_id) or active.status in (None, "deleted"):
        return None
    return f"{source_id!r} belongs to corpus {active.corpus_id!r}"


def version_conflict(active: Active, source_id: str, expected: Version | None) -> str | None:
    """How a source is not at the version a write expects, or None."""
    if active.version == expected:
        return None
    return f"{source_id!r} is at {_told(active.version)}, not {_told(expected)}"


def _told(version: Version | None) -> str:
    return "no generation" if version is None else f"generation {version.generation} revision {version.revision}"


def column_of(space: EmbeddingSpace, leg: VectorLeg) -> str:
    """The leg's column of the namespace; ConfigError for a space of the other kind."""
    if space.sparse is not (leg == "sparse"):
        raise ConfigError(f"space {space.identity} is not one for the {leg} leg", code="wrong_space")
    return SPACE_COLUMNS[leg]


def check_space(namespace: str, bound: str, space: EmbeddingSpace) -> None:
    """ConfigError when the namespace is bound to another space."""
    if bound != space.identity:
        raise ConfigError(
            f"namespace {namespace!r} holds vectors of {bound}, not of {space.identity}; "
            "open it with its own embedder, or index into another namespace",
            code="space_mismatch",
        )


def check_namespace(fence: Fence, namespace: str) -> None:
    """:class:`Conflict` when a write brings another namespace's lease."""
    if fence.namespace != namespace:
        raise Conflict(
            f"the lease is for namespace {fence.namespace!r}, the write for {namespace!r}", code="lease_lost"
        )


def lease_lost(fence: Fence) -> Conflict:
    """What a write is told whose lease somebody else has taken since."""
    return Conflict(
        f"the lease on corpus {fence.corpus_id!r} is no longer {fence.holder}'s; nothing was written",
        code="lease_lost",
    )


def lease_held(namespace: str, corpus_id: str, holder: str) -> Conflict:
    """What somebody is told who did not wait any longer for a lease."""
    return Conflict(
        f"corpus {corpus_id!r} in namespace {namespace!r} is being written by {holder}; "
        "wait for it to end, or pass a longer wait",
        code="lease_held",
        retryable=True,
    )


def left(deadline: Deadline) -> float | None:
    """Seconds a search still has, None for no end; StoreError (code ``deadline``) when there are none."""
    seconds = deadline.left()
    if seconds == 0.0:
        raise StoreError("the deadline passed before the search was done", code="deadline", retryable=True)
    return seconds


def listed_record(row: tuple[Any, ...]) -> SourceRecord:
    """A ledger row as it is told: (name, record, number and revision of what is active, chunks, parents)."""
    _, ledger, number, revision, chunk_count, parent_count = row
    return altered(
        codecs.decode_ledger(ledger),
        version=None if number is None else Version(number, revision),
        chunk_count=chunk_count,
        parent_count=parent_count,
    )


def published_record(plan: Prepared, active: Active, version: Version, at: int) -> SourceRecord:
    """The ledger row of a source published as ``version`` at ``at``."""
    record = plan.write.record
    before = codecs.decode_ledger(active.ledger) if active.ledger is not None and active.status else None
    now = codecs.instant_of(at)
    return altered(
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


def deleted_record(record: SourceRecord, at: int, run_id: int | None) -> SourceRecord:
    """The ledger row of a source after its delete at ``at``; one deleted before stays as it is."""
    if record.status == "deleted":
        return record
    return altered(
        record,
        status="deleted",
        version=None,
        chunk_count=0,
        parent_count=0,
        deleted_at=codecs.instant_of(at),
        run_id=run_id if run_id is not None else record.run_id,
    )


def doomed(
    generations: Iterable[tuple[int, int, int, int | None, bool, int | None, int | None]],
    keep_generations: int,
    before: int,
) -> list[tuple[int, int]]:
    """Generations to collect with their sources, by source.

    ``generations`` are (source, generation, number, retired at, pinned, the source's active generation, its number),
    by source and from the newest revision down. Kept are: the active generation, the last revision of the newest
    ``keep_generations`` other numbers of a source that is not deleted, what is pinned, and what was retired after
    ``before``.
    """
    found = []
    kept: dict[int, set[int]] = defaultdict(set)
    for source, generation, number, retired_at, pinned, active, active_number in generations:
        last_revision = number not in kept[source] and number != active_number
        room = active is not None and len(kept[source]) < keep_generations
        if last_revision and room:
            kept[source].add(number)
        elif generation != active and not pinned and (retired_at or 0) <= before:
            found.append((source, generation))
    return found


def groups(writes: Sequence[SourceWrite], most: int) -> Iterator[list[SourceWrite]]:
    """Runs of writes that fit one transaction; a large source stands alone, and no source stands twice in a run."""
    group: list[SourceWrite] = []
    chunks = 0
    names: set[str] = set()
    for write in writes:
        size = len(write.chunks)
        if group and (chunks + size > most or write.record.source_id in names):
            yield group
            group, chunks, names = [], 0, set()
        group.append(write)
        names.add(write.record.source_id)
        chunks += size
    if group:
        yield group
