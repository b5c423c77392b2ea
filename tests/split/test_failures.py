"""Failures published about other token splitters, each with what is right."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from time import process_time
from typing import Any

import pytest

from florilege.model.errors import ConfigError
from florilege.split import (
    MarkdownChunker,
    RecursiveChunker,
    RecursiveLevel,
    RecursiveRules,
    SentenceChunker,
    TokenChunker,
)
from florilege.testing.timing import assert_linear
from florilege.text.graphemes import clusters
from florilege.text.tokens import tokenizer


def lawful(pieces: Any, text: str) -> None:
    """Every piece is its slice, starts rise, nothing that is not blank is left out."""
    covered = 0
    for piece in pieces:
        assert text[piece.start_index : piece.end_index] == piece.text
        assert not text[covered : piece.start_index].strip()
        covered = max(covered, piece.end_index)
    assert not text[covered:].strip()
    assert all(a.start_index < b.start_index and a.end_index < b.end_index for a, b in pairwise(pieces))


def test_repeated_identical_sentences_have_their_own_offsets() -> None:
    text = "The same sentence again. " * 20
    pieces = SentenceChunker(chunk_size=6)(text)
    assert [piece.start_index for piece in pieces] == [25 * n for n in range(20)]
    lawful(pieces, text)


def test_token_windows_of_prose_start_inside_the_text() -> None:
    text = "Ordinary prose, nothing special about it; it simply goes on for a while. " * 30
    pieces = TokenChunker(chunk_size=20, chunk_overlap=5)(text)
    assert pieces[0].start_index == 0
    lawful(pieces, text)


def test_one_sentence_six_times_has_six_starts() -> None:
    text = "One sentence, six times over. " * 6
    pieces = SentenceChunker(tokenizer="character", chunk_size=30)(text)
    assert [piece.start_index for piece in pieces] == [0, 30, 60, 90, 120, 150]


def test_a_sentence_longer_than_the_size_is_cut_between_words() -> None:
    text = "The first of three sentences. A second one follows here. And a third."
    pieces = SentenceChunker(tokenizer="character", chunk_size=10)(text)
    assert max(len(piece.text) for piece in pieces) <= 10
    lawful(pieces, text)
    assert [piece.text for piece in pieces[:3]] == ["The first ", "of three ", "sentences."]


def test_lines_shorter_than_the_minimum_are_joined() -> None:
    text = "\n".join(f"l{n}" for n in range(200))
    pieces = SentenceChunker(chunk_size=16, min_characters_per_sentence=24)(text)
    lawful(pieces, text)
    assert max(piece.token_count for piece in pieces) <= 16


@pytest.mark.parametrize("text", ["👩\u200d👩\u200d👧\u200d👦" * 40, "日本語の文章を切る。" * 60, "🦜🏽e\u0301🇯🇵" * 40])
def test_a_cut_among_the_tokens_of_a_character_loses_nothing(text: str) -> None:
    pieces = TokenChunker(chunk_size=30)(text)
    assert "".join(piece.text for piece in pieces) == text
    assert "�" not in "".join(piece.text for piece in pieces)
    starts = {len("".join(clusters(text)[:n])) for n in range(len(clusters(text)))}
    assert all(piece.start_index in starts for piece in pieces)


def test_text_without_sentence_ends_keeps_the_size() -> None:
    text = "".join(f"key_{n}:\n  - value: {n}\n    other: [a, b, c]\n" for n in range(3000))
    for chunker in (SentenceChunker(chunk_size=2048), RecursiveChunker(chunk_size=2048), TokenChunker(chunk_size=2048)):
        pieces = chunker(text)
        assert 1800 < pieces[0].token_count <= 2048
        assert max(chunker.tokenizer.count(piece.text) for piece in pieces) <= 2048


def test_the_second_of_two_equal_words_starts_where_it_stands() -> None:
    text = "chunk chunk"
    pieces = RecursiveChunker(tokenizer="character", chunk_size=6, min_characters_per_chunk=1)(text)
    assert [(piece.text, piece.start_index) for piece in pieces] == [("chunk ", 0), ("chunk", 6)]


@pytest.mark.parametrize("make", [SentenceChunker, RecursiveChunker, TokenChunker])
def test_offsets_stay_true_with_tokens_and_overlap(make: Any) -> None:
    text = "A sentence of some words. Another one, with a comma! Is there a third? There is.\n\n" * 40
    pieces = make(chunk_size=40, chunk_overlap=12)(text)
    lawful(pieces, text)
    for before, after in pairwise(pieces):
        assert after.start_index < before.end_index
        assert tokenizer("cl100k_base").count(text[after.start_index : before.end_index]) <= 12


def test_a_delimiter_is_text_and_no_pattern() -> None:
    text = r"first part\ssecond part.*third part"
    rules = RecursiveRules([RecursiveLevel([r"\s", ".*"])])
    pieces = RecursiveChunker(tokenizer="character", chunk_size=13, rules=rules, min_characters_per_chunk=1)(text)
    assert [piece.text for piece in pieces] == [r"first part\s", "second part.*", "third part"]


def test_pieces_overlap_though_every_unit_fits() -> None:
    text = "\n\n".join(f"Paragraph number {n} is short." for n in range(30))
    pieces = RecursiveChunker(tokenizer="word", chunk_size=20, chunk_overlap=5)(text)
    assert all(after.start_index < before.end_index for before, after in pairwise(pieces))


@pytest.mark.parametrize("tables", ["text", "keep"])
def test_a_very_wide_table_ends(tables: Any) -> None:
    columns = range(2000)
    row = lambda cells: "|" + "|".join(f" {cell} " for cell in cells) + "|"  # noqa: E731
    text = "\n".join([row(f"h{n}" for n in columns), row("---" for _ in columns), row(f"v{n}" for n in columns)])
    chunker = MarkdownChunker(chunk_size=64, tables=tables)
    pieces = chunker(text)
    assert max(chunker.tokenizer.count(piece.full_text) for piece in pieces) <= 64
    joined = " ".join(piece.text for piece in pieces)
    assert "v1999" in joined
    assert "h1999" in joined


def test_a_large_text_takes_as_long_as_its_size_says() -> None:
    page = "Title\n*****\n\nSome prose under a rule of stars. It has two sentences.\n\n" + "*" * 80 + "\n\n"
    for chunker in (SentenceChunker(), RecursiveChunker()):
        chunker(page)
        assert_linear(lambda pages, chunker=chunker: chunker(page * pages), 1500, 12000)


@pytest.mark.parametrize("unit", ["abcdefghijklmnopqrstuvwxyz", "a", "^"])
def test_endless_letters_are_cut(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    for chunker in (SentenceChunker(), RecursiveChunker(), TokenChunker()):
        pieces = chunker(text)
        assert "".join(piece.text for piece in pieces) == text
        assert max(piece.token_count for piece in pieces) <= 512


@pytest.mark.parametrize("make", [SentenceChunker, RecursiveChunker, TokenChunker])
def test_one_rocket_larger_than_the_size_is_one_piece(make: Any) -> None:
    assert [piece.text for piece in make(chunk_size=1)("🚀")] == ["🚀"]


def test_an_ideographic_full_stop_ends_its_own_sentence() -> None:
    text = "これは一つ目の文です。これは二つ目の文です。これは三つ目の文です。"
    for chunker in (
        SentenceChunker(tokenizer="character", chunk_size=11, delim="auto", min_characters_per_sentence=1),
        SentenceChunker(tokenizer="character", chunk_size=11, delim=["。"], min_characters_per_sentence=1),
        RecursiveChunker(tokenizer="character", chunk_size=11, min_characters_per_chunk=1),
    ):
        assert [piece.text for piece in chunker(text)] == [
            "これは一つ目の文です。",
            "これは二つ目の文です。",
            "これは三つ目の文です。",
        ]


def test_overlap_stays_inside_the_size() -> None:
    text = "ab  cd  ef  gh  ij  kl  mn"
    pieces = RecursiveChunker(tokenizer="word", chunk_size=4, chunk_overlap=2, min_characters_per_chunk=1)(text)
    assert max(len(piece.text.split()) for piece in pieces) <= 4
    lawful(pieces, text)


def test_a_huge_text_is_no_matter_of_minutes() -> None:
    text = "A line of an endless document, with some words in it.\n" * 40_000
    start = process_time()
    pieces = RecursiveChunker()(text)
    assert process_time() - start < 10
    assert len(pieces) > 500


def _padding_tokenizer() -> bytes:
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "one": 3, "two": 4, "three": 5}
    added = [
        {
            "id": n,
            "content": t,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for t, n in list(vocabulary.items())[:3]
    ]
    return json.dumps(
        {
            "version": "1.0",
            "truncation": {"direction": "Right", "max_length": 128, "strategy": "LongestFirst", "stride": 0},
            "padding": {
                "strategy": {"Fixed": 128},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "[PAD]",
            },
            "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": None,
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
        }
    ).encode()


def test_padding_and_truncation_of_a_tokenizer_file_are_taken_off() -> None:
    counter = tokenizer(_padding_tokenizer())
    assert counter.count("one two three") == 3
    assert counter.count("one " * 300) == 300
    pieces = SentenceChunker(tokenizer=_padding_tokenizer(), chunk_size=10, delim=" ", min_characters_per_sentence=1)(
        "one two three " * 20
    )
    assert [piece.token_count for piece in pieces] == [10] * 6


def test_headings_longer_than_the_size_lose_no_text() -> None:
    text = f"# {'A heading that goes on and on ' * 30}\n\nBody text under it.\n\n## Short\n\nMore body text here.\n"
    for chunker in (MarkdownChunker(chunk_size=24), RecursiveChunker(chunk_size=24, retain_headers=True)):
        pieces = chunker(text)
        assert max(chunker.tokenizer.count(piece.full_text) for piece in pieces) <= 24
        joined = "".join(piece.text for piece in pieces)
        assert "Body text under it." in joined
        assert "More body text here." in joined


def test_overlap_at_every_level_is_text_of_the_source() -> None:
    text = ("Alpha beta gamma delta. " * 9 + "\n\n") * 6 + "x" * 400
    pieces = RecursiveChunker(chunk_size=24, chunk_overlap=8)(text)
    lawful(pieces, text)


def test_starts_are_right_with_overlapping_words() -> None:
    text = "one two three four five six seven eight nine ten " * 30
    pieces = RecursiveChunker(tokenizer="word", chunk_size=10, chunk_overlap=3)(text)
    lawful(pieces, text)
    assert [len(piece.text.split()) for piece in pieces[:3]] == [10, 10, 10]
    assert pieces[1].text.startswith("eight nine ten one ")


@pytest.mark.parametrize("make", [SentenceChunker, RecursiveChunker, MarkdownChunker, TokenChunker])
def test_one_endless_line_is_cut(make: Any) -> None:
    text = base64.b64encode(bytes(range(256)) * 180).decode()[:60_000]
    pieces = make()(text)
    assert len(pieces) > 50
    assert max(piece.token_count for piece in pieces) <= 512


@pytest.mark.parametrize("make", [SentenceChunker, RecursiveChunker, TokenChunker])
def test_a_negative_overlap_is_refused(make: Any) -> None:
    with pytest.raises(ConfigError, match=r"chunk_overlap must be .* -2"):
        make(tokenizer="character", chunk_size=4, chunk_overlap=-2)
    assert "".join(p.text for p in make(tokenizer="character", chunk_size=4)("abcdefghijkl")) == "abcdefghijkl"


def test_special_token_text_is_plain_text() -> None:
    text = "before <|endoftext|> after <|fim_prefix|> end. " * 30
    for name in ("cl100k_base", "o200k_base", "llama3", "qwen3"):
        assert tokenizer(name).count("<|endoftext|>") > 1
        pieces = SentenceChunker(tokenizer=name, chunk_size=32)(text)
        assert "".join(piece.text for piece in pieces) == text
