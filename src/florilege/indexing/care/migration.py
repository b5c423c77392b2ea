"""From one embedding space to another without a moment in which answers are mixed or missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from florilege.indexing.embedding import Embedding
from florilege.indexing.indexer import Indexer
from florilege.indexing.ledger import EMBEDDERS
from florilege.indexing.sync.lease import Lease
from florilege.indexing.sync.stale import own_sources
from florilege.interfaces.embedding import Embedder, EmbeddingSpace, SparseEmbedder
from florilege.interfaces.paging import batches
from florilege.interfaces.stores import Fence, SearchRequest
from florilege.model.errors import ConfigError, Conflict, EmbeddingError
from florilege.model.events import Event, Subscriber, emit
from florilege.model.ledger import Usage

PAGE = 256
ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """What a migration did. ``overlap`` is the mean share of the sample queries' top hits both spaces agree on.

    ``switched`` False: it was only tried (``dry_run``), the new vectors are kept and the old space still answers.
    """

    old: str | None
    new: str
    embedded: int
    overlap: float | None
    switched: bool
    usage: Usage


def migrate(
    indexer: Indexer,
    corpus_id: str,
    embedder: Embedder | SparseEmbedder,
    *,
    queries: Sequence[str] = (),
    top_k: int = 10,
    dry_run: bool = False,
    on_event: Subscriber | None = None,
) -> Migration:
    """Embed every active chunk in ``embedder``'s space beside the leg's old one, compare, switch in one transaction.

    Until the switch every reader uses the old space. An interrupted migration goes on where it stopped. Raises
    Conflict while a sync runs, EmbeddingError when a chunk cannot be embedded (the old space stays).
    """
    store, namespace = indexer.data, indexer.namespace
    leg = embedder.space.leg
    old = store.bound_space(namespace, leg=leg)
    if old == embedder.space.identity:
        raise ConfigError(f"namespace {namespace!r} is in space {old} already")
    with Lease(store, namespace, corpus_id) as lease:
        embedding = Embedding(store, namespace, embedder, share_cache=indexer.share_cache, check=lease.check)
        usage, embedded = Usage(), 0

        def progress(done: int, total: int) -> None:
            counts = {"done": done, "total": total}
            emit(on_event, Event(kind="corpus.embed.progress", namespace=namespace, operation="migrate", counts=counts))

        for _ in range(ROUNDS):
            uncovered = embedding.enqueue_lacking(lease.fence)
            filled = embedding.drain(lease.fence, progress)
            usage, embedded = usage + filled.usage, embedded + filled.embedded
            if filled.failures:
                raise EmbeddingError(
                    f"{len(filled.failures)} texts cannot be embedded with {embedder.space.name!r} "
                    f"({next(iter(filled.failures.values())).message}); namespace {namespace!r} stays in {old}"
                )
            before = indexer.sparse if leg == "sparse" else indexer.dense
            overlap = None if before is None or old is None else _overlap(indexer, (before, embedder), queries, top_k)
            result = Migration(
                old=old,
                new=embedder.space.identity,
                embedded=embedded,
                overlap=overlap,
                switched=not dry_run,
                usage=usage,
            )
            # Indexers without a lease may have published in between: then another round embeds what they added.
            if dry_run:
                return result
            if store.switch_space(namespace, embedder.space, leg=leg, but=uncovered, fence=lease.fence) == 0:
                _tell_ledger(indexer, corpus_id, embedder.space, EMBEDDERS[leg], lease.fence)
                return result
    raise Conflict(f"namespace {namespace!r} kept changing while it was migrated; stop its writers and try again")


def _tell_ledger(indexer: Indexer, corpus_id: str, space: EmbeddingSpace, part: str, fence: Fence | None) -> None:
    """Note the new space in the ledger rows, so that the next sync finds nothing to do."""
    for rows in batches(own_sources(indexer.data, indexer.namespace, corpus_id), PAGE):
        told = [
            replace(row, index_hash={**row.index_hash, part: space.identity}) for row in rows if part in row.index_hash
        ]
        if told:
            indexer.data.record(indexer.namespace, told, fence=fence)


def _overlap(
    indexer: Indexer, embedders: Sequence[Embedder | SparseEmbedder], queries: Sequence[str], top_k: int
) -> float | None:
    shares = []
    with indexer.data.snapshot(indexer.namespace) as snapshot:
        for query in queries:
            tops = []
            for embedder in embedders:
                ((_, best),) = snapshot.search(_request(embedder, query, top_k)).legs.items()
                tops.append({found.chunk_id for found in best[:top_k]})
            if tops[0]:
                shares.append(len(tops[0] & tops[1]) / len(tops[0]))
    return sum(shares) / len(shares) if shares else None


def _request(embedder: Embedder | SparseEmbedder, query: str, depth: int) -> SearchRequest:
    vectors, _ = embedder.embed_many([query], "query")
    if embedder.space.sparse:
        return SearchRequest(sparse=vectors[0], sparse_space=embedder.space, depth=depth)
    return SearchRequest(vector=vectors, space=embedder.space, depth=depth)
