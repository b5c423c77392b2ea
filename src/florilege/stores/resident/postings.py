"""Entries by id of a block's rows: the lexemes words are found by, and the weights of sparse vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from florilege.stores.resident.inverted import NEVER, Ids, Ints, Inverted, Mask, Posting, offsets_of

_SCANS_BEFORE_INVERSION = 24
_TABLE_IDS = 1 << 24


class Postings:
    """Row i holds ``ids[offsets[i]:offsets[i + 1]]`` with the ``values`` beside them, and what ``base`` says of it.

    The postings of an id are found by one pass over all ids and kept; after some passes the whole is inverted once.
    What is in ``base`` is inverted already.
    """

    def __init__(self, offsets: Ints, ids: Ids, values: npt.NDArray[Any], base: Inverted | None = None) -> None:
        self.offsets = offsets
        self.ids = ids
        self.values = values
        self.base = base
        self._postings: dict[int, Posting] = {}
        self._scans = 0
        self._order: Inverted | None = None

    def postings(self, ids: Sequence[int]) -> list[Posting]:
        """For each id the positions of the rows that hold it, and its values there.

        Positions ascend, those of ``base`` before the others.
        """
        if self.base is None:
            return self._own(ids)
        if not len(self.ids):
            return [self.base.of(id) for id in ids]
        return [
            (np.concatenate([known[0], more[0]]), np.concatenate([known[1], more[1]]))
            for known, more in zip(map(self.base.of, ids), self._own(ids), strict=True)
        ]

    def inverted(self) -> Inverted:
        """All of it by id."""
        own = self._order or self._invert()
        return own if self.base is None else Inverted.joined([self.base, own])

    def _own(self, ids: Sequence[int]) -> list[Posting]:
        if self._order is None and (missing := [id for id in ids if id not in self._postings]):
            self._scans += 1
            if self._scans > _SCANS_BEFORE_INVERSION:
                self._order = self._invert()
                self._postings = {}
            else:
                self._scan(missing)
        if self._order is None:
            return [self._postings[id] for id in ids]
        return [self._order.of(id) for id in ids]

    def _scan(self, ids: Sequence[int]) -> None:
        places = np.flatnonzero(_among(self.ids, ids))
        which = self.ids[places]
        rows = (np.searchsorted(self.offsets, places, side="right") - 1).astype(np.int32)
        values = self.values[places]
        for id in ids:
            mine = which == id
            self._postings[id] = rows[mine], values[mine]

    def _invert(self) -> Inverted:
        order = np.argsort(self.ids, kind="stable")
        rows = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))
        distinct, starts = np.unique(self.ids[order], return_index=True)
        return Inverted(distinct, np.append(starts, len(order)), rows[order], self.values[order])

    def of(self, keep: Mask) -> Postings:
        """The entries of those rows."""
        return Postings(*self._kept(keep))

    def _kept(self, keep: Mask) -> tuple[Ints, Ids, npt.NDArray[Any]]:
        sizes = np.diff(self.offsets)
        places = np.repeat(keep, sizes)
        return offsets_of(sizes[keep]), self.ids[places], self.values[places]


class Words(Postings):
    """The lexemes of a block's rows: term numbers, how often each stands in a row, and the rows' lengths in terms."""

    def __init__(
        self,
        lengths: Ints,
        offsets: Ints,
        terms: Ids,
        counts: npt.NDArray[np.uint16],
        base: Inverted | None = None,
    ) -> None:
        super().__init__(offsets, terms, counts, base)
        self.lengths = lengths
        self.scores: object = None
        """What a ranking function keeps beside the words."""

    def kept(self, keep: Mask) -> Words:
        """The lexemes of those rows."""
        return Words(self.lengths[keep], *self._kept(keep))

    @classmethod
    def from_blobs(cls, lengths: Sequence[int], terms: Sequence[bytes], counts: Sequence[bytes]) -> Words:
        """From stored lexemes: term numbers as little-endian u32, counts as u16."""
        sizes = np.fromiter(map(len, terms), dtype=np.int64, count=len(terms)) // 4
        return cls(
            np.array(lengths, dtype=np.int64),
            offsets_of(sizes),
            np.frombuffer(b"".join(terms), dtype="<u4"),
            np.frombuffer(b"".join(counts), dtype="<u2"),
        )

    @classmethod
    def sealed(cls, lengths: Ints, base: Inverted) -> Words:
        """From lexemes inverted already."""
        return cls(lengths, *_nothing(len(lengths), base.values.dtype), base)

    @classmethod
    def joined(cls, parts: Sequence[Words]) -> Words:
        """The lexemes of several blocks, one after the other."""
        return cls(np.concatenate([part.lengths for part in parts]), *_joined(parts))


class Weights(Postings):
    """The sparse vectors of a block's rows in one space; a row has one from ``since`` on. Never changed once made."""

    def __init__(
        self,
        since: Ints,
        offsets: Ints,
        ids: Ids,
        weights: npt.NDArray[np.float32],
        base: Inverted | None = None,
    ) -> None:
        super().__init__(offsets, ids, weights, base)
        self.since = since

    def filled(self, positions: Ints, since: Ints, entries: Postings) -> Weights:
        """The same with vectors for rows that had none: row i of ``entries`` is the vector of ``positions[i]``."""
        fresh = self.since[positions] == NEVER
        new = entries.of(fresh)
        moments = self.since.copy()
        moments[positions[fresh]] = since[fresh]
        sizes, more = np.diff(self.offsets), np.diff(new.offsets)
        merged = sizes.copy()
        merged[positions[fresh]] += more
        rows = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), np.repeat(positions[fresh], more)])
        order = np.argsort(rows, kind="stable")
        return Weights(
            moments,
            offsets_of(merged),
            np.concatenate([self.ids, new.ids])[order],
            np.concatenate([self.values, new.values])[order],
            self.base,
        )

    def kept(self, keep: Mask) -> Weights:
        """The vectors of those rows."""
        return Weights(self.since[keep], *self._kept(keep))

    @classmethod
    def none(cls, count: int) -> Weights:
        """So many rows without a vector."""
        return cls(np.full(count, NEVER), *_nothing(count, np.dtype(np.float32)))

    @classmethod
    def sealed(cls, since: Ints, base: Inverted) -> Weights:
        """From vectors inverted already."""
        return cls(since, *_nothing(len(since), base.values.dtype), base)

    @classmethod
    def joined(cls, parts: Sequence[Weights]) -> Weights:
        """The vectors of several blocks, one after the other."""
        return cls(np.concatenate([part.since for part in parts]), *_joined(parts))


def _among(ids: Ids, wanted: Sequence[int]) -> Mask:
    highest = max(int(ids.max(initial=0)), *wanted)
    if highest >= _TABLE_IDS:
        found: Mask = np.isin(ids, np.array(wanted, dtype=np.uint32))
        return found
    table = np.zeros(highest + 1, dtype=bool)
    table[list(wanted)] = True
    return table[ids]


def _joined(parts: Sequence[Postings]) -> tuple[Ints, Ids, npt.NDArray[Any]]:
    return (
        offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def _nothing(rows: int, dtype: npt.DTypeLike) -> tuple[Ints, Ids, npt.NDArray[Any]]:
    """The entries of so many rows that hold none."""
    return np.zeros(rows + 1, dtype=np.int64), np.empty(0, dtype=np.uint32), np.empty(0, dtype=dtype)
