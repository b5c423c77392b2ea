"""Texts as counted terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Protocol

MAX_COUNT = 0xFFFF
"""A term that stands in a text more often counts as standing there this often."""


class TextAnalyzer(Protocol):
    """What turns text into terms; see :class:`florilege.text.lexical.Analyzer`."""

    version: str

    def analyze(self, text: str) -> list[str]:
        """The terms of a document, repeats kept."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """The distinct terms of a query."""
        ...


def analyzer_of(given: TextAnalyzer | None) -> Callable[[], TextAnalyzer]:
    """What gives the analyser that was given, or the shipped one, which is made when it is first asked for."""
    if given is not None:
        return lambda: given

    @cache
    def shipped() -> TextAnalyzer:
        from florilege.text.lexical import Analyzer

        return Analyzer()

    return shipped


def count_terms(analyzer: TextAnalyzer, texts: Iterable[str]) -> list[Counter[str]]:
    """How often each term stands in each text."""
    return [Counter(analyzer.analyze(text)) for text in texts]
