"""Source code cut between definitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from florilege.model.errors import ConfigError
from florilege.split.boundaries import Level
from florilege.split.delimiters import Delimiters, Marks, Spaces
from florilege.split.packing import Packer
from florilege.split.splitter import Splitter, TokenChunk, check_sizes, check_text, check_whole
from florilege.text.ruler import ruler
from florilege.text.tokens import tokenizer

LANGUAGES = {
    "bash": ("tree_sitter_bash", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "python": ("tree_sitter_python", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
"""The languages with a grammar in the extra ``code``."""

_DEPTHS = (1, 3, 5)
_TRIES = 32
_BLANK_LINES = Delimiters(("\n\n", "\n\r\n", "\n \n"))
_LINES = Delimiters(("\n",))
_WORDS = Spaces()


@dataclass(frozen=True, slots=True)
class CodeChunker(Splitter[TokenChunk]):
    """Packs whole definitions, else their members, statements and lines, into pieces of at most ``chunk_size`` tokens.

    ``language`` is one of :data:`LANGUAGES` and needs the extra ``code`` (tree-sitter); then no cut falls into a string
    or between a comment and the definition below it while there is another place. Without it, blocks are what blank
    lines before an unindented line part. A piece begins at most ``chunk_overlap`` tokens before the end of the one
    before it. Blocks shorter than ``min_characters_per_chunk`` go with their neighbours where the size allows.
    ``tokenizer`` is anything :func:`florilege.text.tokens.tokenizer` takes. Raises :class:`ConfigError` for options out
    of range, an unknown language, or a missing extra.
    """

    tokenizer: Any = "gpt-3.5-turbo"
    chunk_size: int = 512
    chunk_overlap: int = 0
    language: str | None = None
    min_characters_per_chunk: int = 24
    _grammar: Any = field(init=False, repr=False, compare=False, default=None)

    name: ClassVar[str] = "code"

    def __post_init__(self) -> None:
        check_sizes(self.chunk_size, self.chunk_overlap)
        check_whole("min_characters_per_chunk", self.min_characters_per_chunk, 1)
        grammar = None if self.language is None else _grammar(self.language)
        self._set(tokenizer=tokenizer(self.tokenizer), _grammar=grammar)

    def __reduce__(self) -> tuple[Any, ...]:
        options = (self.tokenizer, self.chunk_size, self.chunk_overlap, self.language, self.min_characters_per_chunk)
        return CodeChunker, options

    def split(self, text: str) -> list[TokenChunk]:
        """The pieces of ``text`` in order; none when it is blank."""
        packer = Packer(
            check_text(text),
            ruler(text, self.tokenizer),
            (*self._levels(text), _BLANK_LINES, _LINES, _WORDS),
            self.chunk_size,
            overlap=self.chunk_overlap,
            least=self.min_characters_per_chunk,
        )
        return [TokenChunk(text[start:end], start, end, tokens) for start, end, _, tokens in packer.spans()]

    def _levels(self, text: str) -> list[Level]:
        if self._grammar is None:
            return [_TopBlocks()]
        marks = _starts(self._grammar, text)
        depths = (*_DEPTHS, max((mark.depth for mark in marks), default=1))
        return [Marks([mark.place for mark in marks if mark.depth <= depth]) for depth in depths]


class _TopBlocks:
    """Blocks parted by blank lines before a line that is not indented."""

    def last(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        for _ in range(_TRIES):
            high = _BLANK_LINES.last(text, low, high)
            if high < 0 or high >= len(text) or not text[high].isspace():
                return high
            high -= 1
        return -1

    def first(self, text: str, low: int, high: int) -> int:
        """See :class:`florilege.split.boundaries.Level`."""
        found = _BLANK_LINES.first(text, low, high)
        while 0 <= found < len(text) and text[found].isspace():
            found = _BLANK_LINES.first(text, found + 1, high)
        return found


class _Mark(NamedTuple):
    place: int
    depth: int


def _grammar(language: Any) -> Any:
    if language not in LANGUAGES:
        raise ConfigError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}", code="bad_option")
    module, name = LANGUAGES[language]
    try:
        return import_module("tree_sitter").Language(getattr(import_module(module), name)())
    except ImportError as error:
        raise ConfigError(
            f"language={language!r} needs tree-sitter: pip install 'florilege[code]'", code="missing_extra"
        ) from error


def _starts(grammar: Any, text: str) -> list[_Mark]:
    """Where syntax nodes begin a line, with the depth of the outermost one that does, in order.

    A node right below a comment begins with the comment. Nodes within one line are not entered.
    """
    data = text.encode("utf-8", "replace")
    tree = import_module("tree_sitter").Parser(grammar).parse(data)
    marks: dict[int, int] = {}
    cursor = tree.walk()
    depth = 0
    comment_row = -1
    while True:
        node = cursor.node
        row, column = node.start_point
        line = node.start_byte - column
        if depth and line not in marks and not data[line : node.start_byte].strip() and row != comment_row:
            marks[line] = depth
        if "comment" in node.type:
            comment_row = node.end_point[0] + 1
        if node.end_point[0] > row and cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return _placed(text, data, marks)
            depth -= 1


def _placed(text: str, data: bytes, marks: dict[int, int]) -> list[_Mark]:
    """Marks at byte offsets as marks at code points."""
    if text.isascii():
        return [_Mark(*item) for item in sorted(marks.items())]
    import numpy as np

    begun = np.cumsum((np.frombuffer(data, dtype=np.uint8) & 0xC0) != 0x80)
    return [_Mark(int(begun[place - 1]) if place else 0, depth) for place, depth in sorted(marks.items())]
