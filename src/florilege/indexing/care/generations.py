"""Earlier generations: compare them, go back to one, keep a sync away."""

from __future__ import annotations

from dataclasses import dataclass, replace

from florilege.indexing.embedding import written
from florilege.indexing.indexer import Indexer
from florilege.indexing.ledger import HELD_ALWAYS
from florilege.indexing.sync.lease import Lease
from florilege.interfaces.stores import SourceWrite, WriteOutcome
from florilege.model.chunk import Chunk
from florilege.model.errors import Conflict, NotFound
from florilege.model.ledger import SourceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """What changed from one generation of a source to another; chunks are told apart by their ids.

    ``revised`` pairs chunks of one id whose metadata changed.
    """

    source_id: str
    old: int
    new: int
    added: tuple[Chunk, ...] = ()
    removed: tuple[Chunk, ...] = ()
    revised: tuple[tuple[Chunk, Chunk], ...] = ()
    kept: int = 0


def diff(indexer: Indexer, source_id: str, old: int, new: int) -> Diff:
    """Compare two generations that are still kept; NotFound (code ``collected``) when one is not."""
    with indexer.data.snapshot(indexer.namespace) as snapshot:
        before = {chunk.chunk_id: chunk for chunk in snapshot.chunks(source_id, generation=old)}
        after = {chunk.chunk_id: chunk for chunk in snapshot.chunks(source_id, generation=new)}
    both = [(before[key], after[key]) for key in before if key in after]
    revised = tuple(pair for pair in both if pair[0].metadata != pair[1].metadata)
    return Diff(
        source_id=source_id,
        old=old,
        new=new,
        added=tuple(chunk for key, chunk in after.items() if key not in before),
        removed=tuple(chunk for key, chunk in before.items() if key not in after),
        revised=revised,
        kept=len(both) - len(revised),
    )


def rollback(indexer: Indexer, corpus_id: str, source_id: str, generation: int) -> int:
    """Publish a new generation equal to an earlier one, and hold the content that is rejected by it.

    Nothing is chunked or embedded; a sync skips the source as ``held`` until its content is another one. Returns the
    new generation's number. NotFound when the generation is not kept any more (code ``collected``) or is the active
    one (``active``: to hold what is there is no way back); Conflict while a sync of the corpus runs.
    """
    store, namespace = indexer.data, indexer.namespace
    with Lease(store, namespace, corpus_id) as lease:
        row = _row(indexer, source_id)
        if row.version is not None and row.version.generation == generation:
            message = f"generation {generation} of {source_id!r} is the active one; choose an earlier one"
            raise NotFound(message, code="active", source_id=source_id)
        known = next((item for item in store.history(namespace, source_id) if item.generation == generation), None)
        with store.snapshot(namespace) as snapshot:
            chunks = snapshot.chunks(source_id, generation=generation)
            parents = snapshot.source_parents(source_id, generation=generation)
            try:
                document = snapshot.document(source_id, generation=generation)
            except NotFound as error:
                if error.code != "content_not_kept":
                    raise
                document = None
        vectors = written(indexer.embeddings(), chunks)
        record = replace(
            row,
            status="indexed",
            title=row.title if document is None else document.title,
            metadata=row.metadata if document is None else document.metadata,
            content_hash=None if known is None else known.content_hash,
            metadata_hash=None,
            source_hash=None,
            held_hash=row.content_hash,
            error=None,
        )
        write = SourceWrite(
            record=record, chunks=chunks, parents=parents, document=document, expected=row.version, **vectors
        )
        return _published(store.replace(namespace, [write], fence=lease.fence)[0])


def hold(indexer: Indexer, corpus_id: str, source_id: str, *, held: bool) -> None:
    """Keep syncs away from a source whatever its content, or (``held=False``) let them at it again."""
    with Lease(indexer.data, indexer.namespace, corpus_id) as lease:
        row = replace(_row(indexer, source_id), held_hash=HELD_ALWAYS if held else None)
        indexer.data.record(indexer.namespace, [row], fence=lease.fence)


def _row(indexer: Indexer, source_id: str) -> SourceRecord:
    row = indexer.data.get_sources(indexer.namespace, [source_id]).get(source_id)
    if row is None or row.version is None:
        raise NotFound(f"no indexed source {source_id!r} in namespace {indexer.namespace!r}", source_id=source_id)
    return row


def _published(outcome: WriteOutcome) -> int:
    if outcome.version is None:
        raise Conflict(f"source {outcome.source_id!r}: {outcome.conflict}", source_id=outcome.source_id)
    return outcome.version.generation
