"""The ``semantic`` chunker: boundaries where the subject changes, as embeddings or a function of yours see it."""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

from florilege.chunkers.base import Fingerprinted, check_whole, content_room
from florilege.chunkers.parts.passages import ContextLine, Passages, Slice, ladder
from florilege.chunkers.parts.sections import Run, joined, runs, within
from florilege.chunkers.segments import Boundary, Segment, fitted, grouped, segments, similarities
from florilege.chunkers.structure import StructuredChunker, numbered
from florilege.concurrency import resolve
from florilege.interfaces.embedding import Embedder
from florilege.model import hashing
from florilege.model.chunk import Chunk, Chunking
from florilege.model.document import Document
from florilege.model.errors import ChunkingError, ConfigError
from florilege.split.characters import spans
from florilege.split.splitter import token_identity
from florilege.text.tokens import tokenizer as tokenizer_of

Strategy = Literal["embedding", "model", "custom", "hybrid"]
Threshold = Literal["fixed", "percentile"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SegmentInput:
    """What a segment function decides on: the document and its sentences."""

    document: Document
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class SegmentContext:
    """The sizes a segment function should aim at, and the embedder when there is one."""

    min_chars: int
    max_chars: int
    dense: Embedder | None


@dataclass(frozen=True, slots=True)
class SemanticChunker(Fingerprinted):
    """See :func:`semantic`."""

    strategy: Strategy
    dense: Embedder | None
    segment: Callable[..., Any] | None
    segment_version: str
    min_chars: int
    max_chars: int
    similarity_threshold: float
    threshold: Threshold
    percentile: float
    max_tokens: int | None = None
    tokenizer: Any = None

    name = "semantic"
    version = "1"

    def __post_init__(self) -> None:
        for option, known in (("strategy", get_args(Strategy)), ("threshold", get_args(Threshold))):
            if getattr(self, option) not in known:
                raise ConfigError(f"{option} must be one of {', '.join(known)}, not {getattr(self, option)!r}")
        check_whole("max_chars", self.max_chars, 1)
        check_whole("min_chars", self.min_chars, 0)
        if self.min_chars > self.max_chars:
            raise ConfigError(f"min_chars={self.min_chars} must not exceed max_chars={self.max_chars}")
        if self.max_tokens is not None:
            check_whole("max_tokens", self.max_tokens, 1)
            if self.tokenizer is None and self.dense is None:
                raise ConfigError("max_tokens needs tokenizer=, or dense= whose tokens it counts")
            counted = self.dense if self.tokenizer is None else self.tokenizer
            object.__setattr__(self, "tokenizer", tokenizer_of(counted))
        _check_number("similarity_threshold", self.similarity_threshold, -1, 1)
        _check_number("percentile", self.percentile, 0, 100)
        if self.strategy in ("embedding", "hybrid") and self.dense is None:
            raise ConfigError(f"strategy={self.strategy!r} needs dense=, an embedder")
        if self.strategy != "embedding" and not callable(self.segment):
            raise ConfigError(f"strategy={self.strategy!r} needs segment=, a function of (input, ctx)")

    def fingerprint(self) -> str:
        """A hash over the options, the embedding space, and the function's name and declared version."""
        function = self.segment
        named = [getattr(function, "__module__", ""), getattr(function, "__qualname__", type(function).__name__)]
        options = {
            **self._options(),
            "dense": None if self.dense is None else self.dense.space.identity,
            "segment": None if function is None else named,
        }
        counter = options.pop("tokenizer")
        if options["max_tokens"] is None:
            del options["max_tokens"]
        else:
            options["tokenizer"] = token_identity("tokenizer", counter)
        return hashing.fingerprint(self.name, self.version, options)

    def chunk_document(self, document: Document) -> Chunking:
        """Cut ``document``; ``metadata["semantic_reason"]`` of a chunk says why it begins where it does.

        Raises :class:`ChunkingError` for boundaries of a segment function that are none, and what the embedder raises.
        """
        found = runs(document)
        lines = [self._line(document, run) for run in found]
        pieces = [
            [] if run.kind == "table" else segments(document, run, line.room, partial(self._fits, line.line))
            for run, line in zip(found, lines, strict=True)
        ]
        if self.strategy != "embedding":
            boundaries = self._asked(document, pieces)
            if boundaries or self.strategy != "hybrid":
                return Chunking(numbered(list(self._by_function(document, found, boundaries))))
        return Chunking(numbered(list(self._by_similarity(document, found, lines, pieces))))

    def _by_similarity(
        self, document: Document, found: list[Run], lines: list[ContextLine], pieces: list[list[Segment]]
    ) -> Iterator[Chunk]:
        assert self.dense is not None
        alike = similarities(pieces, self.dense)
        limit = self._limit([value for values in alike for value in values])
        for run, line, own, values in zip(found, lines, pieces, alike, strict=True):
            if run.kind == "table":
                yield from self._structured(document, run)
                continue
            fits = partial(self._holds, document.content, line)
            passages = grouped(own, values, limit, self.min_chars, fits)
            chunks = Passages(document, run, line).exact([span for span, _ in passages])
            for chunk, (_, reason) in zip(chunks, passages, strict=True):
                yield _told(chunk, reason)

    def _limit(self, values: Sequence[float]) -> float:
        """The likeness below which a passage ends."""
        if self.threshold == "fixed" or not values:
            return self.similarity_threshold
        import numpy as np

        return float(np.percentile(values, 100 - self.percentile))

    def _fits(self, context: str, content: str) -> bool:
        """Whether a chunk has no more than ``max_tokens``."""
        if self.max_tokens is None:
            return True
        tokens: int = self.tokenizer.count(f"{context}\n\n{content}" if context else content)
        return tokens <= self.max_tokens

    def _holds(self, content: str, line: ContextLine, start: int, end: int) -> bool:
        return end - start <= line.room and self._fits(line.line, content[start:end])

    def _line(self, document: Document, run: Run) -> ContextLine:
        """The context of a run, in half of either limit at most."""

        def fits(line: ContextLine) -> bool:
            return self.max_tokens is None or self.tokenizer.count(line.line) * 2 <= self.max_tokens

        line = fitted(partial(ContextLine.of, document.title, run.trail), self.max_chars, fits)
        return replace(line, room=content_room(self.max_chars, line.line))

    def _asked(self, document: Document, pieces: list[list[Segment]]) -> list[Boundary]:
        """The boundaries of the segment function, checked, in order."""
        assert self.segment is not None
        given = SegmentInput(document, tuple([piece for own in pieces for piece in own]))
        context = SegmentContext(self.min_chars, self.max_chars, self.dense)
        arguments = (given, context) if _takes_two(self.segment) else (given,)
        answer = resolve(self.segment(*arguments))
        try:
            boundaries = sorted([_boundary(item) for item in answer or ()], key=lambda item: item.start)
        except TypeError as error:
            raise self._refusal(document, f"returned no boundaries: {error}") from None
        at = 0
        for boundary in boundaries:
            if not at <= boundary.start < boundary.end <= len(document.content):
                place = f"[{boundary.start}, {boundary.end})"
                raise self._refusal(document, f"returned the boundary {place}, which is empty, outside or overlaps")
            at = boundary.end
        return boundaries

    def _refusal(self, document: Document, why: str) -> ChunkingError:
        return ChunkingError(
            f"the segment function of {self.name!r} {why} ({document.source_id!r})",
            source_id=document.source_id,
            stage=self.name,
        )

    def _by_function(self, document: Document, found: list[Run], boundaries: list[Boundary]) -> Iterator[Chunk]:
        """Each boundary as a passage, cut where it is too long; what none covers as chunks of its own."""
        at = left_out = 0
        for boundary in [*boundaries, Boundary(len(document.content), len(document.content))]:
            for inside in within(found, at, boundary.start):
                if document.content[inside.start : inside.end].strip():
                    left_out += inside.end - inside.start
                    yield from [_told(chunk, "unassigned") for chunk in self._structured(document, inside)]
            touched = within(found, boundary.start, boundary.end)
            if touched:
                yield from self._passage(document, joined(touched), boundary)
            at = boundary.end
        if left_out and boundaries:
            _log.warning("%s: the segment function left out %d characters", document.source_id, left_out)

    def _passage(self, document: Document, run: Run, boundary: Boundary) -> Iterator[Chunk]:
        line = self._line(document, run)
        content = document.content

        def cut(size: int) -> list[Slice]:
            return spans(content, run.start, run.end, size, 0, ladder(run))

        cuts = fitted(cut, line.room, lambda cuts: all(self._fits(line.line, content[a:b]) for a, b in cuts))
        for chunk in Passages(document, run, line).exact(cuts):
            yield _told(chunk, boundary.reason or self.strategy, boundary.confidence)

    def _structured(self, document: Document, run: Run) -> list[Chunk]:
        return fitted(
            lambda size: StructuredChunker(size, 0).cut(document, run),
            self.max_chars,
            lambda made: all(self._fits(chunk.context, chunk.content) for chunk in made),
        )


def semantic(
    strategy: Strategy = "embedding",
    *,
    dense: Embedder | None = None,
    segment: Callable[..., Any] | None = None,
    segment_version: str = "1",
    min_chars: int = 200,
    max_chars: int = 1200,
    similarity_threshold: float = 0.75,
    threshold: Threshold = "fixed",
    percentile: float = 90.0,
    max_tokens: int | None = None,
    tokenizer: Any = None,
) -> SemanticChunker:
    """A chunker that cuts between sentences where the subject changes.

    "embedding" embeds the sentences of a document together and ends a passage of at least ``min_chars`` where the
    cosine to the next sentence is below ``similarity_threshold``, or, with ``threshold="percentile"``, among the
    greatest distances of the document (those above that ``percentile``). "model" and "custom" ask ``segment(input,
    ctx)``, sync or async, for :class:`Boundary` objects or mappings; text it leaves out becomes chunks of its own.
    "hybrid" asks it first and falls back to embeddings when it returns none. ``max_chars`` is hard, the heading trail
    included, and so is ``max_tokens``, where it is given: tokens of ``tokenizer`` (anything
    :func:`florilege.text.tokens.tokenizer` takes), by default those of ``dense``. Raise ``segment_version`` when the
    function changes. Raises :class:`ConfigError`.
    """
    return SemanticChunker(
        strategy,
        dense,
        segment,
        segment_version,
        min_chars,
        max_chars,
        similarity_threshold,
        threshold,
        percentile,
        max_tokens,
        tokenizer,
    )


def _told(chunk: Chunk, reason: str, confidence: float | None = None) -> Chunk:
    told = {**chunk.metadata, "semantic_reason": reason}
    if confidence is not None:
        told["semantic_confidence"] = confidence
    return replace(chunk, metadata=told)


def _boundary(item: Any) -> Boundary:
    found = Boundary(**item) if isinstance(item, Mapping) else item
    if not isinstance(found, Boundary) or type(found.start) is not int or type(found.end) is not int:
        raise TypeError(f"a {type(item).__name__} is no boundary")
    return found


def _takes_two(function: Callable[..., Any]) -> bool:
    kinds = [item.kind for item in inspect.signature(function).parameters.values()]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Parameter.VAR_POSITIONAL in kinds or sum(kind in positional for kind in kinds) >= 2


def _check_number(name: str, value: Any, low: float, high: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not low <= value <= high:
        raise ConfigError(f"{name} must be a number from {low} to {high}, not {value!r}")
