"""Texts as counted terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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


def count_terms(analyzer: TextAnalyzer, texts: Iterable[str]) -> list[Counter[str]]:
    """How often each term stands in each text."""
    return [Counter(analyzer.analyze(text)) for text in texts]
