"""Embedding across sources: each distinct text once, in the embedder's own batches, kept as it arrives."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from threading import Event
from typing import Any

from florilege.concurrency import concurrently
from florilege.embed import check_sparse, check_vectors, vector_key
from florilege.interfaces.embedding import Embedder, EmbeddingSpace, SparseEmbedder
from florilege.interfaces.paging import batches
from florilege.interfaces.stores import ChunkVectors, DataStore, Fence, PendingVector, VectorLeg
from florilege.model.chunk import Chunk
from florilege.model.errors import EmbeddingError, FlorilegeError
from florilege.model.ledger import Usage
from florilege.text.languages import covers

RETRIES = 3
LOOKUP = 500
PAGE = 64
MOST_PAGE = 2048

WRITE_FIELDS: dict[VectorLeg, str] = {"dense": "vectors", "sparse": "sparse"}
"""The field of a :class:`SourceWrite` that takes the vectors of a leg."""


@dataclass(slots=True)
class Filled:
    """What a fill did: usage, how many texts were embedded, and the errors by vector key."""

    usage: Usage = field(default_factory=Usage)
    embedded: int = 0
    failures: dict[bytes, EmbeddingError] = field(default_factory=dict)

    def add(self, other: Filled) -> None:
        """Count what another fill did as well."""
        self.usage += other.usage
        self.embedded += other.embedded
        self.failures.update(other.failures)


class Embedding:
    """An embedder, dense or sparse, bound to a store and a namespace.

    Vectors are found by content: the key of a text covers the space, the task and the exact text, so an unchanged
    text is never embedded twice. A text the embedder does not cover has no key. ``check()`` is called before each batch
    and, at least once a second, between tries; it may raise to stop the work. ``pause(seconds)`` waits between tries.
    An embedder with ``max_concurrency`` above 1 is asked for so many batches at once, on threads.
    """

    def __init__(
        self,
        store: DataStore,
        namespace: str,
        embedder: Embedder | SparseEmbedder,
        *,
        share_cache: bool = False,
        check: Callable[[], None] = lambda: None,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        self.store = store
        self.namespace = namespace
        self.embedder = embedder
        self.leg: VectorLeg = embedder.space.leg
        self.check = check
        self.pause = pause or self._sleep
        self._lanes: int = max(1, getattr(embedder, "max_concurrency", 1))
        self._owner = None if share_cache else namespace

    @property
    def space(self) -> EmbeddingSpace:
        """The embedder's space."""
        return self.embedder.space

    def key(self, text: str) -> bytes:
        """The vector key of a text."""
        return vector_key(self._owner, self.space, "document", text)

    def covers(self, text: str) -> bool:
        """Whether the embedder knows the text's script and language."""
        return covers(self.embedder, text)

    def keys(self, chunks: Sequence[Chunk]) -> list[bytes | None]:
        """The vector key of each chunk's full text; None for one the embedder does not cover."""
        texts = (chunk.full_text for chunk in chunks)
        return [self.key(text) if self.covers(text) else None for text in texts]

    def missing(self, keys: Sequence[bytes | None]) -> set[bytes]:
        """Which of these keys have no vector yet."""
        wanted = list(dict.fromkeys(key for key in keys if key is not None))
        return {key for some in batches(wanted, LOOKUP) for key in self.store.missing_vectors(self.space, some)}

    def fill(self, texts: Mapping[bytes, str]) -> Filled:
        """Embed ``texts`` (by key) that the store lacks, writing each batch as it arrives.

        A batch that fails for good is halved until the texts at fault stand alone; they are in ``failures``. When two
        texts alone fail in a way that may pass and nothing gets through, the other side is taken to be down, and the
        rest of the batch is in ``failures`` too.
        """
        missing = self.missing(list(texts))
        todo = sorted(((key, texts[key]) for key in missing), key=lambda item: (len(item[1]), item[0]))
        stopped = Event()
        tasks = [partial(self._unless, stopped, batch) for batch in batches(todo, self.embedder.max_batch)]
        filled = Filled()
        for outcome in concurrently(tasks, limit=self._lanes):
            filled.add(outcome.result())
        return filled

    def drain(self, fence: Fence | None, progress: Callable[[int, int], None]) -> Filled:
        """Give every waiting chunk its vector, in order of rows; chunks whose text fails stay in the queue.

        ``progress(done, total)`` is told after each publication. The queue survives an interruption at any point.
        """
        total = self.store.count_pending(self.namespace, self.space)
        page = min(MOST_PAGE, max(PAGE, self._lanes * self.embedder.max_batch))
        filled, after, done = Filled(), 0, 0
        while pending := self.store.pending_vectors(self.namespace, self.space, after=after, limit=page):
            after = pending[-1].row
            some = self.fill({item.key: item.text for item in pending})
            filled.add(some)
            ready = [item for item in pending if item.key not in some.failures]
            self.store.fill_vectors(self.namespace, self.space, ready, None, fence=fence)
            done += len(ready)
            progress(done, max(total, done))
        return filled

    def enqueue_lacking(self, fence: Fence | None) -> list[int]:
        """Let every active chunk without a vector of this space wait for one; the rows that shall have none."""
        uncovered: list[int] = []
        after = 0
        while lacking := self.store.unembedded(self.namespace, self.space, after=after, limit=LOOKUP):
            after = lacking[-1].row
            uncovered += [item.row for item in lacking if not self.covers(item.text)]
            wanted = [self._keyed(item) for item in lacking if self.covers(item.text)]
            self.store.enqueue_vectors(self.namespace, self.space, wanted, fence=fence)
        return uncovered

    def vectors(self, chunks: Sequence[Chunk]) -> ChunkVectors:
        """What a write of these chunks says of vectors."""
        return ChunkVectors(self.space, self.keys(chunks))

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.check()
            time.sleep(min(1.0, left))

    def _keyed(self, item: PendingVector) -> PendingVector:
        return item._replace(key=self.key(item.text))

    def _unless(self, stopped: Event, batch: Sequence[tuple[bytes, str]]) -> Filled:
        """Embed a batch, unless another one has met an error that ends the work."""
        if stopped.is_set():
            return Filled()
        try:
            return self._embed(batch)
        except Exception:
            stopped.set()
            raise

    def _embed(self, batch: Sequence[tuple[bytes, str]]) -> Filled:
        filled, waiting, retries = Filled(), [batch], RETRIES
        while waiting:
            part = waiting.pop()
            try:
                usage = self._kept(part, retries)
            except EmbeddingError as error:
                retries = 0 if error.retryable else RETRIES  # what may pass was waited for once
                down = error.retryable and not filled.embedded and len(filled.failures) > 1
                if len(part) == 1 or down:
                    filled.failures.update((key, error) for key, _ in part)
                else:
                    middle = len(part) // 2
                    waiting += [part[middle:], part[:middle]]
            else:
                filled.add(Filled(usage, len(part)))
        return filled

    def _kept(self, batch: Sequence[tuple[bytes, str]], retries: int) -> Usage:
        """Embed a batch in one call and keep its vectors."""
        self.check()
        vectors, usage = self._call([text for _, text in batch], retries)
        keys = [key for key, _ in batch]
        if self.leg == "sparse":
            self.store.put_sparse(self.space, keys, vectors)
        else:
            self.store.put_vectors(self.space, keys, vectors)
        return usage

    def _call(self, texts: Sequence[str], retries: int) -> tuple[Any, Usage]:
        for attempt in count():
            try:
                vectors, usage = self.embedder.embed_many(texts, "document")
                if self.leg == "sparse":
                    return check_sparse(vectors, len(texts), self.space.dimensions), usage
                return check_vectors(vectors, len(texts), self.space.dimensions), usage
            except EmbeddingError as error:
                if not error.retryable or attempt >= retries:
                    raise
                self.pause(error.retry_after or 0.5 * 2**attempt)
            except FlorilegeError:
                raise
            except Exception as error:
                raise EmbeddingError(
                    f"embedder {self.space.name!r} failed: {type(error).__name__}: {error}", retryable=False
                ) from error
        raise AssertionError("count() does not end")


def written(embeddings: Sequence[Embedding], chunks: Sequence[Chunk]) -> dict[str, Any]:
    """What a :class:`SourceWrite` of these chunks says of vectors, as its keyword arguments."""
    return {WRITE_FIELDS[embedding.leg]: embedding.vectors(chunks) for embedding in embeddings}
