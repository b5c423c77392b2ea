"""The part of a hit that answers a query, with the matching words marked."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from florilege.retrieval.passages.similarity import analyzer

_WORD = re.compile(r"[^\W_]+")
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be by can did do does for from had has have how i in is it its may me my of on or
        our shall should that the their there these this those to was we were what when where which who why
        will with would you your""",
    )
)
"""English words that show nothing when marked; they still count when a query has no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A verbatim slice ``content[start:end]`` of a hit; ``marks`` are the matching words' spans within ``text``."""

    text: str
    start: int
    end: int
    marks: tuple[tuple[int, int], ...] = ()


def excerpt(content: str, query: str, *, max_chars: int = 240) -> Excerpt:
    """The slice of ``content`` of at most ``max_chars`` with the most distinct words of ``query``.

    Of equal slices the first wins; without any match it is the beginning. Words match as the lexical leg matches
    them (case, accents and English endings aside).
    """
    matches = _matches(content, query)
    start = _best_start(matches, max_chars)
    end = min(len(content), start + max_chars)
    start, end = _tidied(content, start, end)
    marks = tuple((a - start, b - start) for a, b, _ in matches if a >= start and b <= end)
    return Excerpt(text=content[start:end], start=start, end=end, marks=marks)


def _matches(content: str, query: str) -> list[tuple[int, int, frozenset[str]]]:
    words = analyzer()
    asked = " ".join(word for word in query.split() if word.strip("?!.,;:").lower() not in _FUNCTION_WORDS)
    wanted = frozenset(words.query_terms(asked) or words.query_terms(query))
    known: dict[str, frozenset[str]] = {}
    found = []
    for match in _WORD.finditer(content):
        word = match.group()
        terms = known.get(word)
        if terms is None:
            terms = known[word] = wanted.intersection(words.analyze(word))
        if terms:
            found.append((match.start(), match.end(), terms))
    return found


def _best_start(matches: list[tuple[int, int, frozenset[str]]], max_chars: int) -> int:
    starts = [start for start, _, _ in matches]
    best, best_count = 0, 0
    for index, start in enumerate(starts):
        inside = matches[index : bisect_left(starts, start + max_chars)]
        terms = frozenset[str]().union(*(terms for _, end, terms in inside if end <= start + max_chars))
        if len(terms) > best_count:
            best, best_count = start, len(terms)
    return max(0, best - max_chars // 6) if best_count else 0


def _tidied(content: str, start: int, end: int) -> tuple[int, int]:
    """Begin and end between words, unless that would leave nothing."""
    if start > 0:
        space = re.compile(r"\s").search(content, start, min(start + 40, end))
        start = space.end() if space else start
    if end < len(content):
        space_at = max(content.rfind(" ", end - 40, end), content.rfind("\n", end - 40, end))
        end = space_at if space_at > start else end
    return start, end
