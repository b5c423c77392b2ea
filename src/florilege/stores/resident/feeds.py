"""What resident blocks are made from: the protocol a store implements, and the records it hands over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from florilege.stores.resident.blocks import Block
from florilege.stores.resident.inverted import Ints, Mask
from florilege.stores.resident.postings import Postings, Words


class Vectors(NamedTuple):
    """Vectors of some rows: ``half`` is (n, dimensions) float16, ``since`` the numbers they exist from."""

    rows: Ints
    since: Ints
    half: npt.NDArray[np.float16]


class SparseVectors(NamedTuple):
    """Sparse vectors of some rows: row i of ``entries`` is that of ``rows[i]``, from number ``since[i]`` on."""

    rows: Ints
    since: Ints
    entries: Postings

    def of(self, here: Mask) -> SparseVectors:
        """Those of some of the rows."""
        return SparseVectors(self.rows[here], self.since[here], self.entries.of(here))


class Sealed(NamedTuple):
    """A block in a file: with every leg it was sealed with, complete for rows born from ``first`` to ``last``."""

    first: int
    last: int
    block: Block


class Superseded(Exception):
    """Files of the feed's moment are gone, others have taken their place: another moment must be taken."""


class Feed(Protocol):
    """One moment of a store, as arrays are fed from it. All calls see the same moment."""

    newest: int
    horizon: int
    """Of what was visible before this sequence number something has been collected."""

    def sealed(self, alive_after: int) -> Sequence[Sealed]:
        """Blocks in files, in the order their rows were born, with every row of theirs alive after ``alive_after``.

        Raises :class:`Superseded`.
        """
        ...

    def rows(self, after: int, upto: int, alive_after: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Row, source, metadata, born and died of rows born after ``after``, up to ``upto``, alive ``alive_after``."""
        ...

    def died(self, after: int) -> tuple[Ints, Ints]:
        """Rows that died after ``after``, and when; those collected since among them as long as a file holds them."""
        ...

    def words(self, rows: Ints) -> tuple[Ints, Words]:
        """The lexemes there are of these rows, and whose they are."""
        ...

    def vectors(self, space: int, rows: Ints) -> Vectors:
        """The vectors there are of these rows."""
        ...

    def filled(self, space: int, after: int) -> Vectors:
        """The vectors rows have taken after ``after``."""
        ...

    def dimensions(self, space: int) -> int:
        """How long the space's vectors are."""
        ...

    def sparse(self, space: int, rows: Ints) -> SparseVectors:
        """The sparse vectors there are of these rows."""
        ...

    def sparse_filled(self, space: int, after: int) -> SparseVectors:
        """The sparse vectors rows have taken after ``after``."""
        ...

    def reworded(self, after: int) -> bool:
        """Whether lexemes were made anew after ``after``."""
        ...
