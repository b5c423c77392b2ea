"""Tokenizers: names, files, objects, functions; and counts of slices without counting."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege.model.errors import ConfigError
from florilege.testing.strategies import nasty_texts
from florilege.text import ruler
from florilege.text.encodings import BytePairs
from florilege.text.ruler import Ruler
from florilege.text.tokens import known_names, tokenizer

NAMES = ["cl100k_base", "o200k_base", "o200k_harmony", "llama3", "qwen3", "character", "word", "byte"]
MINILM = Path(ruler.__file__).parent.parent / "embed" / "data" / "tokenizer.json"


@pytest.mark.parametrize("name", NAMES)
@given(text=nasty_texts(10), data=st.data())
def test_the_count_of_a_slice_is_the_tokenizers_own(name: str, text: str, data: st.DataObject) -> None:
    counter = tokenizer(name)
    measure = Ruler(text, counter)
    for _ in range(8):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        assert measure.count(start, end) == counter.count(text[start:end])


@pytest.mark.parametrize("name", NAMES)
@given(text=nasty_texts(10), limit=st.integers(1, 40), data=st.data())
def test_reach_goes_about_as_far_as_it_is_asked(name: str, text: str, limit: int, data: st.DataObject) -> None:
    counter = tokenizer(name)
    measure = Ruler(text, counter)
    start = data.draw(st.integers(0, len(text)))
    end = measure.reach(start, limit)
    assert start <= end <= len(text)
    assert counter.count(text[start:end]) <= 2 * limit + 4


def test_windows_of_a_long_text_agree_with_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ruler, "_WINDOW", 300)
    rng = random.Random(5)
    text = "".join(rng.choice(["word ", "naïve ", "日本", "。", "\n\n", "x1y2 ", "... ", "'s "]) for _ in range(4000))
    counter = tokenizer("cl100k_base")
    measure = Ruler(text, counter)
    start = 0
    while start < len(text):
        end = measure.reach(start, 100)
        assert end > start
        assert measure.count(start, end) == counter.count(text[start:end])
        start = end


def test_names_share_their_encoding() -> None:
    assert tokenizer("gpt-3.5-turbo") is tokenizer("cl100k_base")
    assert tokenizer("gpt-4o") is tokenizer("o200k_base")
    for name in known_names():
        assert tokenizer(name).count("two words") >= 1


@pytest.mark.parametrize(("text", "count"), [("hello world", 2), ("<|endoftext|>", 7), ("", 0), ("日本語", 4)])
def test_known_counts(text: str, count: int) -> None:
    assert tokenizer("cl100k_base").count(text) == count


def test_the_other_names_count_what_they_say() -> None:
    text = "Zwölf  Boxkämpfer\njagen"
    assert tokenizer("character").count(text) == len(text)
    assert tokenizer("word").count(text) == 3
    assert tokenizer("byte").count(text) == len(text.encode())


def test_lone_surrogates_are_counted_as_some_character() -> None:
    for name in NAMES:
        assert tokenizer(name).count("a\ud800b") >= 1
        assert Ruler("a\ud800b " * 50, tokenizer(name)).reach(0, 5) > 0


def test_files_bytes_objects_and_functions() -> None:
    from tokenizers import Tokenizer as Library

    text = "Tokenizers are fixed at 128 tokens. " * 40
    by_path, by_name, by_bytes = tokenizer(MINILM), tokenizer(str(MINILM)), tokenizer(MINILM.read_bytes())
    library = Library.from_file(str(MINILM))
    by_object = tokenizer(library)
    assert by_path.name == by_name.name == by_bytes.name == by_object.name
    assert by_path.count(text) == by_object.count(text) > 128
    assert by_path.count("[CLS]") > 1
    assert library.truncation or library.padding, "the caller's own object is left as it was"
    assert tokenizer(len).count("four") == 4


def test_objects_with_the_methods_of_tiktoken_are_taken() -> None:
    import quicktok

    class Foreign:
        name = "cl100k_base"
        max_token_value = 100276

        def __getattr__(self, name: str) -> Any:
            if name in ("count", "encode_batch"):
                raise AttributeError(name)
            return getattr(quicktok.get_encoding("cl100k_base"), name)

    counter = tokenizer(Foreign())
    assert isinstance(counter, BytePairs)
    text = "An encoding object. <|endoftext|> Plain text! " * 20
    assert counter.count(text) == tokenizer("cl100k_base").count(text)
    assert Ruler(text, counter).count(3, 200) == counter.count(text[3:200])


def test_an_embedder_counts_by_itself() -> None:
    class Embedder:
        def count_tokens(self, text: str) -> int:
            return len(text) // 3 + 2

    assert tokenizer(Embedder()).count("abcdef") == 4


@pytest.mark.parametrize("spec", ["cl100k", "gpt-99", 3, None, b"{}", object()])
def test_anything_else_is_refused(spec: Any) -> None:
    with pytest.raises(ConfigError, match="tokenizer"):
        tokenizer(spec)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(ConfigError, match=r"gpt-4o.*word"):
        tokenizer("cl100k")


@pytest.mark.parametrize("answer", [-1, 2.5, None, True, "3"])
def test_a_function_must_return_a_count(answer: Any) -> None:
    with pytest.raises(ConfigError, match="count"):
        tokenizer(lambda text: answer).count("text")
