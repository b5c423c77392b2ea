"""Embedders over somebody else's client: batches, windows, prompts and prices in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from florilege.embed.adapters.errors import translated
from florilege.embed.check import check_vectors
from florilege.interfaces.embedding import Embeddings, EmbeddingSpace, Task
from florilege.model.errors import ConfigError
from florilege.model.hashing import hexdigest
from florilege.model.ledger import Usage
from florilege.text.clean import clean_text
from florilege.text.ruler import Ruler
from florilege.text.tokens import Tokenizer, tokenizer

_PREPARATION = "1"
_SLACK = 8


class Answer(NamedTuple):
    """``vectors``: one row a text, in order. ``tokens``: what was counted on the other side (None: not told)."""

    vectors: Any
    tokens: int | None = None


class Piece(NamedTuple):
    """A text to send, or a window of one: which text it is of, and how many tokens it has without its prompt."""

    text: int
    content: str
    tokens: int
    partial: bool


class ClientEmbedder:
    """An embedder whose vectors ``call(texts, task)`` fetches.

    At most ``max_batch`` texts, of at most ``max_batch_tokens`` in all, go into one call. ``prompts`` are put before
    texts by task. Input that exceeds ``max_input_tokens`` with its prompt, as ``counter`` counts, is cut into windows
    of nearly equal length whose vectors are averaged, weighted by tokens; ``Usage.windowed`` counts such texts. Without
    a ``counter`` nothing is cut here, and the other side says so when an input is too long for it.
    """

    def __init__(
        self,
        call: Callable[[list[str], Task], Answer],
        *,
        name: str,
        dimensions: int,
        version: str = "1",
        max_batch: int,
        max_batch_tokens: int | None = None,
        max_input_tokens: int | None = None,
        reserved_tokens: int = 0,
        counter: Any = None,
        prompts: Mapping[Task, str] | None = None,
        max_concurrency: int = 1,
        price_per_million_tokens: float | None = None,
        currency: str = "USD",
        scripts: Iterable[str] | None = None,
        languages: Iterable[str] | None = None,
    ) -> None:
        for option, value in (("dimensions", dimensions), ("max_batch", max_batch), ("concurrency", max_concurrency)):
            if value < 1:
                raise ConfigError(f"embedder {name!r}: {option} must be at least 1, not {value}", code="bad_embedder")
        self._prompts: dict[Task, str] = {"document": "", "query": "", **(prompts or {})}
        prepared = hexdigest(str(max_input_tokens), self._prompts["document"], self._prompts["query"])
        preparation = f"{version}.{_PREPARATION}.{prepared[:8]}"
        self.space = EmbeddingSpace(name=name, dimensions=dimensions, preparation=preparation)
        self.max_batch = max_batch
        self.max_input_tokens = max_input_tokens
        self.max_concurrency = max_concurrency
        self.price_per_million_tokens = price_per_million_tokens
        self.currency = currency
        self.scripts = None if scripts is None else frozenset(scripts)
        self.languages = None if languages is None else frozenset(languages)
        self._call = call
        self._max_batch_tokens = max_batch_tokens
        self._reserved = reserved_tokens
        self._counter = counter
        if counter is not None:
            self.count_tokens = self._count_tokens

    def embed_many(self, texts: Sequence[str], task: Task = "document") -> Embeddings:
        """Embed ``texts``, any number of them.

        Raises :class:`EmbeddingError`, ``retryable`` when the other side is busy or out of reach (``retry_after`` in
        seconds where it named a time), and :class:`ConfigError` when it refuses the key or does not know the model.
        """
        import numpy as np

        what = f"embedder {self.space.name!r}"
        pieces = [piece for number, text in enumerate(texts) for piece in self._pieces(number, text, task)]
        sums = np.zeros((len(texts), self.space.dimensions))
        usage = Usage(texts=len(texts), windowed=len({piece.text for piece in pieces if piece.partial}))
        for batch in self._batches(pieces):
            with translated(what, len(batch)):
                answer = self._call([self._prompts[task] + piece.content for piece in batch], task)
            rows = check_vectors(answer.vectors, len(batch), self.space.dimensions, what)
            for piece, row in zip(batch, rows, strict=True):
                sums[piece.text] += max(1, piece.tokens) * row
            usage += self._usage(batch, answer)
        return Embeddings(check_vectors(sums, len(texts), self.space.dimensions, what), usage)

    def _count_tokens(self, text: str) -> int:
        """The tokens of ``text``, its prompt apart, before any window is cut."""
        return self._tokenizer.count(clean_text(text)) if self._tokenizer else 0

    @cached_property
    def _tokenizer(self) -> Tokenizer | None:
        return None if self._counter is None else tokenizer(self._counter)

    def _pieces(self, number: int, text: str, task: Task) -> Iterator[Piece]:
        text = clean_text(text)
        if self._tokenizer is None:
            yield Piece(number, text, 0, False)
            return
        total = self._tokenizer.count(text)
        room = total
        if self.max_input_tokens is not None:
            prompt = self._prompts[task]
            room = self.max_input_tokens - self._reserved - (self._tokenizer.count(prompt) if prompt else 0)
        if total <= room:
            yield Piece(number, text, total, False)
            return
        if room <= _SLACK:
            raise ConfigError(
                f"embedder {self.space.name!r}: its prompt leaves no room in {self.max_input_tokens} tokens",
                code="bad_embedder",
            )
        # Windows counted apart may have a few tokens more than the same stretch of the whole.
        wanted = -(-total // -(-total // (room - _SLACK)))
        for content in _windows(text, self._tokenizer, wanted):
            yield Piece(number, content, self._tokenizer.count(content), True)

    def _batches(self, pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
        batch: list[Piece] = []
        tokens = 0
        for piece in pieces:
            heavy = self._max_batch_tokens is not None and tokens + piece.tokens > self._max_batch_tokens
            if batch and (heavy or len(batch) == self.max_batch):
                yield batch
                batch, tokens = [], 0
            batch.append(piece)
            tokens += piece.tokens
        if batch:
            yield batch

    def _usage(self, batch: Sequence[Piece], answer: Answer) -> Usage:
        tokens = sum(piece.tokens for piece in batch) if answer.tokens is None else answer.tokens
        price = self.price_per_million_tokens
        if price is None:
            return Usage(tokens=tokens, calls=1)
        return Usage(tokens=tokens, calls=1, cost=tokens * price / 1_000_000, currency=self.currency)


def _windows(text: str, counter: Tokenizer, tokens: int) -> Iterator[str]:
    ruler = Ruler(text, counter)
    start = 0
    while start < len(text):
        end = max(start + 1, ruler.reach(start, tokens))
        yield text[start:end]
        start = end
