"""Cluster boundaries, against another implementation and against endless clusters."""

from __future__ import annotations

from itertools import accumulate
from time import process_time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from florilege.testing.strategies import nasty_texts
from florilege.text.graphemes import boundary_after, boundary_before, clusters, is_boundary

ALPHABET = (
    "a \n\re日👩🇯🇵❤\u0301\u0308\u200d\ufe0f\u00ad\u094d\u0915\u093f\u0600\u1100\u1161\u11a8\uac00\uac01\u09cd\u0995"
    "\u0e33\u0d4e"
)
TEXTS = st.one_of(st.text(ALPHABET, max_size=20), nasty_texts(6))


@given(TEXTS)
def test_clusters_are_those_of_the_standard(text: str) -> None:
    assert clusters(text) == regex.findall(r"\X", text)


@given(TEXTS, st.data())
def test_boundaries_are_the_borders_of_clusters(text: str, data: st.DataObject) -> None:
    borders = list(accumulate(map(len, clusters(text)), initial=0))
    index = data.draw(st.integers(0, len(text)))
    floor = data.draw(st.sampled_from([border for border in borders if border <= index]))
    assert is_boundary(text, index, floor) == (index in borders)
    below = [border for border in borders if floor < border <= index]
    assert boundary_before(text, index, floor) == (below[-1] if below else index)
    assert boundary_after(text, index, floor, len(text)) == next(border for border in borders if border >= index)


def test_a_cluster_that_fills_the_window_is_cut_at_the_index() -> None:
    text = "👩\u200d" * 50
    assert clusters(text) == [text]
    assert boundary_before(text, 20, 0) == 20
    assert boundary_after(text, 20, 0, 60) == 60


@pytest.mark.parametrize(
    "unit", ["👩\u200d", "\u0301", "🇯", "क्", "\u1100", "\u0600", "e\u0301", "\uac00\u11a8", "🇯\u0301"]
)
def test_windows_over_endless_clusters_take_linear_time(unit: str) -> None:
    text = "e" + unit * (200_000 // len(unit))
    start = process_time()
    position = 0
    while position < len(text):
        position = boundary_before(text, position + 1200, position)
    assert process_time() - start < 2
