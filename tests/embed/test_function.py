"""Functions as embedders, checked vectors, vector keys and the counting fake."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege.embed import check_vectors, from_function, vector_key
from florilege.interfaces.embedding import Embedder, EmbeddingSpace
from florilege.model.errors import ConfigError, EmbeddingError
from florilege.testing.fakes import CountingEmbedder

finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(st.lists(st.lists(finite, min_size=3, max_size=3).filter(any), max_size=5))
def test_checked_rows_have_length_one_and_keep_their_direction(rows: list[list[float]]) -> None:
    checked = check_vectors(rows, len(rows), 3)
    assert checked.shape == (len(rows), 3)
    assert checked.dtype == np.float32
    assert checked.flags.c_contiguous
    assert np.allclose(np.linalg.norm(checked.astype(float), axis=1), 1, atol=1e-6)
    for row, unit in zip(rows, checked, strict=True):
        largest = int(np.abs(row).argmax())
        assert np.sign(unit[largest]) == np.sign(row[largest])


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, 2.0]], "shape (1, 2); (2, 3) was expected"),
        ([[1, 2, 3], [1, 2]], "other than 2 equal rows"),
        ([["a", 1, 2], [1, 2, 3]], "other than 2 equal rows"),
        (None, "was expected"),
        ([[1, 2, 3], [0, 0, 0]], "a vector of zeros for text 2 of 2"),
        ([[1, 2, 3], [0, float("nan"), 0]], "not finite for text 2 of 2"),
        ([[float("inf"), 1, 1], [1, 2, 3]], "not finite for text 1 of 2"),
        ([], "was expected"),
    ],
)
def test_unusable_vectors_are_refused(vectors: Any, message: str) -> None:
    with pytest.raises(EmbeddingError) as caught:
        check_vectors(vectors, 2, 3, "embedder 'x'")
    assert message in str(caught.value)
    assert caught.value.code == "bad_vectors"


def test_a_function_is_called_in_batches_and_by_task() -> None:
    calls: list[list[str]] = []

    def documents(texts: list[str]) -> list[list[float]]:
        calls.append(texts)
        return [[len(text), 1.0] for text in texts]

    embedder = from_function(
        name="lengths", dimensions=2, fn=documents, query_fn=lambda texts: [[0, 1]] * len(texts), max_batch=2
    )
    assert isinstance(embedder, Embedder)
    vectors, usage = embedder.embed_many(["a", "bb", "ccc"])
    assert calls == [["a", "bb"], ["ccc"]]
    assert (usage.texts, usage.calls) == (3, 2)
    assert vectors[2] == pytest.approx(np.array([3, 1]) / np.sqrt(10))
    assert embedder.embed_many(["a"], "query").vectors.tolist() == [[0, 1]]
    assert embedder.embed_many([]).vectors.shape == (0, 2)


def test_failures_name_the_embedder_and_never_the_text() -> None:
    def fails(texts: list[str]) -> Any:
        raise TimeoutError(f"secret {texts}")

    with pytest.raises(EmbeddingError) as caught:
        from_function(name="slow", dimensions=2, fn=fails).embed_many(["private words"])
    assert caught.value.retryable
    assert "'slow' failed with TimeoutError" in str(caught.value)
    assert "private" not in str(caught.value)
    with pytest.raises(EmbeddingError, match="shape"):
        from_function(name="short", dimensions=2, fn=lambda texts: [[1, 2]]).embed_many(["a", "b"])


@pytest.mark.parametrize("options", [{"name": ""}, {"dimensions": 0}, {"max_batch": 0}])
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        from_function(**{"name": "x", "dimensions": 2, "fn": lambda texts: texts, **options})


def test_vector_keys_differ_in_every_part() -> None:
    space = EmbeddingSpace(name="m", dimensions=2)
    other = EmbeddingSpace(name="m", dimensions=2, preparation="2")
    parts = [
        ("n", space, "document", "text"),
        ("n", space, "query", "text"),
        ("n", space, "document", "text "),
        ("n", other, "document", "text"),
        ("nm", space, "document", "text"),
        (None, space, "document", "text"),
        ("", space, "document", "text"),
        ("shared", space, "document", "text"),
    ]
    keys = {vector_key(*part) for part in parts}  # type: ignore[arg-type]
    assert len(keys) == len(parts)
    assert {len(key) for key in keys} == {16}


def test_the_counting_embedder_finds_similar_texts_and_counts() -> None:
    embedder = CountingEmbedder(dimensions=64)
    texts = ["refunds are paid in fourteen days", "a refund is paid in days", "the sky over the sea is blue", ""]
    vectors = embedder.embed_many(texts).vectors
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert (embedder.texts_embedded, embedder.calls, embedder.texts) == (4, 1, texts)


def test_the_counting_embedder_fails_as_told() -> None:
    embedder = CountingEmbedder(fail_on=["bad"], fail_calls={2}, retryable=True)
    with pytest.raises(EmbeddingError):
        embedder.embed_many(["good", "bad"])
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed_many(["good"])
    assert caught.value.retryable
    assert len(embedder.embed_many(["good"]).vectors) == 1
    assert (embedder.texts_embedded, embedder.calls) == (1, 3)


def test_the_counting_embedder_is_the_same_in_every_process() -> None:
    ask = "CountingEmbedder(8).embed_many(['some words']).vectors.tolist()"
    code = f"from florilege.testing.fakes import CountingEmbedder; print({ask})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(CountingEmbedder(8).embed_many(["some words"]).vectors.tolist())
