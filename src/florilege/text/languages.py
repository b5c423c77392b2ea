"""Which language of the Latin script a text is written in, from its commonest words: small, offline, the same always.

Good for one decision: whether a model that knows some languages should have a say on a text. Each language has a list
of words that hold sentences together, letters it writes beyond a to z, and a few endings. A word that few languages
share tells more than one that many do; names of people and words that mean something else in English tell little.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from functools import cache
from math import sqrt
from typing import NamedTuple

from florilege.text import scripts
from florilege.text.common_words import COMMON_WORDS, ENDINGS, LETTERS, WEAK_WORDS

_LETTER_SHARE = 0.4
_ENDING_SHARE = 0.3
_ENDING_STEM = 3
_WEAK_SHARE = 0.25
_ENOUGH = 0.7
_DENSITY = 0.05
_AHEAD = 1.25
_MOST_CHARS = 4000

_VIETNAMESE = re.compile("[\u1ea0-\u1ef9ơưđ]")
_WORD = re.compile(r"[^\W\d_]+")

_OF_SCRIPT = {
    "Arabic": "ar fa ur ps ckb sd ug",
    "Armenian": "hy",
    "Bengali": "bn as",
    "Cyrillic": "ru uk be bg sr mk kk ky mn tg tt",
    "Devanagari": "hi mr ne sa",
    "Georgian": "ka",
    "Greek": "el",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Han": "zh ja",
    "Hangul": "ko",
    "Hebrew": "he yi",
    "Hiragana": "ja",
    "Kannada": "kn",
    "Katakana": "ja",
    "Khmer": "km",
    "Lao": "lo",
    "Malayalam": "ml",
    "Myanmar": "my",
    "Sinhala": "si",
    "Tamil": "ta",
    "Telugu": "te",
    "Thai": "th",
}

KNOWN = frozenset(COMMON_WORDS)
"""The languages of the Latin script that are told apart, by two-letter code."""


class _Tables(NamedTuple):
    words: Mapping[str, Mapping[str, float]]
    endings: Mapping[str, Mapping[str, float]]
    longest: int


@cache
def _tables() -> _Tables:
    return _Tables(
        _weights(COMMON_WORDS, 1.0),
        _weights(ENDINGS, _ENDING_SHARE),
        max(len(ending) for endings in ENDINGS.values() for ending in endings.split()),
    )


def _weights(lists: Mapping[str, str], share: float) -> dict[str, dict[str, float]]:
    """By word the languages that have it. The more there are, the less it tells of each; a lone letter tells little."""
    weak = frozenset(WEAK_WORDS.split())
    languages: dict[str, set[str]] = {}
    for language, words in lists.items():
        for word in words.split():
            languages.setdefault(word, set()).add(language)
    return {
        word: dict.fromkeys(
            sorted(own), share * (_WEAK_SHARE if word in weak or len(word) == 1 else 1.0) / sqrt(len(own))
        )
        for word, own in languages.items()
    }


def evidence(text: str) -> tuple[dict[str, float], int]:
    """What speaks for each known language, and how many words of the Latin script there are (4,000 characters at most
    are looked at). A common word of one language alone speaks with 1.
    """
    tables = _tables()
    found: dict[str, float] = defaultdict(float)
    text = text[:_MOST_CHARS]
    words = _WORD.findall((text if text.isascii() else unicodedata.normalize("NFC", text)).casefold())
    latin = 0
    for word, count in Counter(words).items():
        if not word.isascii() and scripts.dominant_script(word) != "Latin":
            continue
        latin += count
        for language, weight in (tables.words.get(word) or _shape(word, tables)).items():
            found[language] += weight * count
    return dict(found), latin


@cache
def _owners(letter: str) -> frozenset[str]:
    return frozenset(language for language, letters in LETTERS.items() if letter in letters)


def _shape(word: str, tables: _Tables) -> dict[str, float]:
    """What the letters and the ending of a word speak for."""
    shares: dict[str, float] = {}
    if not word.isascii():
        if _VIETNAMESE.search(word):
            return {"vi": 1.0}
        owners = frozenset.intersection(*(_owners(letter) for letter in word if not letter.isascii()))
        shares = dict.fromkeys(sorted(owners), _LETTER_SHARE)
    for length in range(min(tables.longest, len(word) - _ENDING_STEM), 2, -1):
        if own := tables.endings.get(word[-length:]):
            return {language: shares.get(language, 0.0) + own.get(language, 0.0) for language in {*shares, *own}}
    return shares


def language(text: str) -> str | None:
    """The two-letter code of the known language ``text`` is written in; None when nothing speaks clearly for one."""
    found, words = evidence(text)
    if not found:
        return None
    first, *rest = sorted(found, key=lambda code: (-found[code], code))
    second = found[rest[0]] if rest else 0.0
    clear = found[first] >= max(_ENOUGH, _DENSITY * words) and found[first] > _AHEAD * second
    return first if clear else None


def knows(languages: Set[str] | None, text: str) -> bool:
    """Whether a model that knows these languages (None: all) should have a say on ``text``.

    It should unless the text clearly speaks for a known language that is not among them, or is mostly in a script none
    of them is written in.
    """
    if languages is None:
        return True
    script = None if text.isascii() else scripts.dominant_script(text)
    if script not in (None, "Latin"):
        return script not in _OF_SCRIPT or not languages.isdisjoint(_OF_SCRIPT[script].split())
    found, words = evidence(text)
    ours = max((found[code] for code in found if code in languages), default=0.0)
    others = max((found[code] for code in found if code not in languages), default=0.0)
    return others - ours < _ENOUGH or others < _AHEAD * ours or others < _DENSITY * words


def covers(model: object, text: str) -> bool:
    """Whether ``model`` (anything with ``scripts`` and ``languages``, both optional) covers ``text``."""
    return scripts.covers(getattr(model, "scripts", None), text) and knows(getattr(model, "languages", None), text)
