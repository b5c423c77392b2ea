"""The laws, for every token splitter and every kind of tokenizer."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from florilege.model.errors import ConfigError
from florilege.split import CodeChunker, MarkdownChunker, RecursiveChunker, SentenceChunker, TokenChunker
from florilege.testing.splitters import SplitterTests


class TestTokenChunker(SplitterTests):
    def make_splitter(self, size: int, overlap: int) -> Any:
        return TokenChunker(chunk_size=size, chunk_overlap=overlap)


class TestTokenChunkerInBytes(SplitterTests):
    def make_splitter(self, size: int, overlap: int) -> Any:
        return TokenChunker(tokenizer="byte", chunk_size=size, chunk_overlap=overlap)


class TestSentenceChunker(SplitterTests):
    def make_splitter(self, size: int, overlap: int) -> Any:
        return SentenceChunker(chunk_size=size, chunk_overlap=overlap)


class TestSentenceChunkerWithoutDelimiters(SplitterTests):
    covers_everything = False

    def make_splitter(self, size: int, overlap: int) -> Any:
        return SentenceChunker(
            "o200k_base", chunk_size=size, chunk_overlap=overlap, include_delim=None, min_sentences_per_chunk=2
        )


class TestSentenceChunkerBySegmenter(SplitterTests):
    def make_splitter(self, size: int, overlap: int) -> Any:
        return SentenceChunker(tokenizer="character", chunk_size=size, chunk_overlap=overlap, delim="auto")


class TestRecursiveChunker(SplitterTests):
    def make_splitter(self, size: int, overlap: int) -> Any:
        return RecursiveChunker(chunk_size=size, chunk_overlap=overlap)


class TestRecursiveChunkerByCalls(SplitterTests):
    """A tokenizer that only counts, and not even evenly."""

    def make_splitter(self, size: int, overlap: int) -> Any:
        return RecursiveChunker(tokenizer=_uneven, chunk_size=size, chunk_overlap=overlap)

    def make_with(self, **options: Any) -> Any:
        return RecursiveChunker(**options)


class TestRecursiveChunkerWithContext(SplitterTests):
    def make_splitter(self, size: int, overlap: int) -> Any:
        return RecursiveChunker(
            chunk_size=size + 4, chunk_overlap=min(overlap, size - 1), prefix="Manual", retain_headers=True
        )

    def check_size(self, splitter: Any, piece: Any, size: int) -> None:
        super().check_size(splitter, piece, size + 4)

    def make_with(self, **options: Any) -> Any:
        return RecursiveChunker(**options)


class TestMarkdownChunkerKeepingTables(SplitterTests):
    supports_overlap = False

    def make_splitter(self, size: int, overlap: int) -> Any:
        return MarkdownChunker(chunk_size=size, tables="keep")

    def check(self, splitter: Any, text: str, size: int, overlap: int) -> None:
        super().check(splitter, text.replace("<page_break", "<page-break"), size, overlap)


class TestCodeChunker(SplitterTests):
    def make_splitter(self, size: int, overlap: int) -> Any:
        return CodeChunker(tokenizer="word", chunk_size=size, chunk_overlap=overlap)


def _uneven(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) // 3 + text.count("e") + 1


SPLITTERS = [TokenChunker, SentenceChunker, RecursiveChunker, MarkdownChunker, CodeChunker]


@pytest.mark.parametrize("make", SPLITTERS)
def test_splitters_are_called_on_a_text_or_on_texts_in_order(make: Any) -> None:
    splitter = make(chunk_size=8)
    texts = [f"Text number {number}. It has two sentences." for number in range(30)]
    assert splitter(texts[0]) == splitter.split(texts[0]) == splitter.chunk(texts[0])
    assert splitter(iter(texts)) == [splitter.split(text) for text in texts]
    assert make(chunk_size=8, tokenizer="llama3")(texts, show_progress=True)[29][0].text.startswith("Text number 29")


@pytest.mark.parametrize("make", SPLITTERS)
def test_splitters_have_an_identity_and_survive_pickling(make: Any) -> None:
    splitter = make(chunk_size=64)
    assert splitter.fingerprint() == make(chunk_size=64, tokenizer="cl100k_base").fingerprint()
    assert splitter.fingerprint() != make(chunk_size=65).fingerprint()
    assert splitter.fingerprint() != make(chunk_size=64, tokenizer="gpt-4o").fingerprint()
    again = pickle.loads(pickle.dumps(splitter))
    assert again.fingerprint() == splitter.fingerprint()
    assert again("One. Two. Three.") == splitter("One. Two. Three.")
    with pytest.raises(AttributeError):
        splitter.chunk_size = 3


@pytest.mark.parametrize("make", SPLITTERS)
def test_a_function_needs_a_name_to_be_in_a_fingerprint(make: Any) -> None:
    with pytest.raises(ConfigError, match="tokenizer"):
        make(tokenizer=lambda text: len(text)).fingerprint()
    counted = lambda text: len(text)  # noqa: E731
    counted.fingerprint = "letters-1"  # type: ignore[attr-defined]
    assert make(tokenizer=counted).fingerprint() != make(tokenizer="character").fingerprint()


@pytest.mark.parametrize("make", SPLITTERS)
def test_anything_but_text_is_refused(make: Any) -> None:
    with pytest.raises(ConfigError, match="text"):
        make().split(b"bytes")
    with pytest.raises(ConfigError, match="text 1"):
        make()(["text", 3])


def test_sentences_tile_their_chunk() -> None:
    text = "First sentence here. Second sentence here! Hm. Third sentence?\n\nFourth sentence ends it."
    (chunk,) = SentenceChunker()(text)
    assert [sentence.text for sentence in chunk.sentences] == [
        "First sentence here. ",
        "Second sentence here! ",
        "Hm. Third sentence?\n\n",
        "Fourth sentence ends it.",
    ]
    for sentence in chunk.sentences:
        assert text[sentence.start_index : sentence.end_index] == sentence.text
        assert sentence.token_count == SentenceChunker().tokenizer.count(sentence.text)


@pytest.mark.parametrize(
    ("include", "expected"),
    [
        ("prev", ["One thing here. ", "Another thing. ", "Last thing here"]),
        ("next", ["One thing here", ". Another thing", ". Last thing here"]),
        (None, ["One thing here", "Another thing", "Last thing here"]),
    ],
)
def test_include_delim_says_whose_the_delimiter_is(include: Any, expected: list[str]) -> None:
    text = "One thing here. Another thing. Last thing here"
    chunker = SentenceChunker(chunk_size=5, include_delim=include, delim=". ")
    assert [piece.text for piece in chunker(text)] == expected
    assert all(text[piece.start_index : piece.end_index] == piece.text for piece in chunker(text))


def test_the_last_chunk_gets_its_least_number_of_sentences() -> None:
    text = "Alpha beta gamma. Delta epsilon zeta. Eta theta iota. Kappa lambda mu. Nu xi omicron pi."
    assert [len(chunk.sentences) for chunk in SentenceChunker("word", chunk_size=12)(text)] == [4, 1]
    evened = SentenceChunker("word", chunk_size=12, min_sentences_per_chunk=2)
    assert [len(chunk.sentences) for chunk in evened(text)] == [3, 2]


@pytest.mark.parametrize(
    "options",
    [
        {"delim": []},
        {"delim": ""},
        {"delim": ["", "."]},
        {"delim": 3},
        {"include_delim": "both"},
        {"min_sentences_per_chunk": 0},
        {"min_characters_per_sentence": True},
        {"tokenizer": "no-such-tokenizer"},
        {"tokenizer": 3},
    ],
)
def test_sentence_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        SentenceChunker(**options)


def test_code_is_cut_between_definitions_and_names_its_extra() -> None:
    source = "".join(f"def f{n}(x):\n    y = x + {n}\n\n    return y\n\n\n" for n in range(9))
    pieces = CodeChunker(chunk_size=45)(source)
    assert "".join(piece.text for piece in pieces) == source
    assert len(pieces) > 2
    assert all(piece.text.startswith("def f") for piece in pieces)
    with pytest.raises(ConfigError, match=r"language .* 'klingon'"):
        CodeChunker(language="klingon")
    try:
        import tree_sitter_python  # noqa: F401
    except ImportError:
        with pytest.raises(ConfigError, match=r"florilege\[code\]"):
            CodeChunker(language="python")


def test_code_with_a_grammar_keeps_strings_and_members_whole() -> None:
    pytest.importorskip("tree_sitter_python")
    members = "".join(f"    # about m{n}\n    def m{n}(self):\n        return '''a\n\nb{n}'''\n\n" for n in range(8))
    source = f"import os\n\n\nclass A:\n{members}"
    pieces = CodeChunker(language="python", chunk_size=40)(source)
    assert "".join(piece.text for piece in pieces) == source
    assert all(piece.text.lstrip().startswith(("import", "# about", "class")) for piece in pieces)


def test_a_copy_with_other_options_has_the_same_size() -> None:
    chunker = RecursiveChunker(tokenizer="word", chunk_size=40, prefix="one two three ")
    assert chunker.chunk_size + chunker.prefix_token_count == 40 > chunker.chunk_size
    for copy in (replace(chunker, chunk_overlap=5), replace(chunker, prefix=None), pickle.loads(pickle.dumps(chunker))):
        assert copy.chunk_size + copy.prefix_token_count == 40
        assert replace(copy, prefix="one").chunk_size == RecursiveChunker("word", 40, prefix="one").chunk_size
    assert replace(chunker, chunk_size=30).chunk_size == 30 - chunker.prefix_token_count
