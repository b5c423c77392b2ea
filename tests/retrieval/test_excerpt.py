"""Excerpts are verbatim slices, marks are matching words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from florilege.retrieval.excerpt import excerpt

texts = st.text(st.sampled_from("abc  \n.éß部署데\U0001f600"), max_size=400)


@given(texts, texts, st.integers(1, 120))
def test_an_excerpt_is_a_slice_no_longer_than_asked(content: str, query: str, max_chars: int) -> None:
    found = excerpt(content, query, max_chars=max_chars)
    assert content[found.start : found.end] == found.text
    assert len(found.text) <= max_chars
    assert all(0 <= start < end <= len(found.text) for start, end in found.marks)
    assert list(found.marks) == sorted(found.marks)


def test_the_best_part_is_shown_with_its_words_marked() -> None:
    content = "Nothing here. " * 40 + "Refunds are paid within fourteen days of the return. " + "Other text. " * 40
    found = excerpt(content, "how are refunds paid?", max_chars=120)
    words = [found.text[start:end] for start, end in found.marks]
    assert {"Refunds", "paid"} <= set(words)


def test_endings_and_case_do_not_matter() -> None:
    found = excerpt("A REFUND was refunded.", "refunds")
    assert [found.text[a:b] for a, b in found.marks] == ["REFUND", "refunded"]
