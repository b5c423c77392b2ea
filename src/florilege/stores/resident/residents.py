"""The searchable state of one namespace, kept in memory and brought up to date from the store's changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

import numpy as np

from florilege.stores.resident.blocks import Block, join
from florilege.stores.resident.feeds import Feed, Superseded
from florilege.stores.resident.loading import Legs, aligned_words, fill, fill_sparse, from_rows, give, load

_DEAD_SHARE = 0.25


class Resident:
    """Blocks that answer every snapshot from ``low`` to ``high``.

    ``feed`` opens one moment of the store; ``oldest`` tells the lowest number a snapshot of this process still holds.
    """

    def __init__(self, feed: Callable[[], AbstractContextManager[Feed]], oldest: Callable[[], int]) -> None:
        self._feed = feed
        self._oldest = oldest
        self._lock = threading.Lock()
        self._legs = Legs()
        self._blocks: tuple[Block, ...] = ()
        self.low = -1  # nothing is loaded yet
        self.high = 0

    def at(
        self, seq: int, *, words: bool = False, space: int | None = None, sparse: int | None = None
    ) -> tuple[Block, ...] | None:
        """Blocks good for a search at ``seq`` with these legs; None when ``seq`` is too old for what is kept."""
        wanted = Legs(
            words,
            frozenset() if space is None else frozenset((space,)),
            frozenset() if sparse is None else frozenset((sparse,)),
        )
        if self._ready(seq, wanted):
            return self._blocks
        with self._lock:
            if seq < self.low:
                return None
            while not self._ready(seq, wanted):
                with suppress(Superseded), self._feed() as feed:
                    if seq < feed.horizon:
                        return None
                    self._settle(feed, seq, wanted)
            return self._blocks

    def _ready(self, seq: int, wanted: Legs) -> bool:
        return not any(self._legs.lacking(wanted)) and 0 <= self.low <= seq <= self.high

    def _settle(self, feed: Feed, seq: int, wanted: Legs) -> None:
        """Give blocks the legs they lack and the changes they have missed, or load them."""
        legs = self._legs | wanted
        if self.low >= 0 and self.high >= feed.horizon:
            give(feed, self._blocks, self._legs.lacking(wanted))
            self._legs = legs
            self._refresh(feed)
        else:  # nothing is loaded, or rows whose deaths were missed may be gone
            low = min(seq, feed.newest)
            blocks = load(feed, low, legs)
            self._blocks, self.low = self._tidied(blocks, low)
            self._legs = legs
            self.high = feed.newest

    def _refresh(self, feed: Feed) -> None:
        after = self.high
        if feed.newest <= after:
            return
        blocks = list(self._blocks)
        rows, died = feed.died(after)
        for block in blocks:
            block.end(rows, died)
        for space in self._legs.spaces:
            fill(feed, space, blocks, after)
        for space in self._legs.sparse:
            fill_sparse(feed, space, blocks, after)
        if self._legs.words and feed.reworded(after):
            for block in blocks:
                block.words = aligned_words(feed, block.row)
        blocks += from_rows(feed, after, feed.newest, self.low, self._legs)
        self._blocks, self.low = self._tidied(blocks, self.low)
        self.high = feed.newest

    def _tidied(self, blocks: list[Block], low: int) -> tuple[tuple[Block, ...], int]:
        """Blocks of like size joined, and rows nobody can see any more left out; those in files stay as they are."""
        oldest = max(low, self._oldest())
        tidy: list[Block] = []
        dropped = False
        for block in blocks:
            tidy.append(block)
            if block.sealed:
                continue
            while len(tidy) > 1 and not tidy[-2].sealed and 2 * len(tidy[-1]) >= len(tidy[-2]):
                tail = join(tidy[-2:])
                tidy[-2:] = [tail]
            alive = tidy[-1].died > oldest
            dead = len(alive) - int(np.count_nonzero(alive))
            if dead > _DEAD_SHARE * len(alive):
                dropped = True
                tidy[-1:] = [tidy[-1].kept(alive)] if dead < len(alive) else []
        return tuple(tidy), oldest if dropped else low
