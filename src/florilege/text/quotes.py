"""Finding a quotation in a text: exactly, or up to what copying changes without changing the words.

Normalised, a text has NFKC and case folding (so ligatures are letters), runs of white space as one space, quotation
marks and apostrophes straight, no invisible characters, and no hyphen between two letters, with or without a line break
behind it. Dashes that stand apart lose the space around them. Every character knows which slice it came from.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

Verdict = Literal["exact", "normalised", "absent"]

_STRAIGHT = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»″〝〞", '"'),
        **dict.fromkeys("‘’‚‛‹›′`´", "'"),
        **dict.fromkeys("\u00ad‐‑−", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u200e\u200f", None),
    }
)
_LOOSE = re.compile(
    r"(?P<hyphen>(?<=[^\W\d_])-(?:[^\S\n]*\n\s*)?(?=[^\W\d_]))"
    r"|(?P<broken>(?<=\w)-[^\S\n]*\n\s*(?=\w))"
    r"|(?P<dash>\s*[–—―]\s*|\s+-+\s+)"
    r"|(?P<space>\s+)"
)
_BECOMES = {"hyphen": "", "broken": "-", "dash": "–", "space": " "}
_WRAPPING = " \"'-–"  # what may stand around a quotation cut out of a sentence


class Match(NamedTuple):
    """Where a quotation stands, and how well: ``text[start:end]`` is the quotation when ``verdict`` is "exact"."""

    verdict: Verdict
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Normalised:
    """A normalised text: character ``i`` of ``text`` comes from ``[starts[i], ends[i])`` of the original."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def normalised(text: str) -> Normalised:
    """``text`` normalised, with where each character came from. Time is linear."""
    letters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text):
        for letter in _folded(text[start:end]):
            letters.append(letter)
            starts.append(start)
            ends.append(end)
    return _tightened("".join(letters), starts, ends)


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    if text.isascii():
        yield from ((at, at + 1) for at in range(len(text)))
        return
    import regex

    yield from (match.span() for match in regex.finditer(r"\X", text))


def _folded(cluster: str) -> str:
    if cluster.isascii():
        return cluster.lower().translate(_STRAIGHT)
    cluster = unicodedata.normalize("NFKC", cluster.translate(_STRAIGHT)).casefold()
    return unicodedata.normalize("NFKC", cluster).translate(_STRAIGHT)


def _tightened(text: str, starts: list[int], ends: list[int]) -> Normalised:
    pieces: list[str] = []
    first: list[int] = []
    past: list[int] = []
    at = 0
    for match in _LOOSE.finditer(text):
        low, high = match.span()
        pieces.append(text[at:low])
        first += starts[at:low]
        past += ends[at:low]
        becomes = _BECOMES[match.lastgroup or "space"]
        if becomes:
            pieces.append(becomes)
            first.append(starts[low])
            past.append(ends[high - 1])
        at = high
    return Normalised("".join([*pieces, text[at:]]), (*first, *starts[at:]), (*past, *ends[at:]))


class Quotable:
    """A text that quotations are looked up in; it is normalised at most once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._normalised: Normalised | None = None

    def find(self, quote: str) -> Match:
        """The first place ``quote`` stands: as it is, else normalised, quotation marks and hyphens around it aside.

        A quotation with nothing but space, quotation marks and dashes is absent, as ``Match("absent", 0, 0)``.
        """
        if not quote.strip(_WRAPPING + "\n\t"):
            return Match("absent", 0, 0)
        at = self.text.find(quote)
        if at >= 0:
            return Match("exact", at, at + len(quote))
        if self._normalised is None:
            self._normalised = normalised(self.text)
        hay = self._normalised
        needle = normalised(quote).text
        for wanted in (needle.strip(), needle.strip(_WRAPPING)):
            at = hay.text.find(wanted) if wanted else -1
            if at >= 0:
                return Match("normalised", hay.starts[at], hay.ends[at + len(wanted) - 1])
        return Match("absent", 0, 0)
