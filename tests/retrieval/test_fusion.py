"""Fusion: the same answer whatever the order of legs, and nobody loses by waiting for a vector."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege import ConfigError
from florilege.interfaces.stores import Candidate
from florilege.retrieval import rrf, weighted

rows = st.lists(st.integers(0, 30), unique=True, max_size=20)


def leg(found: list[int], without: frozenset[int] = frozenset()) -> list[Candidate]:
    return [
        Candidate(row, f"s{row}", f"c{row}", 1.0 / (rank + 1), row not in without) for rank, row in enumerate(found)
    ]


@given(rows, rows)
def test_rrf_is_the_sum_of_weighted_reciprocal_ranks(dense: list[int], lexical: list[int]) -> None:
    scores = rrf(k=60, dense=0.5, lexical=1.0).fuse({"dense": leg(dense), "lexical": leg(lexical)})
    assert set(scores) == {*dense, *lexical}
    for row, score in scores.items():
        shares = [0.5 / (61 + dense.index(row))] if row in dense else []
        shares += [1.0 / (61 + lexical.index(row))] if row in lexical else []
        assert score == math.fsum(shares)


@given(rows, rows)
def test_the_order_of_legs_does_not_matter(dense: list[int], lexical: list[int]) -> None:
    for fusion in (rrf(), weighted()):
        one = fusion.fuse({"dense": leg(dense), "lexical": leg(lexical)})
        two = fusion.fuse({"lexical": leg(lexical), "dense": leg(dense)})
        assert {row: pytest.approx(score) for row, score in one.items()} == two


def test_a_chunk_without_a_vector_takes_its_lexical_rank() -> None:
    scores = rrf().fuse({"dense": leg([2]), "lexical": leg([1, 2], frozenset({1}))})
    assert scores[1] == math.fsum([1 / 61, 0.5 / 61])
    assert scores[1] > scores[2]


@pytest.mark.parametrize("option", ["k", "dense", "lexical"])
@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "1", True])
def test_bad_options_are_named(option: str, value: object) -> None:
    with pytest.raises(ConfigError, match=option):
        rrf(**{option: value})  # type: ignore[arg-type]
