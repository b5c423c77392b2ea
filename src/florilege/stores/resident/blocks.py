"""Rows as arrays: what a search runs over.

A :class:`Block` holds some rows of one namespace in the order they were loaded. Its arrays are shared by threads that
look at different moments: a row is visible at sequence number s when ``born <= s < died``, and has a vector when its
``since <= s``. Nothing but ``died`` and vectors is ever written after a block is made (sparse vectors as a whole new
object), and those only under the lock of the :class:`~florilege.stores.resident.residents.Resident` it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from florilege.stores.resident.inverted import NEVER, Ints, Mask
from florilege.stores.resident.postings import Weights, Words


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
            scale = np.maximum(wide.max(axis=1), -wide.min(axis=1)) / 127
            scale[scale == 0] = 1.0
            wide *= (1 / scale)[:, None]
            where = positions[part]
            self.codes[where] = np.rint(wide, out=wide)
            self.scale[where] = scale
            self.half[where] = half[part]
        self.since[positions] = since

    def kept(self, keep: Mask) -> Codes:
        """The vectors of those rows."""
        return self.of(self.since[keep], self.codes[keep], self.scale[keep], self.half[keep])

    @classmethod
    def joined(cls, parts: Sequence[Codes]) -> Codes:
        """The vectors of several blocks, one after the other."""
        return cls.of(
            np.concatenate([part.since for part in parts]),
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.scale for part in parts]),
            np.concatenate([part.half for part in parts]),
        )

    @classmethod
    def of(cls, since: Ints, codes: Any, scale: Any, half: Any) -> Codes:
        """From arrays there are."""
        made = cls.__new__(cls)
        made.since, made.codes, made.scale, made.half = since, codes, scale, half
        return made


class View:
    """What can be seen of a block from ``settled`` on: ``mask`` a row, and the positions of the ``hidden`` ones."""

    def __init__(self, mask: Mask, settled: int) -> None:
        self.mask = mask
        self.settled = settled
        self.hidden: Ints = np.flatnonzero(~mask)
        self.count = len(mask) - len(self.hidden)
        self._sum: tuple[Ints, int] | None = None

    def sum_of(self, values: Ints) -> int:
        """The sum of the visible rows' ``values``, remembered for the last ones asked."""
        if self._sum is None or self._sum[0] is not values:
            self._sum = (values, int(values.sum()) - int(values[self.hidden].sum()))
        return self._sum[1]


@dataclass(slots=True, eq=False)
class Block:
    """Some rows: their keys, their sources' and metadata's keys, their lives, and what legs need of them.

    A block that lies in a file says what was true ``sealed`` (a sequence number) ago; 0 for all others.
    """

    row: Ints
    source: Ints
    metadata: Ints
    born: Ints
    died: Ints
    words: Words | None = None
    codes: dict[int, Codes] = field(default_factory=dict)
    weights: dict[int, Weights] = field(default_factory=dict)
    columns: dict[Any, Any] = field(default_factory=dict)
    order: Ints | None = None
    sealed: int = 0
    settled: int = 0
    """The last sequence number at which a row was born or died: from there on nothing changes to the eye."""
    _view: View | None = None

    def __post_init__(self) -> None:
        ended = self.died[self.died != NEVER]
        self.settled = max(int(self.born.max(initial=0)), int(ended.max(initial=0)))

    def __len__(self) -> int:
        return len(self.row)

    def view(self, seq: int) -> View:
        """Which rows can be seen at ``seq``; remembered for the present."""
        view, settled = self._view, self.settled
        if view is not None and view.settled == settled <= seq:
            return view
        view = View((self.born <= seq) & (seq < self.died), settled)
        if settled <= seq:
            self._view = view
        return view

    def end(self, rows: Ints, died: Ints) -> None:
        """Note when rows die. What is remembered for the present is void before the first of them does."""
        places, here = self.positions(rows)
        if here.any():
            self.settled = max(self.settled, int(died[here].max()))
            self.died[places[here]] = died[here]

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
            {space: weights.kept(keep) for space, weights in self.weights.items()},
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
        {space: Weights.joined([part.weights[space] for part in parts]) for space in parts[0].weights},
    )
