"""The lexical analyser: what is found by what."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege.model.errors import ConfigError
from florilege.testing.timing import assert_linear
from florilege.text.lexical import MAX_TERM_CHARS, Analyzer, fold

ANALYZER = Analyzer()
PLAIN = Analyzer(stem=None)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The refunds, please!", ["the", "refunds", "please"]),
        ("getUserName", ["get", "user", "name", "getusername"]),
        ("get_user_name", ["get", "user", "name", "getusername"]),
        ("get-user-name", ["get", "user", "name", "getusername"]),
        ("os.path.join()", ["os", "path", "join", "ospathjoin"]),
        ("__init__", ["init"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("siRNAs", ["si", "rnas", "sirnas"]),
        ("GPUs", ["gpus"]),
        ("utf8Decode", ["utf8", "decode", "utf8decode"]),
        ("O'Brien l’homme", ["o", "brien", "obrien", "l", "homme", "lhomme"]),
        ("John's don't", ["john", "dont"]),
        ("U.S.", ["u", "s", "us"]),
        ("3.14 1,452.4 1,2", ["3.14", "1452.4", "1", "2"]),
        ("v1.2", ["v1", "2", "v1.2"]),
        ("2024-05-01", ["2024", "05", "01", "2024-05-01"]),
        ("naïve CAFÉ Straße Łódź", ["naive", "cafe", "strasse", "lodz"]),
        ("ＡＢＣ ﬁne CO₂ x\u00adray", ["abc", "fine", "co2", "xray"]),
        ("cafe\u0301", ["cafe"]),
        ("İstanbul", ["istanbul"]),
        ("Йод ёлка", ["йод", "елка"]),
        ("أَربعة ٣٠٨", ["اربعة", "308"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("梅雨は、猫。308分", ["梅雨", "雨は", "猫", "308", "分"]),
        ("ｶﾞｽ", ["ガス"]),
        ("한국어", ["한국", "국어"]),
        ("ที่นี่", ["ที่นี่"]),
        ("abcคำ", ["abc", "ค\u0e4d\u0e32"]),
        ('"a OR b" {c} NOT -d e:f*', ["a", "or", "b", "c", "not", "d", "e", "f"]),
        ("", []),
        ("?! — …", []),
        ("\x00\ud800", []),
    ],
)
def test_terms_of(text: str, terms: list[str]) -> None:
    assert PLAIN.analyze(text) == terms


def test_english_stems_cut_ascii_terms_only() -> None:
    assert ANALYZER.analyze("refunds refunding Résumés Häuser дома") == ["refund", "refund", "resum", "hauser", "дома"]


def test_stems_by_script() -> None:
    both = Analyzer(stem=("de", "ru"))
    assert both.analyze("Häuser домами") == ["haus", "дом"]
    assert both.version != Analyzer(stem="de").version != PLAIN.version


@pytest.mark.parametrize("stem", ["xx", ("en", "de"), ("ar", "fa")])
def test_wrong_stems_are_refused(stem: str | tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=r"stem|script"):
        Analyzer(stem=stem)


def test_query_terms_are_distinct_in_order() -> None:
    assert ANALYZER.query_terms("Refund the refunds of the refund") == ["refund", "the", "of"]


def test_pairs_of_a_query_are_among_those_of_the_text_around_it() -> None:
    assert set(PLAIN.query_terms("小笠原諸島")) <= set(PLAIN.analyze("北海道と小笠原諸島を除く日本"))


def test_long_terms_are_cut_alike_and_long_wholes_left_out() -> None:
    run = "x1" * 500
    assert PLAIN.analyze(run) == [run[:MAX_TERM_CHARS]]
    assert PLAIN.analyze("part_" * 50) == ["part"] * 50


@given(st.text(max_size=200))
def test_any_text_gives_short_folded_terms_and_the_cache_changes_nothing(text: str) -> None:
    terms = PLAIN.analyze(text)
    assert all(term and len(term) <= MAX_TERM_CHARS for term in terms)
    assert terms == PLAIN.analyze(text) == Analyzer(stem=None).analyze(text)
    assert PLAIN.analyze(unicodedata.normalize("NFD", text)) == PLAIN.analyze(unicodedata.normalize("NFC", text))


@given(st.text(max_size=100), st.text(max_size=100))
def test_a_blank_parts_texts(left: str, right: str) -> None:
    assert PLAIN.analyze(f"{left}\n\n{right}") == PLAIN.analyze(left) + PLAIN.analyze(right)


@given(st.text(max_size=60))
def test_fold_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


def test_threads_share_one_analyzer() -> None:
    texts = [" ".join(f"running{n}s walks{n % 7}ing" for n in range(k, k + 500)) for k in range(40)]
    shared = Analyzer()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(shared.analyze, texts)) == [Analyzer().analyze(text) for text in texts]


def test_hash_seed_changes_nothing() -> None:
    code = "from florilege.text.lexical import Analyzer; print(Analyzer().query_terms('getUserName 梅雨は '))"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    "unit", ["a.b", "_", "aB", "1,234,", "'", "é", "e\u0301", "ก\u0e34", "-a", "1_", "\u0301", "x’", "梅"]
)
def test_hostile_runs_stay_linear(unit: str) -> None:
    PLAIN.analyze(unit * 100)
    assert_linear(lambda count: PLAIN.analyze(unit * count), 20_000, 160_000)
