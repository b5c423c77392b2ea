"""Which Unicode script a text is mostly written in."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Set
from functools import cache

_RENAMED = {"Cjk": "Han", "Ideographic": "Han", "Katakana-Hiragana": "Katakana"}
_WIDTHS = ("FULLWIDTH", "HALFWIDTH")
_COMMON = frozenset({"Modifier", "Mathematical", "Double-Struck", "Feminine", "Masculine"})


@cache
def _script(letter: str) -> str | None:
    words = unicodedata.name(letter, "").split()
    if words and words[0] in _WIDTHS:
        words = words[1:]
    name = words[0].title() if words else ""
    return None if not name or name in _COMMON else _RENAMED.get(name, name)


def scripts(text: str) -> Counter[str]:
    """How many letters of ``text`` belong to each script, by Unicode script name ("Latin", "Han", "Cyrillic", ...).

    A character's script is read off its name, so a letter of an old script of two words goes by the first of them.
    """
    counts: Counter[str] = Counter()
    for char, count in Counter(text).items():
        if char.isalpha() and (script := _script(char)):
            counts[script] += count
    return counts


def dominant_script(text: str) -> str | None:
    """The script most letters of ``text`` belong to; of equals the first by name; None without letters."""
    counts = scripts(text)
    return min(counts, key=lambda script: (-counts[script], script)) if counts else None


def covers(covered: Set[str] | None, text: str) -> bool:
    """Whether at least half of the letters of ``text`` are in the ``covered`` scripts.

    None covers everything, and every set covers a text without letters.
    """
    if covered is None or ("Latin" in covered and text.isascii()):
        return True
    counts = scripts(text)
    return 2 * sum(counts[script] for script in covered) >= counts.total()
