"""The legs over thousands of rows in several blocks, against the definition worked out slowly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from florilege.stores.resident.blocks import Block, Codes, join
from florilege.stores.resident.inverted import NEVER
from florilege.stores.resident.postings import Words
from florilege.stores.resident.searching import legs
from florilege.stores.resident.searching.bm25 import lexical
from florilege.testing.stores.ranking import bm25, nearest

SPACE = 1
SEQ = 50


def _block(rng: np.random.Generator, first: int, count: int, dimensions: int = 24) -> tuple[Block, list[list[int]]]:
    """A block whose rows were born and have died at various times, and the terms of its rows."""
    texts = [sorted((rng.zipf(1.3, rng.integers(0, 30)) % 300).tolist()) for _ in range(count)]
    counted = [np.unique(np.array(text, dtype=np.uint32), return_counts=True) for text in texts]
    words = Words.from_blobs(
        [len(text) for text in texts],
        [terms.astype("<u4").tobytes() for terms, _ in counted],
        [counts.astype("<u2").tobytes() for _, counts in counted],
    )
    codes = Codes(count, dimensions)
    holders = np.flatnonzero(rng.random(count) < 0.9)
    vectors = rng.standard_normal((len(holders), dimensions))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    codes.fill(holders, rng.integers(1, 80, len(holders)), vectors.astype(np.float16))
    died = np.where(rng.random(count) < 0.3, rng.integers(20, 90, count), NEVER)
    rows = np.arange(first, first + count)
    block = Block(rows, rows % 7, rows % 5, rng.integers(1, 60, count), died, words, {SPACE: codes})
    return block, texts


@pytest.fixture(scope="module", params=["apart", "joined", "cut"])
def rows(request: pytest.FixtureRequest) -> tuple[list[Block], dict[int, list[int]]]:
    rng = np.random.default_rng(3)
    made = [_block(rng, 1, 3000), _block(rng, 4000, 700), _block(rng, 3500, 60)]
    texts = {int(row): text for block, held in made for row, text in zip(block.row, held, strict=True)}
    blocks = [block for block, _ in made]
    if request.param != "apart":
        blocks = [join(blocks)]
    if request.param == "cut":
        blocks = [block.kept(block.died > SEQ) for block in blocks]
    return blocks, texts


@pytest.mark.parametrize("depth", [1, 10, 300, 5000])
@pytest.mark.parametrize("share", [1.0, 0.3, 0.01, 0.0])
def test_legs_are_exact(rows: tuple[list[Block], dict[int, list[int]]], depth: int, share: float) -> None:
    blocks, texts = rows
    rng = np.random.default_rng(4)
    views = [block.view(SEQ) for block in blocks]
    matching = [view.mask & (rng.random(len(view.mask)) < share) for view in views]
    wanted = {int(row) for block, match in zip(blocks, matching, strict=True) for row in block.row[match]}
    seen = {int(row) for block, view in zip(blocks, views, strict=True) for row in block.row[view.mask]}
    assert seen == {
        int(row)
        for block in blocks
        for row, born, died in zip(block.row, block.born, block.died, strict=True)
        if born <= SEQ < died
    }
    for terms in ([1, 2, 3], [17], [299, 298, 1, 40, 41], [100_000], []):
        analysed = {(f"{row:06}", ""): [f"{term:09}" for term in texts[row]] for row in seen}
        ranked = [item for item in bm25(analysed, [f"{term:09}" for term in terms]) if int(item.source_id) in wanted]
        found = lexical(blocks, views, matching, sorted(terms), depth)
        _same(found, ranked, depth)
    query = rng.standard_normal(24)
    query /= np.linalg.norm(query)
    armed = [match & (block.codes[SPACE].since <= SEQ) for block, match in zip(blocks, matching, strict=True)]
    halves = {
        (f"{int(block.row[at]):06}", ""): block.codes[SPACE].half[at]
        for block, match in zip(blocks, armed, strict=True)
        for at in np.flatnonzero(match)
    }
    _same(legs.dense(blocks, armed, SPACE, query, depth), nearest(halves, query), depth)


def _same(found: legs.Found, ranked: list[Any], depth: int) -> None:
    """The same rows, any ties at the cut included, with the same scores."""
    scores = dict(zip(found.rows.tolist(), found.scores.tolist(), strict=True))
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:depth]
    assert [score for _, score in best] == pytest.approx([item.score for item in ranked[:depth]], rel=1e-5, abs=1e-6)
    if len(ranked) > depth:
        cut = ranked[depth - 1].score
        assert {int(item.source_id) for item in ranked if item.score > cut + 1e-6} <= scores.keys()
    else:
        assert scores.keys() == {int(item.source_id) for item in ranked}


def test_what_is_kept_of_the_present_ends_with_it() -> None:
    block, _ = _block(np.random.default_rng(5), 1, 400)
    before = block.view(99)
    assert block.view(100) is before
    alive = block.row[before.mask]
    block.end(alive[:3], np.full(3, 120))
    assert block.view(119).count == before.count
    assert block.view(120).count == before.count - 3
    assert block.view(130) is block.view(131)


def test_products_without_the_kernel_are_the_same() -> None:
    rng = np.random.default_rng(6)
    codes = rng.integers(-127, 128, (5000, 384)).astype(np.int8)
    query = rng.integers(-127, 128, 384).astype(np.int8)
    exact = codes.astype(np.int64) @ query.astype(np.int64)
    assert legs._numpy_products(query, codes).tolist() == exact.tolist()
    assert legs._products()(query, codes).tolist() == exact.tolist()
