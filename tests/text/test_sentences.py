"""Where sentences end."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege.testing.strategies import nasty_texts
from florilege.text.sentences import last_sentence_end, sentence_ends, sentence_spans


def cut(text: str) -> list[str]:
    return [text[start:end].rstrip() for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "sentences",
    [
        ["It costs 3.14 today.", "Dr. Smith, e.g. the tall one (v1.2), came!", "Really?!", "Yes..."],
        ['He said "Stop."', "Then he left."],
        ["See https://example.org/a.b?c=d.", "Mail a.b@example.org now.", "End"],
        ["Smith et al. (2020) agree.", "So do we."],
        ["The U.S. Army left at 5 p.m.", "Then it rained.", "J. R. R. Tolkien wrote."],
        ["1. First item here.", "More of it."],
        ["これは文です。", "元気ですか？！", "「はい。」", "と言った。"],
        ["这是第一句。", "这是第二句！"],
        ["यह वाक्य है।", "यह दूसरा है॥", "तीसरा"],
        ["هل هذه جملة؟", "نعم۔", "لا"],
        ["What...?!", "Well (it was so.)", "**Bold.**", "Next"],
        ["lower case too.", "it goes on.", "done"],
    ],
)
def test_sentences_are_found(sentences: list[str]) -> None:
    spaced = sentences[0][-1].isascii() or sentences[0][-1] in "।؟"
    assert cut((" " if spaced else "").join(sentences)) == sentences


def test_a_blank_line_ends_a_sentence_and_a_line_end_does_not() -> None:
    assert cut("A heading\n\nA line\nand its rest\r\n \r\nLast") == ["A heading", "A line\nand its rest", "Last"]


@given(nasty_texts(10), st.data())
def test_windows_agree_with_the_whole(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    expected = [index for index in sentence_ends(text) if start < index <= end]
    assert sentence_ends(text, start, end) == expected
    assert last_sentence_end(text, start, end) == (expected[-1] if expected else start)
    spans = sentence_spans(text, start, end)
    assert "".join(text[a:b] for a, b in spans) == text[start:end]


@pytest.mark.parametrize("unit", [" ", "\n", ".", "e.g. ", ". ", "a", ".'", "\n" + " " * 90, "。", "*"])
def test_time_is_linear(unit: str) -> None:
    text = "." + unit * (200_000 // len(unit))
    start = process_time()
    sentence_ends(text)
    position = 0
    while position < len(text):
        found = last_sentence_end(text, position, position + 1200)
        position = found if found > position else position + 1200
    assert process_time() - start < 2
