"""What words are found by: terms as numbers, postings in blocks, and how often terms stand in visible rows.

A term is the number its hash gives, salted with its namespace: one index serves all namespaces without mixing them,
and no table of terms has to be shared by writers. The words of a row are its terms in rising order and how often each
stands there. A block holds, for every term of some rows, those rows with their lengths and counts; it is written by the
transaction that brings the rows and never changed, rows that died are left out when blocks are merged. So postings
hold more rows than a snapshot sees, and a search looks up which of its best rows are visible.

Document frequencies, the number of rows and the sum of their lengths are kept as changes, one line a term and
sequence number, and summed by whoever asks: two writers never wait for each other's counters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from florilege.stores import codecs
from florilege.stores.postgres.server.connection import Connection
from florilege.stores.postgres.server.wire import copy
from florilege.stores.terms import MAX_COUNT

Ints = npt.NDArray[np.int64]
POSTING = np.dtype([("row", "<i8"), ("length", "<u4"), ("count", "<u2")])
WEIGHT = np.dtype([("row", "<i8"), ("weight", "<f4")])

_CACHED_TERMS = 300_000


class TermKeys(dict[str, int]):
    """The numbers of a namespace's terms; forgets them all when full, so memory stays bounded."""

    def __init__(self, namespace: int) -> None:
        super().__init__()
        self._salt = namespace.to_bytes(8, "big")
        self.rows = self._number(b"rows", b"total")
        self.lengths = self._number(b"lengths", b"total")

    def vectors(self, space: int) -> int:
        """The number that counts visible rows with a vector of a space."""
        return self._number(str(space).encode(), b"vectors")

    def dimensions(self, space: int, ids: Sequence[int]) -> Ints:
        """The numbers of a sparse space's ids."""
        return np.array([self._number(b"%d/%d" % (space, id), b"sparse") for id in ids], dtype=np.int64)

    def __missing__(self, term: str) -> int:
        if len(self) >= _CACHED_TERMS:
            self.clear()
        number = self[term] = self._number(term.encode("utf-8", "surrogatepass"), b"term")
        return number

    def _number(self, name: bytes, kind: bytes) -> int:
        hashed = blake2b(name, digest_size=8, salt=self._salt, person=kind)
        return int.from_bytes(hashed.digest(), "big", signed=True)


class Words(NamedTuple):
    """The words of one row: its length in terms, and ``packed``, its terms (i8) and their counts (u2)."""

    length: int
    packed: bytes


def pack(keys: TermKeys, counters: Sequence[Counter[str]]) -> list[Words]:
    """The words of counted texts."""
    total = sum(map(len, counters))
    sizes = np.fromiter(map(len, counters), dtype=np.int64, count=len(counters))
    terms = np.fromiter(map(keys.__getitem__, chain.from_iterable(counters)), dtype="<i8", count=total)
    counts = np.fromiter(chain.from_iterable(counter.values() for counter in counters), dtype=np.int64, count=total)
    order = np.lexsort((terms, np.repeat(np.arange(len(counters)), sizes)))
    sorted_terms = terms[order].tobytes()
    sorted_counts = np.minimum(counts[order], MAX_COUNT).astype("<u2").tobytes()
    found, start = [], 0
    for counter in counters:
        end = start + len(counter)
        packed = sorted_terms[8 * start : 8 * end] + sorted_counts[2 * start : 2 * end]
        found.append(Words(counter.total(), packed))
        start = end
    return found


def _terms(words: Iterable[bytes]) -> Ints:
    return np.frombuffer(b"".join(packed[: len(packed) // 10 * 8] for packed in words), dtype="<i8")


def _counts(words: Iterable[bytes]) -> npt.NDArray[np.uint16]:
    return np.frombuffer(b"".join(packed[len(packed) // 10 * 8 :] for packed in words), dtype="<u2")


def add_block(
    connection: Connection,
    namespace: int,
    rows: Sequence[int],
    words: Sequence[Words],
    generation: int | None = None,
) -> None:
    """Write the postings of these rows. ``generation``: they are staged under it, and nobody sees them yet."""
    packed = [item.packed for item in words]
    sizes = np.fromiter((len(item) // 10 for item in packed), dtype=np.int64, count=len(packed))
    postings = np.empty(int(sizes.sum()), dtype=POSTING)
    postings["row"] = np.repeat(np.array(rows, dtype=np.int64), sizes)
    postings["length"] = np.repeat(np.array([item.length for item in words], dtype=np.int64), sizes)
    postings["count"] = _counts(packed)
    write_block(connection, namespace, None, _terms(packed), postings, len(rows), generation)


def add_weights(
    connection: Connection,
    keys: TermKeys,
    namespace: int,
    space: int,
    rows: Sequence[int],
    generation: int | None = None,
) -> None:
    """Write the postings of the sparse vectors these rows have; ``generation`` as in :func:`add_block`."""
    found = connection.execute(
        "SELECT r.row, v.sparse FROM row_vector r JOIN vector v ON v.pk = r.vector"
        " WHERE r.row = ANY(%s) AND r.space = %s",
        (list(rows), space),
        binary=True,
    ).fetchall()
    sizes, ids, weights = codecs.decode_sparse([blob for _, blob in found])
    postings = np.empty(len(ids), dtype=WEIGHT)
    postings["row"] = np.repeat(np.array([row for row, _ in found], dtype=np.int64), sizes)
    postings["weight"] = weights
    distinct, where = np.unique(ids, return_inverse=True)
    terms = keys.dimensions(space, distinct.tolist())[where]
    write_block(connection, namespace, space, terms, postings, len(found), generation)


def write_block(
    connection: Connection,
    namespace: int,
    space: int | None,
    terms: Ints,
    postings: npt.NDArray[Any],
    rows: int,
    generation: int | None = None,
) -> None:
    """Write postings, each of the term beside it, as one block over ``rows`` rows; ``space`` None: of words."""
    if not len(terms):
        return
    order = np.argsort(terms, kind="stable")
    terms = terms[order]
    starts = np.flatnonzero(np.concatenate(([True], terms[1:] != terms[:-1])))
    distinct = terms[starts]
    found = connection.execute(
        "INSERT INTO block (ns, space, generation, rows, terms) VALUES (%s, %s, %s, %s, %s) RETURNING pk",
        (namespace, space, generation, rows, distinct.astype("<i8").tobytes()),
    ).fetchone()
    assert found is not None
    data = postings[order].tobytes()
    edges = (starts * postings.itemsize).tolist()
    ends = [*edges[1:], len(data)]
    lines = ((term, found[0], data[a:b]) for term, a, b in zip(distinct.tolist(), edges, ends, strict=True))
    copy(connection, "posting", "term int8, block int8, data bytea", lines)


class StatDelta:
    """The changes one publication makes to the counts of its namespace."""

    def __init__(self, keys: TermKeys) -> None:
        self._keys = keys
        self._terms: list[Ints] = []
        self._signs: list[int] = []
        self._totals: Counter[int] = Counter()

    def count(self, key: int, change: int) -> None:
        """A count of its own changes; ``key`` is one of :class:`TermKeys`'s."""
        self._totals[key] += change

    def add(self, words: Sequence[Words], sign: int) -> None:
        """Rows with these words become visible (``sign`` 1) or are no more (-1)."""
        self._terms.append(_terms(item.packed for item in words))
        self._signs.append(sign)
        self.count(self._keys.rows, sign * len(words))
        self.count(self._keys.lengths, sign * sum(item.length for item in words))

    def join(self, other: StatDelta) -> None:
        """Add another's changes."""
        self._terms += other._terms
        self._signs += other._signs
        self._totals.update(other._totals)

    def write(self, connection: Connection, namespace: int, seq: int) -> None:
        """Write the changes as those of ``seq``."""
        terms = np.concatenate([np.empty(0, dtype=np.int64), *self._terms])
        signs = np.repeat(np.array(self._signs, dtype=np.int64), [len(part) for part in self._terms])
        distinct, where = np.unique(terms, return_inverse=True)
        changes = np.bincount(where, weights=signs, minlength=len(distinct)).astype(np.int64)
        lines = [*self._totals.items(), *zip(distinct.tolist(), changes.tolist(), strict=True)]
        copy(
            connection,
            "stat_delta",
            "ns int4, term int8, seq int8, ddf int8",
            ((namespace, term, seq, change) for term, change in lines if change),
        )
