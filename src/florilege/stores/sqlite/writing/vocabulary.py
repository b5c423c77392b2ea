"""Words as numbers: the writer's side of the ``term`` table, and the lexemes of rows."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from florilege.stores.terms import MAX_COUNT

_CACHED_TERMS = 300_000


class Vocabulary:
    """Term numbers, with a bounded cache. Use only inside a write transaction; :meth:`forget` after a rollback."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._whole_up_to = 0

    def forget(self) -> None:
        """Drop the cache: numbers given out in a rolled-back transaction are not real."""
        self._known = {}
        self._whole_up_to = 0

    def number(self, connection: sqlite3.Connection, terms: Iterable[str]) -> dict[str, int]:
        """A mapping with the number of every one of ``terms``; new terms get the next ones."""
        wanted = set(terms)
        known = self._known
        unknown = wanted.difference(known)  # asks the mapping; `- known.keys()` would walk all of it
        if not unknown:
            return known
        if len(known) + len(unknown) > _CACHED_TERMS:
            unknown = wanted
            known = self._known = {}
            self._whole_up_to = 0
        (last,) = connection.execute("SELECT coalesce(max(pk), 0) FROM term").fetchone()
        # Numbers are dealt without gaps: a cache that holds all of them needs no look for others.
        if last != self._whole_up_to:
            known.update(lookup(connection, unknown))
            self._whole_up_to = last if len(known) == last else 0
        fresh = sorted(unknown.difference(known))
        if fresh:
            numbered = list(enumerate(fresh, last + 1))
            connection.executemany("INSERT INTO term (pk, text) VALUES (?, ?)", numbered)
            known.update((term, number) for number, term in numbered)
            if self._whole_up_to == last:
                self._whole_up_to = last + len(fresh)
        return known


def lookup(connection: sqlite3.Connection, terms: Iterable[str]) -> dict[str, int]:
    """The numbers of those terms the store knows."""
    found: dict[str, int] = {}
    rest = iter(terms)
    while batch := list(islice(rest, 1000)):
        marks = ",".join("?" * len(batch))
        found.update(connection.execute(f"SELECT text, pk FROM term WHERE text IN ({marks})", batch))
    return found


def lexemes(
    connection: sqlite3.Connection, vocabulary: Vocabulary, counters: Sequence[Counter[str]]
) -> list[tuple[int, bytes, bytes]]:
    """For each counted text its length in terms, its term numbers (u32) and their counts (u16), as blobs."""
    import numpy as np

    known = vocabulary.number(connection, chain.from_iterable(counters))
    total = sum(map(len, counters))
    terms = np.fromiter(map(known.__getitem__, chain.from_iterable(counters)), dtype="<u4", count=total).tobytes()
    counts = np.fromiter(chain.from_iterable(counter.values() for counter in counters), dtype=np.int64, count=total)
    capped = np.minimum(counts, MAX_COUNT).astype("<u2").tobytes()
    found = []
    start = 0
    for counter in counters:
        end = start + len(counter)
        found.append((counter.total(), terms[4 * start : 4 * end], capped[2 * start : 2 * end]))
        start = end
    return found
