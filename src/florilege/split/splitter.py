"""What the token splitters share: options checked when they are made, an identity, and being called."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, overload

from florilege.model import hashing
from florilege.model.errors import ConfigError
from florilege.text.tokens import Tokenizer

P = TypeVar("P")


class TokenChunk(NamedTuple):
    """A verbatim slice: ``text`` stands between the two code-point offsets and has ``token_count`` tokens."""

    text: str
    start_index: int
    end_index: int
    token_count: int


class Splitter(Generic[P]):
    """A frozen dataclass whose fields are its options. Call it on a text, or on texts, order kept.

    With a tokenizer that lets other threads run, several texts are cut at a time.
    """

    name: ClassVar[str]
    version: ClassVar[str] = "1"

    def split(self, text: str) -> list[P]:
        """The pieces of ``text`` in order; none when it is blank."""
        raise TypeError(f"{type(self).__name__} does not say how to split")

    def chunk(self, text: str) -> list[P]:
        """The same as :meth:`split`."""
        return self.split(text)

    @overload
    def __call__(self, texts: str, show_progress: bool = False) -> list[P]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, texts: Iterable[str], show_progress: bool = False) -> list[list[P]]: ...
    def __call__(self, texts: str | Iterable[str], show_progress: bool = False) -> list[P] | list[list[P]]:
        """The pieces of one text, or a list of them a text. ``show_progress`` draws a bar over several texts."""
        if isinstance(texts, str):
            return self.chunk(texts)
        listed = list(texts)
        for number, text in enumerate(listed):
            check_text(text, f"text {number}")
        threads = min(len(listed), os.cpu_count() or 1) if getattr(self, "tokenizer").concurrent else 1  # noqa: B009
        if threads < 2:
            return list(_watched(map(self.chunk, listed), len(listed), show_progress))
        with ThreadPoolExecutor(threads, thread_name_prefix="florilege-split") as pool:
            return list(_watched(pool.map(self.chunk, listed), len(listed), show_progress))

    def fingerprint(self) -> str:
        """A hash over name, version and every option: splitters that share it cut alike.

        Raises :class:`ConfigError` when the tokenizer is a function without an identity.
        """
        options = {item.name: _identity(item.name, getattr(self, item.name)) for item in fields(self) if item.init}  # type: ignore[arg-type]
        return hashing.fingerprint(self.name, self.version, options)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _identity(option: str, value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Tokenizer):
        return token_identity(option, value)
    return list(value) if isinstance(value, tuple) else value


def token_identity(option: str, counter: Tokenizer) -> str:
    """What names the tokens that ``counter`` counts; ConfigError when nothing does."""
    if counter.name is None:
        raise ConfigError(
            f"{option}: a function has no identity to put into a fingerprint; give it an attribute "
            "``fingerprint`` that names what it counts",
            code="no_fingerprint",
        )
    return counter.name


def _watched(results: Iterable[list[P]], total: int, show: bool) -> Iterable[list[P]]:
    if not show:
        return results
    from rich.progress import track

    return track(results, description="Splitting", total=total)


def check_text(text: Any, name: str = "text") -> str:
    """``text`` when it is a str; :class:`ConfigError` otherwise."""
    if isinstance(text, str):
        return text
    raise ConfigError(f"{name} must be a str, not a {type(text).__name__}", code="bad_option")


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse an option that is not a whole number of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, not {value!r}", code="bad_option")


def check_number(name: str, value: Any, least: float) -> None:
    """Refuse an option that is not a finite number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < least:
        raise ConfigError(f"{name} must be a finite number of at least {least}, not {value!r}", code="bad_option")


def check_sizes(chunk_size: Any, chunk_overlap: Any) -> None:
    """Refuse sizes no piece can have."""
    check_whole("chunk_size", chunk_size, 1)
    check_whole("chunk_overlap", chunk_overlap, 0)
    if chunk_overlap >= chunk_size:
        raise ConfigError(
            f"chunk_overlap={chunk_overlap} must be smaller than chunk_size={chunk_size}", code="bad_option"
        )


def check_flag(name: str, value: Any) -> None:
    """Refuse an option that is not True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False, not {value!r}", code="bad_option")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse an option that is none of ``choices``."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        known = ", ".join(map(repr, choices))
        raise ConfigError(f"{name} must be one of {known}, not {value!r}", code="bad_option")


def checked_delimiters(name: str, value: Any) -> tuple[str, ...]:
    """Delimiters as a tuple: one str or several, none of them empty; ConfigError otherwise."""
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not listed or not all(isinstance(d, str) and d for d in listed):
        raise ConfigError(
            f"{name} must be one or more delimiters, none of them empty, not {value!r}", code="bad_option"
        )
    return tuple(dict.fromkeys(listed))
