"""The searchable state of one namespace, kept in memory and brought up to date from the store's changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from florilege.stores.resident.blocks import Block, Codes, join
from florilege.stores.resident.postings import Ints, Mask, Postings, Weights, Words

_DEAD_SHARE = 0.25


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


class Feed(Protocol):
    """One moment of a store, as arrays are fed from it. All calls see the same moment."""

    newest: int

    def rows(self, after: int, alive_after: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Row, source, metadata, born and died of rows born after ``after`` that did not die by ``alive_after``."""
        ...

    def died(self, after: int) -> tuple[Ints, Ints]:
        """Rows that died after ``after``, and when."""
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


class Resident:
    """Blocks that answer every snapshot from ``low`` to ``high``.

    ``feed`` opens one moment of the store; ``oldest`` tells the lowest number a snapshot of this process still holds.
    """

    def __init__(self, feed: Callable[[], AbstractContextManager[Feed]], oldest: Callable[[], int]) -> None:
        self._feed = feed
        self._oldest = oldest
        self._lock = threading.Lock()
        self._words = False
        self._spaces: frozenset[int] = frozenset()
        self._sparse: frozenset[int] = frozenset()
        self._blocks: tuple[Block, ...] = ()
        self.low = 0
        self.high = 0

    def at(
        self, seq: int, *, words: bool = False, space: int | None = None, sparse: int | None = None
    ) -> tuple[Block, ...] | None:
        """Blocks good for a search at ``seq`` with these legs; None when ``seq`` is too old for what is kept here."""
        if self._ready(seq, words, space, sparse):
            return self._blocks
        with self._lock:
            if self.low and seq < self.low:
                return None
            if not self._ready(seq, words, space, sparse):
                with self._feed() as feed:
                    self._load_legs(feed, words, space, sparse)
                    self._refresh(feed, seq)
            return self._blocks

    def _ready(self, seq: int, words: bool, space: int | None, sparse: int | None) -> bool:
        loaded = (
            (self._words or not words)
            and (space is None or space in self._spaces)
            and (sparse is None or sparse in self._sparse)
        )
        return loaded and bool(self.low) and self.low <= seq <= self.high

    def _load_legs(self, feed: Feed, words: bool, space: int | None, sparse: int | None) -> None:
        """Give the blocks there are the legs they lack."""
        if words and not self._words:
            for block in self._blocks:
                block.words = _aligned_words(feed, block.row)
            self._words = True
        if space is not None and space not in self._spaces:
            for block in self._blocks:
                block.codes[space] = _codes(feed, space, block.row)
            self._spaces |= {space}
        if sparse is not None and sparse not in self._sparse:
            for block in self._blocks:
                block.weights[sparse] = _weights(feed, sparse, block)
            self._sparse |= {sparse}

    def _refresh(self, feed: Feed, seq: int) -> None:
        after = self.high
        if feed.newest <= after:
            return
        blocks = list(self._blocks)
        for rows, died in [feed.died(after)] if blocks else []:
            for block in blocks:
                block.end(rows, died)
        for space in self._spaces if blocks else ():
            filled = feed.filled(space, after)
            for block in blocks:
                places, here = block.positions(filled.rows)
                block.codes[space].fill(places[here], filled.since[here], filled.half[here])
        for space in self._sparse if blocks else ():
            taken = feed.sparse_filled(space, after)
            for block in blocks:
                block.weights[space] = _with(block.weights[space], block, taken)
        if blocks and self._words and feed.reworded(after):
            for block in blocks:
                block.words = _aligned_words(feed, block.row)
        low = self.low or min(seq, feed.newest)
        rows, source, metadata, born, died = feed.rows(after, low)
        if len(rows):
            block = Block(rows, source, metadata, born, died)
            if self._words:
                block.words = _aligned_words(feed, rows)
            for space in self._spaces:
                block.codes[space] = _codes(feed, space, rows)
            for space in self._sparse:
                block.weights[space] = _weights(feed, space, block)
            blocks.append(block)
        self._blocks, self.low = self._tidied(blocks, low)
        self.high = feed.newest

    def _tidied(self, blocks: list[Block], low: int) -> tuple[tuple[Block, ...], int]:
        """Blocks of like size joined, and rows nobody can see any more left out."""
        oldest = max(low, self._oldest())
        tidy: list[Block] = []
        dropped = False
        for block in blocks:
            tidy.append(block)
            while len(tidy) > 1 and 2 * len(tidy[-1]) >= len(tidy[-2]):
                tail = join(tidy[-2:])
                tidy[-2:] = [tail]
            alive = tidy[-1].died > oldest
            dead = len(alive) - int(np.count_nonzero(alive))
            if dead > _DEAD_SHARE * len(alive):
                dropped = True
                tidy[-1:] = [tidy[-1].kept(alive)] if dead < len(alive) else []
        return tuple(tidy), oldest if dropped else low


def _aligned_words(feed: Feed, rows: Ints) -> Words:
    """The lexemes of ``rows``; a row whose lexeme is gone (collected, so dead long since) gets an empty one."""
    found, words = feed.words(rows)
    if len(found) == len(rows):
        return words
    position = {int(row): place for place, row in enumerate(found)}
    lengths, terms, counts = [], [], []
    for row in rows:
        place = position.get(int(row))
        part = slice(0, 0) if place is None else slice(int(words.offsets[place]), int(words.offsets[place + 1]))
        lengths.append(0 if place is None else int(words.lengths[place]))
        terms.append(words.ids[part].tobytes())
        counts.append(words.values[part].tobytes())
    return Words.from_blobs(lengths, terms, counts)


def _codes(feed: Feed, space: int, rows: Ints) -> Codes:
    codes = Codes(len(rows), feed.dimensions(space))
    found = feed.vectors(space, rows)
    if len(found.rows) == len(rows):
        places: Any = np.arange(len(rows))
    else:
        order = np.argsort(rows, kind="stable")
        places = order[np.searchsorted(rows, found.rows, sorter=order)]
    codes.fill(places, found.since, found.half)
    return codes


def _weights(feed: Feed, space: int, block: Block) -> Weights:
    return _with(Weights.none(len(block)), block, feed.sparse(space, block.row))


def _with(weights: Weights, block: Block, taken: SparseVectors) -> Weights:
    """``weights`` with those of ``taken`` that are of this block's rows."""
    places, here = block.positions(taken.rows)
    if not here.any():
        return weights
    mine = taken.of(here)
    return weights.filled(places[here], mine.since, mine.entries)
