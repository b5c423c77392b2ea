"""Vectors for the chunks that wait for one."""

from __future__ import annotations

from dataclasses import dataclass, field

from florilege.indexing.indexer import Indexer
from florilege.indexing.sync.lease import Lease
from florilege.model.errors import ConfigError
from florilege.model.events import Event, Subscriber, emit
from florilege.model.ledger import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """What was done: chunks that got their vector, those that wait still (their text failed), and what it used."""

    embedded: int = 0
    waiting: int = 0
    usage: Usage = field(default_factory=Usage)


def embed_waiting(indexer: Indexer, corpus_id: str, on_event: Subscriber | None = None) -> Embedded:
    """Embed what an interrupted or failed sync left waiting, without listing or reading a source.

    May be stopped at any point and run again; every batch that came is kept. Raises ConfigError without an embedder and
    Conflict while a sync of the corpus runs.
    """
    store, namespace = indexer.data, indexer.namespace
    if not indexer.embedders:
        raise ConfigError("nothing to embed with: the corpus was opened without an embedder", code="no_embedder")

    def progress(done: int, total: int) -> None:
        counts = {"done": done, "total": total}
        emit(on_event, Event(kind="corpus.embed.progress", namespace=namespace, operation="embed", counts=counts))

    embedded, usage = 0, Usage()
    with Lease(store, namespace, corpus_id) as lease:
        for embedding in indexer.embeddings(check=lease.check):
            filled = embedding.drain(lease.fence, progress)
            embedded += filled.embedded
            usage += filled.usage
    waiting = sum(store.count_pending(namespace, embedder.space) for embedder in indexer.embedders)
    return Embedded(embedded=embedded, waiting=waiting, usage=usage)
