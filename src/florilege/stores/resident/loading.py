"""Blocks from a feed: made of rows, taken from files and brought up to date, joined for a new file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from florilege.stores.resident.blocks import Block, Codes
from florilege.stores.resident.feeds import Feed, SparseVectors
from florilege.stores.resident.inverted import Ints, Inverted, Mask
from florilege.stores.resident.postings import Weights, Words


class Legs(NamedTuple):
    """What blocks are to have: lexemes, dense spaces, sparse spaces."""

    words: bool = False
    spaces: frozenset[int] = frozenset()
    sparse: frozenset[int] = frozenset()

    def __or__(self, other: Legs) -> Legs:
        return Legs(self.words or other.words, self.spaces | other.spaces, self.sparse | other.sparse)

    def lacking(self, wanted: Legs) -> Legs:
        """Which of the ``wanted`` are not among these."""
        return Legs(wanted.words and not self.words, wanted.spaces - self.spaces, wanted.sparse - self.sparse)


def load(feed: Feed, alive_after: int, legs: Legs, first: int = 1, last: int | None = None) -> list[Block]:
    """The rows born from ``first`` to ``last`` that did not die by ``alive_after``, as they stand at the feed's moment.

    They come from files where files hold them; what is born between these comes from the database.
    """
    blocks: list[Block] = []
    end = feed.newest if last is None else last
    files = [part for part in feed.sealed(alive_after) if first <= part.first and part.last <= end]
    for part in files:
        blocks += from_rows(feed, first - 1, part.first - 1, alive_after, legs)
        blocks += [part.block] if len(part.block) else []
        first = part.last + 1
    mapped = [block for block in blocks if block.sealed]
    bring_up(feed, mapped)
    give(feed, mapped, legs)
    return blocks + from_rows(feed, first - 1, end, alive_after, legs)


def from_rows(feed: Feed, after: int, upto: int, alive_after: int, legs: Legs) -> list[Block]:
    """The rows born in between that did not die by ``alive_after``, as one block or none."""
    if upto <= after:
        return []
    rows, source, metadata, born, died = feed.rows(after, upto, alive_after)
    if not len(rows):
        return []
    block = Block(rows, source, metadata, born, died)
    give(feed, [block], legs)
    return [block]


def bring_up(feed: Feed, files: Sequence[Block]) -> None:
    """Note the deaths since blocks were sealed."""
    if files:
        rows, died = feed.died(min(block.sealed for block in files))
        for block in files:
            block.end(rows, died)


def give(feed: Feed, blocks: Sequence[Block], legs: Legs) -> None:
    """See that blocks have these legs as they stand now; what lies in files is brought up to date."""
    for block in blocks:
        if legs.words and block.words is None:
            block.words = aligned_words(feed, block.row)
    for space in legs.spaces:
        fill(feed, space, [block for block in blocks if space in block.codes])
        for block in blocks:
            if space not in block.codes:
                block.codes[space] = _codes(feed, space, block.row)
    for space in legs.sparse:
        fill_sparse(feed, space, [block for block in blocks if space in block.weights])
        for block in blocks:
            if space not in block.weights:
                none = Weights.none(len(block))
                block.weights[space] = _with(none, block, feed.sparse(space, block.row))


def fill(feed: Feed, space: int, blocks: Sequence[Block], after: int | None = None) -> None:
    """Give rows the vectors they have taken after ``after`` (None: since their blocks were sealed)."""
    if blocks:
        filled = feed.filled(space, min(block.sealed for block in blocks) if after is None else after)
        for block in blocks if len(filled.rows) else ():
            places, here = block.positions(filled.rows)
            block.codes[space].fill(places[here], filled.since[here], filled.half[here])


def fill_sparse(feed: Feed, space: int, blocks: Sequence[Block], after: int | None = None) -> None:
    """The same for sparse vectors."""
    if blocks:
        taken = feed.sparse_filled(space, min(block.sealed for block in blocks) if after is None else after)
        for block in blocks:
            block.weights[space] = _with(block.weights[space], block, taken)


def merged(blocks: Sequence[Block], alive_after: int) -> Block:
    """Several blocks with the same legs as one, inverted, without the rows that died by ``alive_after``."""
    if not blocks:
        none = np.empty(0, dtype=np.int64)
        return Block(none, none, none, none, none, Words.from_blobs([], [], []))
    keep = [block.died > alive_after for block in blocks]
    places = _places(keep)
    first = blocks[0]

    def column(name: str) -> Ints:
        return np.concatenate([getattr(block, name)[kept] for block, kept in zip(blocks, keep, strict=True)])

    def lists(parts: Sequence[Words | Weights]) -> Inverted:
        return Inverted.joined([part.inverted().moved(place) for part, place in zip(parts, places, strict=True)])

    made = Block(column("row"), column("source"), column("metadata"), column("born"), column("died"))
    words = [block.words for block in blocks if block.words is not None]
    if words:
        lengths = [part.lengths[kept] for part, kept in zip(words, keep, strict=True)]
        made.words = Words.sealed(np.concatenate(lengths), lists(words))
    for space in first.codes:
        made.codes[space] = Codes.joined(
            [block.codes[space].kept(kept) for block, kept in zip(blocks, keep, strict=True)]
        )
    for space in first.weights:
        weights = [block.weights[space] for block in blocks]
        since = np.concatenate([part.since[kept] for part, kept in zip(weights, keep, strict=True)])
        made.weights[space] = Weights.sealed(since, lists(weights))
    return made


def _places(keep: Sequence[Mask]) -> list[Any]:
    """For each block where its rows stand among all that are kept; -1 for the others."""
    places = []
    base = 0
    for kept in keep:
        places.append(np.where(kept, base + np.cumsum(kept) - 1, -1).astype(np.int32))
        base += int(np.count_nonzero(kept))
    return places


def aligned_words(feed: Feed, rows: Ints) -> Words:
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


def _with(weights: Weights, block: Block, taken: SparseVectors) -> Weights:
    """``weights`` with those of ``taken`` that are of this block's rows."""
    places, here = block.positions(taken.rows)
    if not here.any():
        return weights
    mine = taken.of(here)
    return weights.filled(places[here], mine.since, mine.entries)
