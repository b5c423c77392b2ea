"""Which script a text is written in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege.text.scripts import covers, dominant_script, scripts


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("plain words", "Latin"),
        ("naïve Straße", "Latin"),
        ("ＦＵＬＬ", "Latin"),
        ("Привет, world", "Cyrillic"),
        ("黑豹队的防守", "Han"),
        ("ひらがな", "Hiragana"),
        ("カタカナー", "Katakana"),
        ("ｶﾀｶﾅ", "Katakana"),
        ("한국어", "Hangul"),
        ("ภาษาไทย", "Thai"),
        ("हिन्दी", "Devanagari"),
        ("العربية", "Arabic"),
        ("ελληνικά", "Greek"),
        ("12:30 + 4 = ?", None),
        ("", None),
        ("\ud800", None),
    ],
)
def test_dominant_script(text: str, script: str | None) -> None:
    assert dominant_script(text) == script


def test_coverage_is_by_most_letters() -> None:
    latin = frozenset({"Latin"})
    japanese = frozenset({"Han", "Hiragana", "Katakana"})
    assert covers(latin, "def f(x): return 1  # 説明")
    assert not covers(latin, "説明は日本語です API")
    assert covers(japanese, "説明は日本語です API")
    assert covers(latin, "12 + 5")
    assert covers(japanese, "")
    assert covers(None, "любой")
    assert not covers(japanese, "english")


@given(st.text(max_size=80))
def test_no_more_letters_than_there_are(text: str) -> None:
    assert scripts(text).total() <= len(text)
    assert scripts(text) == scripts(text[::-1])
