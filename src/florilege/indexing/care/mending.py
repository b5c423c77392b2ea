"""Is the corpus sound, and making it so again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from florilege.indexing.embedding import written
from florilege.indexing.execution import Execution
from florilege.indexing.indexer import Indexer
from florilege.indexing.sync.lease import Lease
from florilege.indexing.sync.stale import own_sources
from florilege.interfaces.stores import Fence, SourceWrite
from florilege.model.document import Document
from florilege.model.errors import NotFound
from florilege.model.ledger import SourceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """``problems``: what is wrong, one sentence each. ``notes``: what is worth knowing of a sound corpus."""

    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What a repair did: sources indexed again from their kept content, and those the next sync must read again."""

    mended: tuple[str, ...] = ()
    to_sync: tuple[str, ...] = ()
    embedded: int = 0


def verify(indexer: Indexer, corpus_id: str) -> Verification:
    """Hold ledger, chunks, vectors and words against one another; reads everything, changes nothing."""
    store, namespace = indexer.data, indexer.namespace
    findings = store.check()
    problems, notes = list(findings.problems), list(findings.notes)
    lost = store.lost_chunks(namespace)
    if lost:
        problems.append(f"{lost} chunks of active generations are missing")
    with store.snapshot(namespace) as snapshot:
        for row in own_sources(store, namespace, corpus_id):
            if row.version is None:
                continue
            found = len(snapshot.chunks(row.source_id))
            if found != row.chunk_count:
                problems.append(f"source {row.source_id!r} has {found} chunks, its ledger row says {row.chunk_count}")
    pending = sum(store.count_pending(namespace, embedder.space) for embedder in indexer.embedders)
    if pending:
        notes.append(f"{pending} vectors are waited for; the next sync, or `florilege embed`, makes them")
    return Verification(problems=tuple(problems), notes=tuple(notes))


def repair(indexer: Indexer, corpus_id: str) -> Repair:
    """Mend what can be mended: derived data is made anew, damaged sources are indexed again from their kept content.

    A source whose content was not kept is left to the next sync. Vectors are reused by content, so only what is
    missing is embedded. Raises Conflict while a sync of the corpus runs.
    """
    store, namespace = indexer.data, indexer.namespace
    with Lease(store, namespace, corpus_id) as lease:
        damaged = store.repair(namespace)
        rows = store.get_sources(namespace, damaged)
        mended, to_sync = [], []
        for source_id in damaged:
            document = _kept(indexer, source_id)
            if document is not None and source_id in rows:
                _index(indexer, rows[source_id], document, lease.fence)
                mended.append(source_id)
            else:
                to_sync.append(source_id)
        embedded = sum(
            embedding.drain(lease.fence, lambda done, total: None).embedded
            for embedding in indexer.embeddings(check=lease.check)
        )
    return Repair(mended=tuple(mended), to_sync=tuple(to_sync), embedded=embedded)


def _kept(indexer: Indexer, source_id: str) -> Document | None:
    """The content of the source's last generation, if it was kept."""
    history = indexer.data.history(indexer.namespace, source_id)
    if not history:
        return None
    try:
        with indexer.data.snapshot(indexer.namespace) as snapshot:
            return snapshot.document(source_id, generation=history[0].generation)
    except NotFound:
        return None


def _index(indexer: Indexer, row: SourceRecord, document: Document, fence: Fence | None) -> None:
    # What is kept has been through the document transforms already.
    pipeline = replace(indexer.pipeline, documents=())
    prepared = Execution(pipeline, indexer.namespace).run(document)
    record = replace(row, status="indexed", error=None, index_hash=indexer.hashes())
    write = SourceWrite(
        record=record,
        chunks=prepared.chunks,
        parents=prepared.parents,
        document=document,
        expected=row.version,
        **written(indexer.embeddings(), prepared.chunks),
    )
    indexer.data.replace(indexer.namespace, [write], fence=fence)
