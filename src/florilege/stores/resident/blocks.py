"""Rows as arrays: what a search runs over.

A :class:`Block` holds some rows of one namespace in the order they were loaded. Its arrays are shared by threads that
look at different moments: a row is visible at sequence number s when ``born <= s < died``, and has a vector when its
``since <= s``. Nothing but ``died`` and vectors is ever written after a block is made, and those only under the lock
of the :class:`~florilege.stores.resident.residents.Resident` it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NEVER = np.iinfo(np.int64).max
"""A sequence number that does not come."""

_SCANS_BEFORE_INVERSION = 24


class Words:
    """The lexemes of a block's rows: row i holds terms ``terms[offsets[i]:offsets[i + 1]]``, so often each.

    The postings of a term are found by one pass over the terms and kept; after some passes the whole is inverted once.
    """

    def __init__(self, lengths: Ints, offsets: Ints, terms: npt.NDArray[np.uint32], counts: npt.NDArray[np.uint16]):
        self.lengths = lengths
        self.offsets = offsets
        self.terms = terms
        self.counts = counts
        self._postings: dict[int, tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16]]] = {}
        self._scans = 0
        self._order: tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16], npt.NDArray[np.uint32], Ints] | None = None
        self._norm: tuple[float, npt.NDArray[np.float64]] = (-1.0, np.empty(0))

    def postings(self, terms: Sequence[int]) -> list[tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16]]]:
        """For each term the positions of the rows that hold it, ascending, and how often."""
        if self._order is None and (missing := [term for term in terms if term not in self._postings]):
            self._scans += 1
            if self._scans > _SCANS_BEFORE_INVERSION:
                self._order = self._invert()
                self._postings = {}
            else:
                self._scan(missing)
        if self._order is None:
            return [self._postings[term] for term in terms]
        positions, counts, distinct, starts = self._order
        found = []
        for term in terms:
            place = int(np.searchsorted(distinct, term))
            hit = place < len(distinct) and distinct[place] == term
            part = slice(int(starts[place]), int(starts[place + 1])) if hit else slice(0, 0)
            found.append((positions[part], counts[part]))
        return found

    def _scan(self, terms: Sequence[int]) -> None:
        wanted = np.zeros(max(int(self.terms.max(initial=0)), *terms) + 1, dtype=bool)
        wanted[list(terms)] = True
        places = np.flatnonzero(wanted[self.terms])
        which = self.terms[places]
        rows = (np.searchsorted(self.offsets, places, side="right") - 1).astype(np.int32)
        counts = self.counts[places]
        for term in terms:
            mine = which == term
            self._postings[term] = rows[mine], counts[mine]

    def _invert(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16], npt.NDArray[np.uint32], Ints]:
        order = np.argsort(self.terms, kind="stable")
        rows = np.repeat(np.arange(len(self.lengths), dtype=np.int32), np.diff(self.offsets))
        distinct, starts = np.unique(self.terms[order], return_index=True)
        return rows[order], self.counts[order], distinct, np.append(starts, len(order))

    def norm(self, average: float, k1: float, b: float) -> npt.NDArray[np.float64]:
        """BM25's ``k1 * (1 - b + b * length / average)`` a row."""
        known, norm = self._norm
        if known != average:
            norm = k1 * (1 - b + b * (self.lengths / average))
            self._norm = (average, norm)
        return norm

    def kept(self, keep: Mask) -> Words:
        """The lexemes of those rows."""
        sizes = np.diff(self.offsets)
        places = np.repeat(keep, sizes)
        return Words(self.lengths[keep], _offsets(sizes[keep]), self.terms[places], self.counts[places])

    @classmethod
    def from_blobs(cls, lengths: Sequence[int], terms: Sequence[bytes], counts: Sequence[bytes]) -> Words:
        """From stored lexemes: term numbers as little-endian u32, counts as u16."""
        sizes = np.fromiter(map(len, terms), dtype=np.int64, count=len(terms)) // 4
        return cls(
            np.array(lengths, dtype=np.int64),
            _offsets(sizes),
            np.frombuffer(b"".join(terms), dtype="<u4"),
            np.frombuffer(b"".join(counts), dtype="<u2"),
        )

    @classmethod
    def joined(cls, parts: Sequence[Words]) -> Words:
        """The lexemes of several blocks, one after the other."""
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(
            np.concatenate([part.lengths for part in parts]),
            _offsets(sizes),
            np.concatenate([part.terms for part in parts]),
            np.concatenate([part.counts for part in parts]),
        )


def _offsets(sizes: Ints) -> Ints:
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


class Codes:
    """The vectors of a block's rows in one space: int8 codes to scan, float16 to score, ``since`` when."""

    def __init__(self, count: int, dimensions: int) -> None:
        self.since: Ints = np.full(count, NEVER, dtype=np.int64)
        self.codes = np.zeros((count, dimensions), dtype=np.int8)
        self.scale = np.zeros(count, dtype=np.float32)
        self.half = np.zeros((count, dimensions), dtype=np.float16)

    def fill(self, positions: Ints, since: Ints, half: npt.NDArray[np.float16]) -> None:
        """Give rows their vectors; the codes are in place before ``since`` tells of them."""
        for start in range(0, len(positions), 8192):
            part = slice(start, start + 8192)
            wide = half[part].astype(np.float32)
            scale = np.abs(wide).max(axis=1, initial=0.0) / 127
            scale[scale == 0] = 1.0
            where = positions[part]
            self.codes[where] = np.rint(wide / scale[:, None])
            self.scale[where] = scale
            self.half[where] = half[part]
        self.since[positions] = since

    def kept(self, keep: Mask) -> Codes:
        """The vectors of those rows."""
        return self._made(self.since[keep], self.codes[keep], self.scale[keep], self.half[keep])

    @classmethod
    def joined(cls, parts: Sequence[Codes]) -> Codes:
        """The vectors of several blocks, one after the other."""
        return cls._made(
            np.concatenate([part.since for part in parts]),
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.scale for part in parts]),
            np.concatenate([part.half for part in parts]),
        )

    @classmethod
    def _made(cls, since: Ints, codes: Any, scale: Any, half: Any) -> Codes:
        made = cls.__new__(cls)
        made.since, made.codes, made.scale, made.half = since, codes, scale, half
        return made


@dataclass(slots=True, eq=False)
class Block:
    """Some rows: their keys, their sources' and metadata's keys, their lives, and what legs need of them."""

    row: Ints
    source: Ints
    metadata: Ints
    born: Ints
    died: Ints
    words: Words | None = None
    codes: dict[int, Codes] = field(default_factory=dict)
    columns: dict[Any, Any] = field(default_factory=dict)
    order: Ints | None = None

    def __len__(self) -> int:
        return len(self.row)

    def visible(self, seq: int) -> Mask:
        """Which rows can be seen at ``seq``."""
        return (self.born <= seq) & (seq < self.died)

    def positions(self, rows: Ints) -> tuple[Ints, Mask]:
        """Where these rows stand, and which of them are here at all."""
        if self.order is None:
            self.order = np.argsort(self.row, kind="stable")
        places = np.searchsorted(self.row, rows, sorter=self.order)
        places = self.order[np.minimum(places, len(self.row) - 1)]
        return places, self.row[places] == rows

    def kept(self, keep: Mask) -> Block:
        """A block of those rows only."""
        return Block(
            self.row[keep],
            self.source[keep],
            self.metadata[keep],
            self.born[keep],
            self.died[keep],
            self.words.kept(keep) if self.words else None,
            {space: codes.kept(keep) for space, codes in self.codes.items()},
        )


def join(parts: Sequence[Block]) -> Block:
    """Several blocks with the same legs as one."""
    words = [part.words for part in parts if part.words is not None]
    return Block(
        np.concatenate([part.row for part in parts]),
        np.concatenate([part.source for part in parts]),
        np.concatenate([part.metadata for part in parts]),
        np.concatenate([part.born for part in parts]),
        np.concatenate([part.died for part in parts]),
        Words.joined(words) if words else None,
        {space: Codes.joined([part.codes[space] for part in parts]) for space in parts[0].codes},
    )
