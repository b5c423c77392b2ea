"""Adapters over libraries that run models here, with stand-ins for the models."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

import florilege.embed
from florilege import ConfigError
from florilege.embed import fastembed, model2vec, sentence_transformers
from florilege.interfaces.embedding import Embedder
from tests.embed.server import vector

TOKENIZER = Tokenizer.from_file(str(Path(florilege.embed.__file__).parent / "data" / "tokenizer.json"))
TOKENIZER.no_padding()
TOKENIZER.no_truncation()
LONG = " ".join(f"word{n}" for n in range(200))


class Encoder:
    """What the adapters use of a SentenceTransformer."""

    max_seq_length = 64
    prompts: dict[str, str] = {"query": "query: ", "document": ""}  # noqa: RUF012 as the library has it

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.tokenizer = SimpleNamespace(backend_tokenizer=TOKENIZER, num_special_tokens_to_add=lambda: 2)

    def get_embedding_dimension(self) -> int:
        return 8

    def encode(self, texts: list[str], *, prompt: str, batch_size: int, show_progress_bar: bool) -> Any:
        assert (prompt, show_progress_bar) == ("", False)
        assert len(texts) <= batch_size
        self.asked += texts
        return np.array([vector(text) for text in texts], dtype=np.float32)


class Fast:
    """What the adapters use of a TextEmbedding."""

    embedding_size = 8

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.model = SimpleNamespace(tokenizer=TOKENIZER)

    def passage_embed(self, texts: list[str]) -> Iterator[Any]:
        self.asked += texts
        return (np.array(vector(text)) for text in texts)

    def query_embed(self, texts: list[str]) -> Iterator[Any]:
        return self.passage_embed([f"q:{text}" for text in texts])


class Static:
    """What the adapters use of a StaticModel."""

    dim = 8
    tokenizer = TOKENIZER

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: list[str], *, max_length: int | None, show_progress_bar: bool) -> Any:
        assert (max_length, show_progress_bar) == (None, False)
        self.asked += texts
        return np.array([vector(text) for text in texts])


ADAPTERS = [(sentence_transformers, Encoder), (fastembed, Fast), (model2vec, Static)]
EACH = pytest.mark.parametrize(("adapter", "model"), ADAPTERS)


@EACH
def test_they_are_embedders(adapter: Callable[..., Any], model: Callable[[], Any]) -> None:
    embedder = adapter(model(), name="stand-in", languages={"en"})
    assert isinstance(embedder, Embedder)
    assert (embedder.space.name, embedder.space.dimensions, embedder.max_concurrency) == ("stand-in", 8, 1)
    assert embedder.languages == {"en"}
    assert embedder.count_tokens("red apple") == 2
    vectors, usage = embedder.embed_many(["red apple", "pear"])
    row = np.array(vector("pear"))
    np.testing.assert_allclose(vectors[1], row / np.linalg.norm(row), atol=1e-6)
    assert (usage.texts, usage.tokens) == (2, 3)


@EACH
def test_a_model_object_needs_a_name(adapter: Callable[..., Any], model: Callable[[], Any]) -> None:
    with pytest.raises(ConfigError, match="name="):
        adapter(model())


def test_input_beyond_the_limit_is_windowed_where_there_is_one() -> None:
    encoder, fast, static = Encoder(), Fast(), Static()
    sentence_transformers(encoder, name="n").embed_many([LONG])
    fastembed(fast, name="n", max_input_tokens=100).embed_many([LONG])
    model2vec(static, name="n").embed_many([LONG])
    for asked, limit in ((encoder.asked, 62), (fast.asked, 98)):
        assert "".join(asked) == LONG
        assert all(len(TOKENIZER.encode(text, add_special_tokens=False).ids) <= limit for text in asked)
    assert static.asked == [LONG]


def test_queries_are_told_apart() -> None:
    encoder, fast = Encoder(), Fast()
    own = sentence_transformers(encoder, name="n")
    own.embed_many(["x"], "query")
    own.embed_many(["x"])
    given = sentence_transformers(encoder, name="n", prompts={"query": "Q ", "document": "D "})
    given.embed_many(["x"], "query")
    given.embed_many(["x"])
    assert encoder.asked == ["query: x", "x", "Q x", "D x"]
    assert own.space != given.space
    fastembed(fast, name="n").embed_many(["x"], "query")
    assert fast.asked == ["q:x"]


def test_names_are_loaded_by_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def load(name: str, **options: Any) -> Encoder:
        made.append((name, options))
        return Encoder()

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=load))
    embedder = sentence_transformers("/models/some-model", device="cpu")
    assert made == [("/models/some-model", {"device": "cpu"})]
    assert embedder.space.name == "some-model"


@pytest.mark.parametrize(
    ("adapter", "module", "extra"),
    [
        (sentence_transformers, "sentence_transformers", "sentence-transformers"),
        (fastembed, "fastembed", "fastembed"),
        (model2vec, "model2vec", "model2vec"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, adapter: Callable[..., Any], module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=rf"florilege\[{extra}\]"):
        adapter("some-model")
