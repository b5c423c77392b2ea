"""Embedding across sources: each distinct text once, in the embedder's own batches, kept as it arrives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from florilege.embed import check_vectors, vector_key
from florilege.interfaces.embedding import Embedder, EmbeddingSpace
from florilege.interfaces.stores import DataStore, Fence, batches
from florilege.model.chunk import Chunk
from florilege.model.errors import EmbeddingError, FlorilegeError
from florilege.model.ledger import Usage

RETRIES = 3
LOOKUP = 500


@dataclass(slots=True)
class Filled:
    """What a fill did: usage, how many texts were embedded, and the errors by vector key."""

    usage: Usage = field(default_factory=Usage)
    embedded: int = 0
    failures: dict[bytes, EmbeddingError] = field(default_factory=dict)


class Embedding:
    """An embedder bound to a store and a namespace.

    Vectors are found by content: the key of a text covers the space, the task and the exact text, so an unchanged
    text is never embedded twice. ``pause(seconds)`` is called between tries and may raise to stop the work;
    ``check()`` is called before each batch for the same reason.
    """

    def __init__(
        self,
        store: DataStore,
        namespace: str,
        embedder: Embedder,
        *,
        share_cache: bool = False,
        check: Callable[[], None] = lambda: None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.store = store
        self.namespace = namespace
        self.embedder = embedder
        self.check = check
        self.pause = pause
        self._owner = None if share_cache else namespace

    @property
    def space(self) -> EmbeddingSpace:
        """The embedder's space."""
        return self.embedder.space

    def key(self, text: str) -> bytes:
        """The vector key of a text."""
        return vector_key(self._owner, self.space, "document", text)

    def keys(self, chunks: Sequence[Chunk]) -> list[bytes]:
        """The vector key of each chunk's full text."""
        return [self.key(chunk.full_text) for chunk in chunks]

    def missing(self, keys: Sequence[bytes]) -> set[bytes]:
        """Which of these keys have no vector yet."""
        wanted = list(dict.fromkeys(keys))
        return {key for some in batches(wanted, LOOKUP) for key in self.store.missing_vectors(self.space, some)}

    def fill(self, texts: Mapping[bytes, str]) -> Filled:
        """Embed ``texts`` (by key) that the store lacks, writing each batch as it arrives.

        A batch that fails for good is halved until the texts at fault stand alone; they are in ``failures``.
        """
        filled = Filled()
        missing = self.missing(list(texts))
        todo = sorted(((key, texts[key]) for key in missing), key=lambda item: (len(item[1]), item[0]))
        for batch in batches(todo, self.embedder.max_batch):
            self._embed(batch, filled)
        return filled

    def drain(self, fence: Fence | None, progress: Callable[[int, int], None]) -> Filled:
        """Give every waiting chunk its vector, in order of rows; chunks whose text fails stay in the queue.

        ``progress(done, total)`` is told after each publication. The queue survives an interruption at any point.
        """
        total = self.store.count_pending(self.namespace, self.space)
        filled, after, done = Filled(), 0, 0
        while True:
            pending = self.store.pending_vectors(self.namespace, self.space, after=after, limit=64)
            if not pending:
                return filled
            after = pending[-1].row
            some = self.fill({item.key: item.text for item in pending})
            filled.usage += some.usage
            filled.embedded += some.embedded
            filled.failures.update(some.failures)
            ready = [item for item in pending if item.key not in some.failures]
            self.store.fill_vectors(self.namespace, self.space, ready, None, fence=fence)
            done += len(ready)
            progress(done, max(total, done))

    def _embed(self, batch: Sequence[tuple[bytes, str]], filled: Filled) -> None:
        self.check()
        try:
            vectors, usage = self._call([text for _, text in batch])
        except EmbeddingError as error:
            if len(batch) == 1:
                filled.failures[batch[0][0]] = error
                return
            middle = len(batch) // 2
            for half in (batch[:middle], batch[middle:]):
                self._embed(half, filled)
            return
        self.store.put_vectors(self.space, [key for key, _ in batch], vectors)
        filled.usage += usage
        filled.embedded += len(batch)

    def _call(self, texts: Sequence[str]) -> tuple[Any, Usage]:
        for delay in _delays():
            try:
                vectors, usage = self.embedder.embed_many(texts, "document")
                return check_vectors(vectors, len(texts), self.space.dimensions), usage
            except EmbeddingError as error:
                if not error.retryable or delay is None:
                    raise
                self.pause(getattr(error, "retry_after", None) or delay)
            except FlorilegeError:
                raise
            except Exception as error:
                raise EmbeddingError(
                    f"embedder {self.space.name!r} failed: {type(error).__name__}: {error}", retryable=False
                ) from error
        raise AssertionError("the last delay is None")


def _delays() -> Iterator[float | None]:
    for attempt in range(RETRIES):
        yield 0.5 * 2**attempt
    yield None
