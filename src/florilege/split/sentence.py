"""Whole sentences packed to a number of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, overload

from florilege.split.boundaries import Level
from florilege.split.delimiters import Delimiters, Merged, SentenceUnits, Spaces
from florilege.split.packing import Packer, Span
from florilege.split.splitter import (
    Splitter,
    check_choice,
    check_sizes,
    check_text,
    check_whole,
    checked_delimiters,
)
from florilege.text.graphemes import is_boundary
from florilege.text.ruler import Ruler, ruler
from florilege.text.tokens import tokenizer

AUTO = "auto"
_WORDS = Spaces()


class Sentence(NamedTuple):
    """A sentence of a chunk, placed in the whole text."""

    text: str
    start_index: int
    end_index: int
    token_count: int


class Sentences(Sequence[Sentence]):
    """The sentences of a chunk, cut when they are first asked for."""

    __slots__ = ("_chunker", "_found", "_start", "_text")

    def __init__(self, text: str, start: int, chunker: SentenceChunker) -> None:
        self._text = text
        self._start = start
        self._chunker = chunker
        self._found: tuple[Sentence, ...] | None = None

    def _all(self) -> tuple[Sentence, ...]:
        if self._found is None:
            self._found = tuple(self._chunker.sentences(self._text, self._start))
        return self._found

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sentence]: ...
    def __getitem__(self, index: int | slice) -> Sentence | Sequence[Sentence]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and not isinstance(other, str) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all(),)


class SentenceChunk(NamedTuple):
    """A verbatim slice made of whole ``sentences``, or of a part of one that is too long."""

    text: str
    start_index: int
    end_index: int
    token_count: int
    sentences: Sequence[Sentence] = ()


@dataclass(frozen=True, slots=True)
class SentenceChunker(Splitter[SentenceChunk]):
    """Packs sentences into pieces of at most ``chunk_size`` tokens.

    A sentence ends at every one of ``delim`` (a str or several), or with ``delim="auto"`` where
    :mod:`florilege.text.sentences` says so; ones shorter than ``min_characters_per_sentence`` are joined to what
    follows. ``include_delim``: the delimiter belongs to the sentence before it ("prev"), after it ("next"), or is left
    out of the ends of pieces and sentences (None; offsets stay true). A sentence that is too long is cut between words,
    a word that is too long between grapheme clusters. A piece begins at most ``chunk_overlap`` tokens before the end of
    the one before it, at a sentence, else a word. ``min_sentences_per_chunk`` keeps the last piece from having fewer,
    where the size allows. ``tokenizer`` is anything :func:`florilege.text.tokens.tokenizer` takes. Raises
    :class:`ConfigError` for options out of range.
    """

    tokenizer: Any = "gpt-3.5-turbo"
    chunk_size: int = 512
    chunk_overlap: int = 0
    min_sentences_per_chunk: int = 1
    min_characters_per_sentence: int = 12
    delim: str | Sequence[str] = (". ", "! ", "? ", "\n")
    include_delim: Literal["prev", "next"] | None = "prev"
    _level: Merged = field(init=False, repr=False, compare=False, default=None)  # type: ignore[assignment]

    name: ClassVar[str] = "sentence"

    def __post_init__(self) -> None:
        check_sizes(self.chunk_size, self.chunk_overlap)
        check_whole("min_sentences_per_chunk", self.min_sentences_per_chunk, 1)
        check_whole("min_characters_per_sentence", self.min_characters_per_sentence, 1)
        check_choice("include_delim", self.include_delim, ("prev", "next", None))
        delim = self.delim if self.delim == AUTO else checked_delimiters("delim", self.delim)
        ends: Level = SentenceUnits()
        if delim != AUTO:
            ends = Delimiters(delim, "next" if self.include_delim == "next" else "prev")
        level = Merged(ends, self.min_characters_per_sentence)
        self._set(delim=delim, tokenizer=tokenizer(self.tokenizer), _level=level)

    def split(self, text: str) -> list[SentenceChunk]:
        """The pieces of ``text`` in order; none when it is blank."""
        measure = ruler(check_text(text), self.tokenizer)
        spans: Iterator[Span] | list[Span]
        spans = Packer(text, measure, (self._level, _WORDS), self.chunk_size, overlap=self.chunk_overlap).spans()
        if self.min_sentences_per_chunk > 1:
            spans = self._balanced(text, list(spans))
        if self.include_delim is None and self.delim != AUTO:
            spans = self._bare(text, measure, spans)
        return [
            SentenceChunk(piece := text[start:end], start, end, tokens, Sentences(piece, start, self))
            for start, end, _, tokens in spans
        ]

    def sentences(self, text: str, offset: int = 0) -> Iterator[Sentence]:
        """The sentences of ``text``, placed as if it began at ``offset``."""
        for start, end in self._level.units(text):
            if self.include_delim is None:
                end = self._without_delimiter(text, start, end)
            sentence = text[start:end]
            if sentence and not sentence.isspace():
                yield Sentence(sentence, offset + start, offset + end, self.tokenizer.count(sentence))

    def _without_delimiter(self, text: str, start: int, end: int) -> int:
        for delimiter in self.delim if self.delim != AUTO else ():
            if text.endswith(delimiter, start, end):
                bare = end - len(delimiter)
                bare -= text[bare : bare + 1] == "\n" and text[bare - 1 : bare] == "\r" and bare > start
                return bare if is_boundary(text, bare, start) else end
        return end

    def _bare(self, text: str, measure: Ruler, spans: Iterator[Span] | list[Span]) -> Iterator[Span]:
        """The spans without the delimiter at their end; what is then blank, or in the piece before, is left out."""
        done = 0
        for span in spans:
            end = self._without_delimiter(text, span.start, span.end)
            tokens = span.tokens if end == span.end else measure.count(span.start, end)
            if tokens > self.chunk_size:
                end, tokens = span.end, span.tokens
            if end > done and text[span.start : end].strip():
                done = end
                yield Span(span.start, end, span.level, tokens)

    def _balanced(self, text: str, spans: list[Span]) -> list[Span]:
        """The last piece filled up to ``min_sentences_per_chunk`` from the one before it, where that has sentences to
        spare and the size allows."""
        if len(spans) < 2 or spans[-1].level or spans[-2].level:
            return spans
        *rest, before, last = spans
        starts = [item.start_index for item in self.sentences(text[before.start : last.end], before.start)]
        wanted = self.min_sentences_per_chunk
        if len(starts) < 2 * wanted or starts[-wanted] >= last.start:
            return spans
        cut = starts[-wanted]
        tokens = self.tokenizer.count(text[cut : last.end])
        if tokens > self.chunk_size:
            return spans
        left = self.tokenizer.count(text[before.start : cut])
        return [*rest, Span(before.start, cut, 0, left), Span(cut, last.end, 0, tokens)]
