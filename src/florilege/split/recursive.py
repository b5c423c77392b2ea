"""Text cut by a ladder of rules: paragraphs, else sentences, else punctuation, words, tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

from florilege.model.errors import ConfigError
from florilege.split.boundaries import Level
from florilege.split.delimiters import Delimiters, Spaces
from florilege.split.packing import GAP, Context, Packer
from florilege.split.splitter import (
    Splitter,
    check_choice,
    check_flag,
    check_sizes,
    check_text,
    check_whole,
    checked_delimiters,
)
from florilege.text.ruler import ruler
from florilege.text.tokens import Tokenizer, tokenizer

_PARAGRAPHS = ("\n\n", "\r\n\r\n", "\u2029")
_SENTENCES = (". ", "! ", "? ", "\n", "\r", "。", "！", "？", "।", "؟ ", "۔ ")
_PUNCTUATION = ("; ", ": ", ", ", " – ", " — ", " - ", ") ", "] ", "} ", "；", "：", "，", "、", "،", "\t", "|")


@dataclass(frozen=True, slots=True)
class RecursiveLevel:
    """One rung: cut at every one of ``delimiters`` (a str or several), or at white space, or (neither) anywhere.

    ``include_delim``: what is cut at belongs to the unit before it ("prev") or after it ("next"). Raises
    :class:`ConfigError` for an empty delimiter, or for delimiters and white space together.
    """

    delimiters: str | Sequence[str] | None = None
    whitespace: bool = False
    include_delim: Literal["prev", "next"] = "prev"

    def __post_init__(self) -> None:
        check_flag("whitespace", self.whitespace)
        check_choice("include_delim", self.include_delim, ("prev", "next"))
        if self.delimiters is None:
            return
        if self.whitespace:
            raise ConfigError("a level has delimiters or whitespace=True, not both", code="bad_option")
        object.__setattr__(self, "delimiters", checked_delimiters("delimiters", self.delimiters))

    def to_dict(self) -> dict[str, Any]:
        """The level as plain JSON."""
        delimiters = None if self.delimiters is None else list(self.delimiters)
        return {"delimiters": delimiters, "whitespace": self.whitespace, "include_delim": self.include_delim}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RecursiveLevel:
        """The inverse of :meth:`to_dict`; ConfigError names an unknown key."""
        known = {"delimiters", "whitespace", "include_delim"}
        if not isinstance(data, Mapping) or not known.issuperset(data):
            raise ConfigError(f"a level is a mapping with the keys {', '.join(sorted(known))}", code="bad_option")
        return cls(**data)

    def units(self) -> Level | None:
        """What finds this level's unit ends; None where it cuts anywhere."""
        if self.delimiters is not None:
            return Delimiters(self.delimiters, self.include_delim)
        return Spaces(self.include_delim) if self.whitespace else None


_DEFAULT = (
    RecursiveLevel(_PARAGRAPHS),
    RecursiveLevel(_SENTENCES),
    RecursiveLevel(_PUNCTUATION),
    RecursiveLevel(whitespace=True),
    RecursiveLevel(),
)


@dataclass(frozen=True, slots=True)
class RecursiveRules:
    """Levels, the coarsest first; five by default: paragraphs, sentences, punctuation, words, tokens.

    ``levels`` takes :class:`RecursiveLevel` or mappings of its options. Whatever the last level, a unit that is still
    too long is cut between grapheme clusters.
    """

    levels: Sequence[RecursiveLevel] | None = None

    def __post_init__(self) -> None:
        levels: Any = _DEFAULT if self.levels is None else self.levels
        if isinstance(levels, (RecursiveLevel, Mapping)):
            levels = (levels,)
        if not isinstance(levels, Iterable) or isinstance(levels, str):
            raise ConfigError(f"levels must be levels or mappings, not {levels!r}", code="bad_option")
        made = tuple(item if isinstance(item, RecursiveLevel) else RecursiveLevel.from_dict(item) for item in levels)
        if not made:
            raise ConfigError("levels must hold at least one level", code="bad_option")
        object.__setattr__(self, "levels", made)

    def __len__(self) -> int:
        return len(self._levels())

    def __iter__(self) -> Iterator[RecursiveLevel]:
        return iter(self._levels())

    def __getitem__(self, index: int) -> RecursiveLevel:
        return self._levels()[index]

    def get_level(self, index: int) -> RecursiveLevel | None:
        """The level at ``index``, None outside."""
        return self._levels()[index] if 0 <= index < len(self) else None

    def to_dict(self) -> dict[str, Any]:
        """The rules as plain JSON."""
        return {"levels": [level.to_dict() for level in self]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RecursiveRules:
        """The inverse of :meth:`to_dict`."""
        if not isinstance(data, Mapping) or set(data) - {"levels"}:
            raise ConfigError("rules are a mapping with the key levels", code="bad_option")
        return cls(data.get("levels"))

    def units(self) -> tuple[Level, ...]:
        """What finds unit ends, level by level, up to the first level that cuts anywhere."""
        found: list[Level] = []
        for level in self:
            unit = level.units()
            if unit is None:
                break
            found.append(unit)
        return tuple(found)

    def _levels(self) -> tuple[RecursiveLevel, ...]:
        assert isinstance(self.levels, tuple)
        return self.levels


class RecursiveChunk(NamedTuple):
    """A verbatim slice. ``level`` is the level it was cut at, 0 the coarsest; ``context`` what stands before it.

    ``token_count`` counts :attr:`full_text`.
    """

    text: str
    start_index: int
    end_index: int
    token_count: int
    level: int
    context: str = ""

    @property
    def full_text(self) -> str:
        """Context, a blank line and text; the text alone without context."""
        return self.context + GAP + self.text if self.context else self.text


class _Left(int):
    """What a prefix leaves of a size, and in ``asked`` the size, so that a copy with other options has the same."""

    asked: int

    def __new__(cls, asked: int, taken: int) -> _Left:
        left = super().__new__(cls, asked - taken)
        left.asked = asked
        return left

    def __reduce__(self) -> tuple[type[_Left], tuple[int, int]]:
        return _Left, (self.asked, self.asked - self)


@dataclass(frozen=True, slots=True)
class RecursiveChunker(Splitter[RecursiveChunk]):
    """Cuts at every delimiter of a level, packs the units, and opens those that do not fit with the next level.

    Pieces have at most ``chunk_size`` tokens, ``prefix`` and headings included; read back, ``chunk_size`` is what the
    prefix leaves and ``prefix_token_count`` what it takes. Units shorter than ``min_characters_per_chunk`` go with
    their neighbours where the size allows. ``retain_headers`` puts the Markdown headings above a piece into its
    context. A piece begins at most ``chunk_overlap`` tokens before the end of the one before it. ``tokenizer`` is
    anything :func:`florilege.text.tokens.tokenizer` takes. Raises :class:`ConfigError` for options out of range.
    """

    tokenizer: Any = "gpt-3.5-turbo"
    chunk_size: int = 512
    rules: RecursiveRules = field(default_factory=RecursiveRules)
    min_characters_per_chunk: int = 24
    prefix: str | None = None
    retain_headers: bool = False
    chunk_overlap: int = 0
    prefix_token_count: int = field(init=False, default=0)
    _levels: tuple[Level, ...] = field(init=False, repr=False, compare=False, default=())

    name: ClassVar[str] = "recursive"

    def __post_init__(self) -> None:
        check_whole("chunk_size", self.chunk_size, 1)
        check_whole("min_characters_per_chunk", self.min_characters_per_chunk, 1)
        check_flag("retain_headers", self.retain_headers)
        if isinstance(self.rules, Mapping):
            self._set(rules=RecursiveRules.from_dict(self.rules))
        if not isinstance(self.rules, RecursiveRules):
            raise ConfigError(f"rules must be RecursiveRules, not {self.rules!r}", code="bad_option")
        counter = tokenizer(self.tokenizer)
        asked = self.chunk_size.asked if isinstance(self.chunk_size, _Left) else self.chunk_size
        taken = prefix_tokens(self.prefix, counter, asked)
        check_sizes(asked - taken, self.chunk_overlap)
        left = _Left(asked, taken) if taken else asked
        self._set(_levels=self.rules.units(), tokenizer=counter, chunk_size=left, prefix_token_count=taken)

    def split(self, text: str) -> list[RecursiveChunk]:
        """The pieces of ``text`` in order; none when it is blank."""
        measure = ruler(check_text(text), self.tokenizer)
        context = self._context(text)
        packer = Packer(
            text,
            measure,
            self._levels,
            self.chunk_size + self.prefix_token_count,
            overlap=self.chunk_overlap,
            least=self.min_characters_per_chunk,
            context=context,
        )
        return [
            RecursiveChunk(text[start:end], start, end, tokens, level, context(start).text if context else "")
            for start, end, level, tokens in packer.spans()
        ]

    def _context(self, text: str) -> Callable[[int], Context] | None:
        prefix = Context(self.prefix or "", self.prefix_token_count)
        if not self.retain_headers:
            return (lambda start: prefix) if prefix.text else None
        trail = HeadingTrail(text, self.tokenizer, self.chunk_size // 2)

        def context(start: int) -> Context:
            joined = GAP.join(filter(None, (trail(start), prefix.text)))
            return Context(joined, self.tokenizer.count(joined + GAP)) if joined else Context()

        return context


def prefix_tokens(prefix: Any, counter: Tokenizer, size: int) -> int:
    """What ``prefix`` and the blank line behind it take; ConfigError unless it leaves room for a token."""
    if prefix is None or prefix == "":
        return 0
    if not isinstance(prefix, str):
        raise ConfigError(f"prefix must be a str or None, not {prefix!r}", code="bad_option")
    taken = counter.count(prefix + GAP)
    if taken >= size:
        raise ConfigError(f"prefix takes {taken} tokens and leaves none of chunk_size={size}", code="bad_option")
    return taken


class HeadingTrail:
    """The headings above a place in a Markdown text, as Markdown lines, in at most ``limit`` tokens.

    A heading that begins right at the place is not above it. Where they are too long, the outermost go first.
    """

    def __init__(self, text: str, counter: Tokenizer, limit: int) -> None:
        from florilege.split.markdown.outline import outline

        self._counter = counter
        self._limit = limit
        self._places: list[int] = []
        self._trails: list[tuple[str, ...]] = [()]
        lines: list[tuple[str, ...]] = []
        for heading in outline(text).headings:
            above = lines[heading.parent] if heading.parent >= 0 else ()
            lines.append((*above, f"{'#' * heading.level} {heading.title}"))
            self._places += (heading.start, heading.start + 1)
            self._trails += (above, lines[-1])

    def __call__(self, start: int) -> str:
        trail = self._trails[bisect_right(self._places, start)]
        for number in range(len(trail)):
            lines = "\n".join(trail[number:])
            if self._counter.count(lines + GAP) <= self._limit:
                return lines
        return ""
