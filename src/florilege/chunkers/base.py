"""What every shipped chunker shares: options checked when it is made, an identity, and how context is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from florilege.model import hashing
from florilege.model.errors import ConfigError
from florilege.text.graphemes import boundary_before

_SEPARATOR = " > "
_MORE = "…"
_LEAST = 8
_LONGEST = 200
_GAP = 2  # the blank line between context and content


class Fingerprinted:
    """A frozen dataclass whose fields are its options, with a ``name`` and a ``version``."""

    name: str
    version: str

    def fingerprint(self) -> str:
        """A hash over name, version and every option: chunkers that share it cut alike."""
        return hashing.fingerprint(self.name, self.version, self._options())

    def _options(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse an option that is not a whole number of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, not {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Refuse an option that is not True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False, not {value!r}")


def context_line(title: str | None, headings: Sequence[str], max_chars: int) -> tuple[str, bool]:
    """``Title > H1 > H2`` in at most half of ``max_chars``, and whether it had to be shortened for that.

    Left out are an entry equal to the one before it and one of more than 200 characters, which is a paragraph marked up
    as a heading. Further shortening drops entries from the outside, then cuts the innermost.
    """
    entries: list[str] = []
    shortened = False
    for entry in (title or "", *headings):
        line = " ".join(entry.split())
        if len(line) > _LONGEST:
            shortened = True
        elif line and (not entries or entries[-1] != line):
            entries.append(line)
    room = max_chars // 2 - _GAP
    found = _SEPARATOR.join(entries)
    while len(found) > room and len(entries) > 1:
        entries = entries[1:]
        found = _SEPARATOR.join((_MORE, *entries))
        shortened = True
    if len(found) > room:
        return (_cut(entries[0], room) if room >= _LEAST else ""), True
    return found, shortened


def _cut(entry: str, most: int) -> str:
    return entry if len(entry) <= most else entry[: boundary_before(entry, most - 1, 0)].rstrip() + _MORE


def content_room(max_chars: int, context: str) -> int:
    """How many characters of content fit below ``max_chars`` beside ``context``."""
    return max_chars - len(context) - _GAP if context else max_chars
