"""TextSplitter: the laws, and the cuts a reader would make."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege.model.errors import ConfigError
from florilege.split import TextSplitter
from florilege.split.characters import spans
from florilege.testing.splitters import SplitterTests
from florilege.testing.strategies import nasty_texts


class TestTextSplitter(SplitterTests):
    size_options = ("max_chars",)
    overlap_option = "overlap_chars"

    def make_splitter(self, size: int, overlap: int) -> TextSplitter:
        return TextSplitter(size, overlap)

    def measure(self, splitter: Any, text: str) -> int:
        return len(text)


def cut(text: str, size: int, overlap: int = 0) -> list[str]:
    return [piece.text for piece in TextSplitter(size, overlap).split(text)]


def test_whole_paragraphs_are_packed_while_they_fit() -> None:
    assert cut("one\n\ntwo\n\nthree\n\nfour", 12) == ["one\n\ntwo", "three\n\nfour"]
    assert cut("one\n\ntwo", 8) == ["one\n\ntwo"]
    assert cut("one\r\n\r\ntwo\r\n\r\nthree", 12) == ["one\r\n\r\ntwo", "three"]


def test_a_long_paragraph_falls_to_sentences_then_words_then_clusters() -> None:
    assert cut("First one. Second one. Third one.", 23) == ["First one. Second one.", "Third one."]
    assert cut("alpha beta gamma delta", 11) == ["alpha beta", "gamma delta"]
    assert cut("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    family = "👩\u200d👩\u200d👧\u200d👦"
    assert cut(family * 3, 10) == [family] * 3


def test_a_paragraph_that_fits_is_not_cut_for_the_sake_of_the_overlap() -> None:
    text = "x" * 40 + " the tail.\n\n" + "A sentence of words. " * 4
    pieces = TextSplitter(90, 30).split(text)
    assert [piece.end_index for piece in pieces] == [50, len(text.rstrip())]
    assert pieces[1].text.startswith("tail.\n\nA sentence")


def test_a_short_lead_stays_with_the_paragraph_that_must_be_cut_anyway() -> None:
    text = "Lead.\n\n" + "A sentence of words. " * 20
    assert cut(text, 100)[0].startswith("Lead.\n\nA sentence of words.")


@pytest.mark.parametrize(
    "kept",
    [
        "It costs 3.14 euros",
        "See Dr. Smith now",
        "Use e.g. this one",
        "On v1.2 of it",
        "At https://a.b/c?d=1 there",
        "To a.b@c.de now",
    ],
)
def test_no_sentence_ends_inside(kept: str) -> None:
    text = f"Something here came before. {kept}. Something came after it all."
    for piece in cut(text, len(text) - 5):
        assert kept in piece or not set(kept.split()[:2]) <= set(piece.split())


def test_indentation_of_the_first_line_is_kept() -> None:
    assert cut("a = 1\n\n    b = 2", 9) == ["a = 1", "    b = 2"]
    assert cut("first\n\n\n    second line", 16) == ["first", "    second line"]


def test_overlap_begins_at_the_largest_unit_that_fits() -> None:
    text = "One two three four five six. Seven eight nine ten. Eleven twelve. " + "And so on it goes. " * 5
    pieces = cut(text, 52, 25)
    assert pieces[1].startswith("Seven eight nine ten.")
    pieces = cut("alpha beta gamma delta epsilon zeta", 17, 6)
    assert pieces[1].startswith("gamma")
    assert cut("abcdefghij", 4, 2) == ["abcd", "cdef", "efgh", "ghij"]


@given(nasty_texts(), st.integers(1, 60), st.integers(0, 59))
def test_a_stretch_of_a_text_is_cut_as_if_it_stood_alone(text: str, size: int, share: int) -> None:
    overlap = share % size
    alone = spans(text, 0, len(text), size, overlap)
    moved = spans("Before.\n\n" + text, 9, 9 + len(text), size, overlap)
    assert moved == [(start + 9, end + 9) for start, end in alone]


def test_options_are_readable_and_checked() -> None:
    splitter = TextSplitter()
    assert (splitter.max_chars, splitter.overlap_chars) == (1200, 150)
    assert TextSplitter(100).overlap_chars == 50
    with pytest.raises(ConfigError, match="overlap_chars=10 must be smaller than max_chars=10"):
        TextSplitter(10, 10)
