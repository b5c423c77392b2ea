"""Stand-ins that need no model and no network, and tell what was asked of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b
from itertools import chain
from threading import Lock

from florilege.embed import check_vectors
from florilege.interfaces.embedding import Embeddings, EmbeddingSpace, Task
from florilege.model.errors import EmbeddingError
from florilege.model.ledger import Usage

_WORD = re.compile(r"\w+")


class CountingEmbedder:
    """An embedder that hashes words and their trigrams into ``dimensions`` numbers, the same in every process.

    Texts that share words have similar vectors. ``texts_embedded`` and ``calls`` count what was asked and answered
    (failed calls count as calls), ``texts`` keeps the texts in order.

    ``fail_on`` fails every call that holds one of these texts, or one it returns true of; ``fail_calls`` names calls
    that fail, counted from 1. ``retryable`` marks those failures. ``version`` sets the space apart from others.
    """

    def __init__(
        self,
        dimensions: int = 32,
        *,
        name: str = "counting",
        version: str = "1",
        max_batch: int = 16,
        max_input_tokens: int | None = None,
        scripts: Iterable[str] | None = None,
        languages: Iterable[str] | None = None,
        fail_on: Collection[str] | Callable[[str], bool] = (),
        fail_calls: Collection[int] = (),
        retryable: bool = False,
    ) -> None:
        self.space = EmbeddingSpace(name=name, dimensions=dimensions, preparation=version)
        self.max_batch = max_batch
        self.max_input_tokens = max_input_tokens
        self.scripts = None if scripts is None else frozenset(scripts)
        self.languages = None if languages is None else frozenset(languages)
        self.texts_embedded = 0
        self.calls = 0
        self.texts: list[str] = []
        self.fail_calls = fail_calls
        self.retryable = retryable
        self._fails = fail_on if callable(fail_on) else frozenset(fail_on).__contains__
        self._lock = Lock()

    def embed_many(self, texts: Sequence[str], task: Task = "document") -> Embeddings:
        """Embed ``texts``, or fail as told with an :class:`EmbeddingError` (code ``planned``)."""
        with self._lock:
            self.calls += 1
            if self.calls in self.fail_calls or any(map(self._fails, texts)):
                raise EmbeddingError(f"planned failure of call {self.calls}", code="planned", retryable=self.retryable)
            self.texts_embedded += len(texts)
            self.texts += texts
        rows = [self._vector(text) for text in texts]
        vectors = check_vectors(rows, len(texts), self.space.dimensions, self.space.name)
        return Embeddings(vectors, Usage(texts=len(texts), tokens=sum(map(self.count_tokens, texts)), calls=1))

    def count_tokens(self, text: str) -> int:
        """The words of ``text``."""
        return len(_WORD.findall(text))

    def _vector(self, text: str) -> list[float]:
        row = [0.0] * self.space.dimensions
        row[0] = 0.01  # a text without words has a vector too
        words = _WORD.findall(text.lower())
        trigrams = (word[at : at + 3] for word in words for at in range(len(word) - 3))
        for feature, weight in chain(((word, 1.0) for word in words), ((piece, 0.3) for piece in trigrams)):
            number = int.from_bytes(blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest(), "big")
            row[number % self.space.dimensions] += weight if number >> 63 else -weight
        return row
