"""Which words a text is found by: the one lexical analyser of every store.

A text becomes a list of terms. Words follow the spirit of UAX #29 (letters, digits and marks, joined by an apostrophe,
full stop or comma inside), are brought to NFKC, case-folded and stripped of accents. Words built of words
(``snake_case``, ``camelCase``, ``dotted.path``, ``kebab-case``, ``O'Brien``) give their pieces and the whole without
its joints, so ``get_user``, ``getUser`` and ``get-user`` meet. Scripts written without spaces give overlapping pairs of
letters with their marks (a lone one stands for itself), as does Hangul, whose particles cling to words. ASCII terms
are cut to their English Snowball stems unless told otherwise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import add
from threading import Lock

from florilege.model.errors import ConfigError

MAX_TERM_CHARS = 64
"""Longer terms are cut here, in documents and queries alike."""

_ALGORITHM = "1"
_CACHED_WORDS = 1 << 16

# Khmer, Lao, Myanmar and Thai (their digits apart), Han with its iteration marks, kana, Hangul.
_PAIRED = (
    r"\u0e01-\u0e4f\u0e81-\u0ecf\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109f\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc"
    r"\u3005-\u3007\u3031-\u3035\u303b\u303c\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf"
    r"\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
)
# Combining marks of the other living scripts and the invisible joiners: \w leaves them out, words hold them.
_MARKS = (
    r"\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    r"\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711-\u07f3\u0816-\u082d\u0859-\u085b\u0898-\u08e1\u08e3-\u0963\u0981-\u09e3"
    r"\u09fe-\u0a75\u0a81-\u0ae3\u0afa-\u0b63\u0b82-\u0bd7\u0c00-\u0c63\u0c81-\u0c83\u0cbc-\u0d4d\u0d57-\u0d63\u0d81-\u0df3"
    r"\u0f35\u0f37\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u135d-\u135f\u1712-\u1734\u180b-\u180d\u1b00-\u1b44\u1b80-\u1bf3"
    r"\u1c24-\u1c37\u1dc0-\u1dff\u200c\u200d\u20d0-\u20f0\u2060\ua66f\ua674-\ua67d\ua802-\ua827\ua880-\ua8c5\ua8e0-\ua8f1"
    r"\ua926-\ua92d\ua947-\ua953\ua980-\ua9c0\uaaeb-\uaaef\uabe3-\uabea\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f"
    r"\U00011100-\U00011134\U0001e944-\U0001e94a"
)
# Vowels and tones that belong to the letter before them in those scripts.
_CLINGING = (
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060"
    r"\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\uaa7b-\uaa7d\u17b4-\u17d3\u3099\u309a"
)
# Nothing here is ever given back, so no quantifier keeps a way back.
_LETTERS = rf"[^\W{_PAIRED}]++(?:[{_MARKS}]++[^\W{_PAIRED}]*+)*+"

# At most eight joined pieces make one word, so a run of joints costs no more than its length.
_ASCII_WORD = re.compile(r"[A-Za-z0-9_]++(?:[.'\-,][A-Za-z0-9_]++){0,7}+")
_JOINTS = re.compile(r"[_.'’·‐‑\-]+")
# A joint between two digits stays: v1.2 is not v12.
_LOOSE_JOINTS = re.compile(r"(?<![0-9])[_.'’·‐‑\-]+|[_.'’·‐‑\-]+(?![0-9])")
_PAIRED_RUN = re.compile(f"[{_PAIRED}]")
_CLUSTER = re.compile(f".[{_CLINGING}]*")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_DECIMAL = re.compile(r"[0-9]+\.[0-9]+")
_ENDING = re.compile(r"['’](?:(s)|t|re|ve|ll|d|m)$", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z]{2})")

# Marks that spell a word the same way with and without: general diacritics, Hebrew points, Arabic vowel signs.
# The breve of Russian short i is left: it makes another letter.
_ACCENTS = re.compile(
    "(?<!и)\u0306|[\u00ad\u0300-\u0305\u0307-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u200c\u200d\u2060\ufe00-\ufe0f]+"
)
_PLAIN_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "ħ": "h", "ı": "i", "þ": "th", "ð": "d"}
)

_ASCII = ("\0", "\x7f")
_STEM_SCRIPTS = {
    "el": ("\u0370", "\u03ff"),
    "ru": ("\u0400", "\u04ff"),
    "hy": ("\u0530", "\u058f"),
    "yi": ("\u0590", "\u05ff"),
    "ar": ("\u0600", "\u06ff"),
    "fa": ("\u0600", "\u06ff"),
    "hi": ("\u0900", "\u097f"),
    "ne": ("\u0900", "\u097f"),
    "ta": ("\u0b80", "\u0bff"),
}
"""First and last code point of the script a language's stemmer works on; languages not named are Latin."""

_Stemmers = Mapping[tuple[str, str], Callable[[str], str]]


@cache
def _general_word() -> re.Pattern[str]:
    return re.compile(rf"[{_PAIRED}]++|{_LETTERS}(?:[.'’·‐‑\-,]{_LETTERS}){{0,7}}+")


def fold(text: str) -> str:
    """``text`` in NFKC without case, accents, vowel points and invisible joiners; every decimal digit an ASCII one."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    text = unicodedata.normalize("NFKC", _ACCENTS.sub("", text)).translate(_PLAIN_LETTERS)
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)


class _Terms(dict[str, tuple[str, ...]]):
    """Terms by word as written; forgets everything when full, so memory stays bounded."""

    def __init__(self, stemmers: _Stemmers) -> None:
        super().__init__()
        self._stemmers = stemmers
        self._lock = Lock()

    def __missing__(self, word: str) -> tuple[str, ...]:
        with self._lock:  # a Snowball stemmer serves one thread at a time
            terms = self._analyze(word)
        if len(word) <= MAX_TERM_CHARS:
            if len(self) >= _CACHED_WORDS:
                self.clear()
            self[word] = terms
        return terms

    def _analyze(self, word: str) -> tuple[str, ...]:
        if word.isascii() and word.isalnum() and (word[1:] == word[1:].lower() or word.isupper()):
            return (self._term(word.lower()),)
        if _PAIRED_RUN.match(word):
            letters = _CLUSTER.findall(fold(word))
            pairs = map(add, letters, letters[1:]) if len(letters) > 1 else letters
            return tuple(pair[:MAX_TERM_CHARS] for pair in pairs)
        if ending := _ENDING.search(word):
            word = word[: ending.start()] + ("" if ending[1] else word[ending.start() + 1 :])
        if _THOUSANDS.fullmatch(word):
            word = word.replace(",", "")
        if _DECIMAL.fullmatch(word):
            return (self._term(word),)
        return tuple(chain.from_iterable(map(self._compound, word.split(","))))

    def _compound(self, word: str) -> list[str]:
        pieces = [fold(piece) for part in _JOINTS.split(word) if part for piece in _HUMP.split(part)]
        terms = [self._term(piece) for piece in pieces if piece]
        if len(terms) > 1 and len(word) <= MAX_TERM_CHARS:
            terms.append(self._term(_LOOSE_JOINTS.sub("", fold(word))))
        return terms

    def _term(self, folded: str) -> str:
        folded = folded[:MAX_TERM_CHARS]
        for (first, last), stem in self._stemmers.items():
            if first <= folded[0] and max(folded) <= last:
                return stem(folded)
        return folded


class Analyzer:
    """Turns text into terms, the same in every store and process. Safe to share between threads.

    ``stem`` names languages by their two-letter codes: each cuts the folded terms of its own script to Snowball stems
    (one language a script; Latin ones take the ASCII terms). None cuts nothing. ``version`` changes whenever the same
    text may give other terms.
    """

    def __init__(self, stem: str | Sequence[str] | None = "en") -> None:
        self.stem = (stem,) if isinstance(stem, str) else tuple(stem or ())
        self.version = _ALGORITHM
        stemmers: dict[tuple[str, str], Callable[[str], str]] = {}
        if self.stem:
            import Stemmer

            for language in self.stem:
                script = _STEM_SCRIPTS.get(language, _ASCII)
                if script in stemmers:
                    raise ConfigError(f"{self.stem!r} names two languages of one script", code="bad_stem")
                try:
                    stemmers[script] = Stemmer.Stemmer(language, 0).stemWord
                except KeyError:
                    raise ConfigError(f"there is no Snowball stemmer for {language!r}", code="bad_stem") from None
            self.version += f"+{'+'.join(sorted(self.stem))}.{Stemmer.version().partition('.')[0]}"
        self._terms = _Terms(stemmers)

    def analyze(self, text: str) -> list[str]:
        """The terms of a document, in order, repeats kept. Time is linear in the text whatever it holds."""
        if text.isascii():
            words = _ASCII_WORD.findall(text)
        else:
            words = _general_word().findall(unicodedata.normalize("NFKC", text))
        return list(chain.from_iterable(map(self._terms.__getitem__, words)))

    def query_terms(self, text: str) -> list[str]:
        """The distinct terms of a query, in order of appearance. Quotes, operators and braces are plain text."""
        return list(dict.fromkeys(self.analyze(text)))
