"""Posting lists: rows by id, with a value each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.uint32]
Posting = tuple[npt.NDArray[np.int32], npt.NDArray[Any]]

NEVER = np.iinfo(np.int64).max
"""A sequence number that does not come."""


class Inverted(NamedTuple):
    """Rows by id: those at ``positions[starts[i]:starts[i + 1]]``, ascending, hold ``ids[i]`` with their ``values``."""

    ids: Ids
    starts: Ints
    positions: npt.NDArray[np.int32]
    values: npt.NDArray[Any]

    def of(self, id: int) -> Posting:
        """The positions of the rows that hold ``id``, and its values there."""
        place = int(np.searchsorted(self.ids, id))
        hit = place < len(self.ids) and self.ids[place] == id
        part = slice(int(self.starts[place]), int(self.starts[place + 1])) if hit else slice(0, 0)
        return self.positions[part], self.values[part]

    def moved(self, places: npt.NDArray[np.int32]) -> Inverted:
        """The same for rows that stand at ``places`` now, rising; those at -1 are left out."""
        positions = places[self.positions]
        kept = positions >= 0
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        held = np.diff(starts) > 0
        return Inverted(self.ids[held], np.append(starts[:-1][held], starts[-1]), positions[kept], self.values[kept])

    @classmethod
    def joined(cls, parts: Sequence[Inverted]) -> Inverted:
        """Several as one: where an id stands in more than one, the rows of an earlier part come first."""
        ids = np.unique(np.concatenate([part.ids for part in parts]))
        where = [np.searchsorted(ids, part.ids) for part in parts]
        sizes = np.zeros(len(ids), dtype=np.int64)
        for part, places in zip(parts, where, strict=True):
            sizes[places] += np.diff(part.starts)
        starts = offsets_of(sizes)
        positions = np.empty(starts[-1], dtype=np.int32)
        values = np.empty(starts[-1], dtype=parts[0].values.dtype)
        room = starts[:-1].copy()
        for part, places in zip(parts, where, strict=True):
            mine = np.diff(part.starts)
            target = np.repeat(room[places] - part.starts[:-1], mine) + np.arange(len(part.positions))
            positions[target] = part.positions
            values[target] = part.values
            room[places] += mine
        return cls(ids, starts, positions, values)


def offsets_of(sizes: Ints) -> Ints:
    """Where rows of these sizes begin, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets
