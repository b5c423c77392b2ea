"""What counts tokens: one protocol, and one door that makes a tokenizer of whatever names one.

Everything works offline, at construction and in use. Text that spells a special token ("<|endoftext|>") is plain text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from florilege.model.errors import ConfigError

__all__ = ["Tokenizer", "known_names", "tokenizer"]

ENCODINGS = ("cl100k_base", "o200k_base", "o200k_harmony", "llama3", "qwen3")
"""Byte-pair encodings whose ranks are installed with this package."""

_MODELS = {
    "gpt-3.5-turbo": "cl100k_base",
    "gpt-35-turbo": "cl100k_base",
    "gpt-4": "cl100k_base",
    "gpt-4-turbo": "cl100k_base",
    "text-embedding-ada-002": "cl100k_base",
    "text-embedding-3-small": "cl100k_base",
    "text-embedding-3-large": "cl100k_base",
    "gpt-4o": "o200k_base",
    "gpt-4o-mini": "o200k_base",
    "gpt-4.1": "o200k_base",
    "gpt-4.1-mini": "o200k_base",
    "gpt-4.1-nano": "o200k_base",
    "gpt-5": "o200k_base",
    "gpt-5-mini": "o200k_base",
    "gpt-5-nano": "o200k_base",
    "o1": "o200k_base",
    "o3": "o200k_base",
    "o3-mini": "o200k_base",
    "o4-mini": "o200k_base",
    "gpt-oss": "o200k_harmony",
}
_WORD = re.compile(r"\S++\s*+")


@runtime_checkable
class Tokenizer(Protocol):
    """Counts tokens, and where it can, tells where they end.

    ``name`` is the identity that enters fingerprints (None: it has none, and what is built on it has no fingerprint).
    ``concurrent`` says whether it lets other threads run while it works.
    """

    name: str | None
    concurrent: bool

    def count(self, text: str) -> int:
        """How many tokens ``text`` has."""
        ...

    def ends(self, text: str) -> Sequence[int] | None:
        """Where each token ends: twice the number of characters whole by then, plus one inside a character.

        None when this tokenizer tells only counts.
        """
        ...

    def joins(self, text: str, at: int) -> bool:
        """Whether tokens may be counted apart on both sides of ``at``, an index where a token ends (0 < at < len)."""
        ...

    def parts(self, text: str, at: int) -> bool:
        """Whether a token ends at ``at`` whatever else stands in the text, beyond the characters on its two sides."""
        ...


class _Apart:
    """A tokenizer that promises nothing about parts of a text: every piece is counted for itself."""

    concurrent = False

    def joins(self, text: str, at: int) -> bool:
        """See :class:`Tokenizer`."""
        return False

    def parts(self, text: str, at: int) -> bool:
        """See :class:`Tokenizer`."""
        return False


class Characters:
    """Code points."""

    name: str | None = "character"
    concurrent = False

    def count(self, text: str) -> int:
        """See :class:`Tokenizer`."""
        return len(text)

    def ends(self, text: str) -> Sequence[int]:
        """See :class:`Tokenizer`."""
        return range(2, 2 * len(text) + 2, 2)

    def joins(self, text: str, at: int) -> bool:
        """See :class:`Tokenizer`."""
        return True

    parts = joins


class Bytes(Characters):
    """Bytes of UTF-8."""

    name: str | None = "byte"

    def count(self, text: str) -> int:
        """See :class:`Tokenizer`."""
        return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))

    def ends(self, text: str) -> Sequence[int]:
        """See :class:`Tokenizer`."""
        if text.isascii():
            return super().ends(text)
        import numpy as np

        data = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
        inside = (data & 0xC0) == 0x80
        ends: Any = np.cumsum(~inside, dtype=np.int32) * np.int32(2)
        ends[:-1] -= inside[1:]
        return memoryview(ends)


class Words:
    """Runs of characters that are not white space, each taken with the white space behind it."""

    name: str | None = "word"
    concurrent = False

    def count(self, text: str) -> int:
        """See :class:`Tokenizer`."""
        return len(text.split())

    def ends(self, text: str) -> Sequence[int]:
        """See :class:`Tokenizer`."""
        return [2 * match.end() for match in _WORD.finditer(text)]

    def joins(self, text: str, at: int) -> bool:
        """See :class:`Tokenizer`."""
        return text[at - 1].isspace() and not text[at].isspace()

    parts = joins


class Counted(_Apart):
    """A caller's ``count(text)``."""

    def __init__(self, count: Callable[[str], int], name: str | None) -> None:
        self._count = count
        self.name = name

    def count(self, text: str) -> int:
        """See :class:`Tokenizer`. ConfigError when the caller's function returns no count."""
        value = self._count(text)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ConfigError(f"tokenizer: count(text) returned {value!r}, not a whole number", code="bad_tokenizer")
        return value

    def ends(self, text: str) -> None:
        """See :class:`Tokenizer`."""
        return None


_PLAIN: dict[str, Tokenizer] = {"character": Characters(), "word": Words(), "byte": Bytes()}


def known_names() -> tuple[str, ...]:
    """Every name :func:`tokenizer` knows."""
    return (*ENCODINGS, *_MODELS, *_PLAIN)


def tokenizer(spec: Any) -> Tokenizer:
    """The tokenizer that ``spec`` stands for.

    ``spec`` is a name (:func:`known_names`), the path or the bytes of a Hugging Face ``tokenizer.json``, a tokenizer of
    the tiktoken, quicktok, tokenizers or transformers library, an embedder (its ``count_tokens``), a function
    ``count(text) -> int``, or a :class:`Tokenizer`. Padding and truncation that a file or an object carries are taken
    off a copy. A function is part of a fingerprint by its ``fingerprint`` attribute, if it has one. Raises
    :class:`ConfigError` for anything else, listing the known names.
    """
    if isinstance(spec, str):
        return _named(spec)
    if isinstance(spec, os.PathLike):
        return _file(os.fspath(spec))
    if isinstance(spec, (bytes, bytearray, memoryview)):
        from florilege.text.encodings import HuggingFace

        return HuggingFace.from_bytes(bytes(spec))
    if isinstance(spec, Tokenizer) and not isinstance(spec, type):
        return spec
    return _foreign(spec)


def _named(name: str) -> Tokenizer:
    if name in _PLAIN:
        return _PLAIN[name]
    encoding = _MODELS.get(name, name)
    if encoding in ENCODINGS:
        from florilege.text.encodings import byte_pairs

        return byte_pairs(encoding)
    if os.path.isfile(name):
        return _file(name)
    known = ", ".join(known_names())
    raise ConfigError(
        f"tokenizer={name!r} is neither a known name nor a tokenizer.json file; known: {known}", code="bad_tokenizer"
    )


def _file(path: str | bytes) -> Tokenizer:
    from florilege.text.encodings import HuggingFace

    try:
        with open(path, "rb") as file:
            return HuggingFace.from_bytes(file.read())
    except OSError as error:
        raise ConfigError(f"tokenizer={path!r} cannot be read: {error.strerror}", code="bad_tokenizer") from error


def _foreign(spec: Any) -> Tokenizer:
    from florilege.text.encodings import BytePairs, HuggingFace

    inner = getattr(spec, "backend_tokenizer", spec)
    if hasattr(inner, "encode_ordinary") and hasattr(inner, "decode_single_token_bytes"):
        return BytePairs(inner, str(inner.name), additive=False)
    if hasattr(inner, "encode_special_tokens") and hasattr(inner, "to_str"):
        return HuggingFace.from_bytes(inner.to_str().encode("utf-8"))
    counts = getattr(spec, "count_tokens", None)
    if callable(counts):
        space = getattr(spec, "space", None)
        return Counted(counts, getattr(space, "identity", None))
    if callable(spec) and not isinstance(spec, type):
        return Counted(spec, getattr(spec, "fingerprint", None))
    raise ConfigError(
        f"tokenizer: a {type(spec).__name__} counts no tokens; give a name, a tokenizer.json, a tokenizer or embedder "
        f"object, or a function count(text); known names: {', '.join(known_names())}",
        code="bad_tokenizer",
    )
