"""Quotations: exact means identical slices, normalised means the same words, everything else is absent."""

from __future__ import annotations

import os
import random
import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege.text.quotes import Quotable, normalised

WORDS = re.findall(
    r"\S+",
    """harp string pedal soundboard concert workshop affidavit office efficient flow fluffy refine craft finish return
    within thirty days delivery transit carton customer message extension collection Grün Straße Äpfel café naïve œuvre
    部品 弦 well-known twenty-one O'Brien 3.5 2024 percent coffee difficult baffle""",
)
LIGATURES = {"ffi": "ﬃ", "ffl": "ﬄ", "fi": "ﬁ", "fl": "ﬂ", "ff": "ﬀ"}
COUNT = 10_000 if os.environ.get("FLORILEGE_SOAK") else 1_500


def passage(rng: random.Random) -> str:
    """Sentences of a page: line breaks, curly quotes, dashes, a ligature here and there."""
    words = [rng.choice(WORDS) for _ in range(rng.randint(30, 90))]
    text = words[0].capitalize()
    for word in words[1:]:
        text += rng.choice([" ", " ", " ", " ", "\n", "  ", ", ", ". ", " – ", " “", "” "]) + word
    return text + "."


def cut(rng: random.Random, text: str) -> str:
    start = rng.randrange(0, len(text) - 25)
    return text[start : start + rng.randint(20, 60)]


def hyphenated(rng: random.Random, quote: str) -> str:
    """One word broken over a line, as a page would."""
    places = [at for at in range(2, len(quote) - 2) if quote[at - 2 : at + 2].isalpha()]
    if not places:
        return quote.replace(" ", "\n", 1)
    at = rng.choice(places)
    return f"{quote[:at]}-\n{quote[at:]}"


def ligatured(rng: random.Random, quote: str) -> str:
    for letters, ligature in LIGATURES.items():
        if letters in quote:
            return quote.replace(letters, ligature)
    return quote.replace(" ", "\u00a0", 1)


SAME: dict[str, Callable[[random.Random, str], str]] = {
    "spaces": lambda rng, quote: "  ".join(quote.split()),
    "lines": lambda rng, quote: "\n".join(quote.split()),
    "case": lambda rng, quote: quote.upper() if rng.random() < 0.5 else quote.lower(),
    "ligatures": ligatured,
    "hyphens": hyphenated,
    "decomposed": lambda rng, quote: unicodedata.normalize("NFD", quote),
    "composed": lambda rng, quote: unicodedata.normalize("NFKC", quote),
    "straight": lambda rng, quote: quote.replace("“", '"').replace("”", '"'),
    "invisible": lambda rng, quote: quote[:8] + "\u200b" + quote[8:],
}


def altered(rng: random.Random, quote: str) -> str:
    words = quote.split()
    words[rng.randrange(len(words))] = "zyzzyva"
    return " ".join(words)


def shortened(rng: random.Random, quote: str) -> str:
    """Words left out of the middle."""
    words = quote.split()
    return " ".join([*words[:1], "yclept", *words[2:]])


def reordered(rng: random.Random, quote: str) -> str:
    words = quote.split()
    return " ".join(reversed(words))


def invented(rng: random.Random, quote: str) -> str:
    return "the committee " + " ".join(rng.choice(WORDS) for _ in range(5))


OTHER: dict[str, Callable[[random.Random, str], str]] = {
    "altered": altered,
    "shortened": shortened,
    "reordered": reordered,
    "invented": invented,
}


def words(text: str) -> str:
    """What is left when everything that copying may change is taken away: an oracle of its own."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(char for char in folded if char.isalnum())


def test_exact_is_identical_and_the_same_words_are_found() -> None:
    rng = random.Random(7)
    missed = found = 0
    for number in range(COUNT):
        text = passage(rng)
        if number % 3 == 0:
            text = ligatured(rng, text)
        quotable = Quotable(text)
        quote = cut(rng, text)
        kind = rng.choice(["true", *SAME, *OTHER])
        if kind == "true":
            match = quotable.find(quote)
            assert match.verdict == "exact"
        elif kind in SAME:
            quote = SAME[kind](rng, quote)
            match = quotable.find(quote)
            found += match.verdict != "absent"
            missed += match.verdict == "absent"
        else:
            quote = OTHER[kind](rng, quote)
            match = quotable.find(quote)
            if words(quote) not in words(text):
                assert match.verdict == "absent", (kind, quote, text)
        if match.verdict == "exact":
            assert text[match.start : match.end] == quote
        if match.verdict == "normalised":
            assert text[match.start : match.end] != quote
            assert words(text[match.start : match.end]) == words(quote), (quote, text[match.start : match.end])
    assert found / (found + missed) >= 0.99


@pytest.mark.parametrize(
    ("text", "quote", "slice_"),
    [
        ("an eﬃcient oﬃce", "efficient office", "eﬃcient oﬃce"),
        ("exam-\nple of a break", "example of a break", "exam-\nple of a break"),
        ("a well-\nknown maker", "well-known maker", "well-\nknown maker"),
        ("from 10-\n20 days", "10-20 days", "10-\n20 days"),
        ("soft\u00adware here", "software here", "soft\u00adware here"),
        ("caf\u0065\u0301 au lait", "CAFÉ AU LAIT", "caf\u0065\u0301 au lait"),
        ("he said “yes, now” to me", '"yes, now" to me', "“yes, now” to me"),
        ("he said “yes, now” to me", '"said “yes, now”"', "said “yes, now"),
        ("one – two – three", "one - two - three", "one – two – three"),
        ("ＦＵＬＬ　width", "full width", "ＦＵＬＬ　width"),
        ("Straße und STRASSE", "strasse und straße", "Straße und STRASSE"),
        ("tab\tand\r\nline", "tab and line", "tab\tand\r\nline"),
    ],
)
def test_what_copying_changes(text: str, quote: str, slice_: str) -> None:
    match = Quotable(text).find(quote)
    assert match.verdict == "normalised"
    assert text[match.start : match.end] == slice_


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("within 30 days", "within 3 days of"),
        ("10-20 days", "1020 days"),
        ("not refunded", "refunded within"),
        ("anything", ""),
        ("anything", "  “” "),
        ("", "anything"),
        ("a b c d e f", "a b d e f"),
    ],
)
def test_what_is_absent(text: str, quote: str) -> None:
    assert Quotable(text).find(quote).verdict == "absent"


@given(st.text(max_size=80))
def test_every_normalised_character_comes_from_somewhere(text: str) -> None:
    found = normalised(text)
    assert len(found.text) == len(found.starts) == len(found.ends)
    assert all(0 <= start < end <= len(text) for start, end in zip(found.starts, found.ends, strict=True))
    assert list(found.starts) == sorted(found.starts)
    assert normalised(found.text).text == found.text


@given(st.text(min_size=1, max_size=60), st.data())
def test_a_slice_is_exact(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    quote = text[start:end]
    if quote.strip(" \"'-–\n\t"):
        match = Quotable(text).find(quote)
        assert match.verdict == "exact"
        assert text[match.start : match.end] == quote
