"""The measures of the retrieval benchmark, against values worked out by hand."""

from __future__ import annotations

import importlib.util
import math
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ROOT


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("retrieval_metrics", ROOT / "benchmarks" / "retrieval" / "metrics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


METRICS = _module()
RANKED = ["d1", "d2", "d3", "d4", "d5", "d6"]
GRADES = {"d1": 3, "d2": 2, "d3": 3, "d4": 0, "d5": 1, "d6": 2, "d7": 3, "d8": 2}


def test_ndcg_of_the_textbook_example() -> None:
    # 3 + 2/log2(3) + 3/2 + 0 + 1/log2(6) + 2/log2(7) = 6.861; ideal 3, 3, 3, 2, 2, 2 = 8.740
    assert METRICS.ndcg(RANKED, GRADES, 6) == pytest.approx(6.861 / 8.740, abs=1e-3)


@pytest.mark.parametrize(
    ("ranked", "grades", "expected"),
    [
        (["a", "b"], {"a": 1}, 1.0),
        (["b", "a"], {"a": 1}, 1 / math.log2(3)),
        (["b", "c"], {"a": 1}, 0.0),
        (["a"], {"a": 1, "b": 1}, 1 / (1 + 1 / math.log2(3))),
        ([*"abcdefghij", "x"], {"x": 1}, 0.0),
        (["a"], {}, 0.0),
        (["a"], {"a": 0}, 0.0),
    ],
)
def test_ndcg_at_ten(ranked: list[str], grades: dict[str, float], expected: float) -> None:
    assert METRICS.ndcg(ranked, grades, 10) == pytest.approx(expected)


def test_recall() -> None:
    assert METRICS.recall(RANKED, GRADES, 3) == pytest.approx(3 / 7)
    assert METRICS.recall(RANKED, GRADES, 100) == pytest.approx(5 / 7)
    assert METRICS.recall(RANKED, {}, 3) == 0


@given(st.permutations(RANKED), st.dictionaries(st.sampled_from(RANKED), st.integers(0, 3)), st.integers(1, 8))
def test_measures_stay_in_range_and_the_ideal_order_has_ndcg_one(
    ranked: list[str], grades: dict[str, float], k: int
) -> None:
    for measure in (METRICS.ndcg, METRICS.recall):
        assert 0 <= measure(ranked, grades, k) <= 1
    best = sorted(RANKED, key=lambda document: -grades.get(document, 0))
    assert METRICS.ndcg(best, grades, k) == pytest.approx(1.0 if any(grades.values()) else 0.0)
