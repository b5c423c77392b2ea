"""Sparse embedders: BM25 weights, and masked language models from ONNX files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import florilege.embed
from florilege import ConfigError, EmbeddingError
from florilege.embed import MaskedSparseEmbedder, bm25_weights, check_sparse
from florilege.embed.bm25 import term_id
from florilege.interfaces.embedding import SparseEmbedder
from florilege.text.lexical import Analyzer

onnx = pytest.importorskip("onnx")

TOKENIZER = Path(florilege.embed.__file__).parent / "data" / "tokenizer.json"
VOCABULARY = 30522
WIDTH = 12


class TestBm25Weights:
    def test_it_is_a_sparse_embedder(self) -> None:
        embedder = bm25_weights()
        assert isinstance(embedder, SparseEmbedder)
        assert (embedder.space.sparse, embedder.space.leg) == (True, "sparse")

    def test_weights_are_bm25s_saturation(self) -> None:
        (vector,), usage = bm25_weights(k1=1.2, b=0.75, average_terms=8).embed_many(["red apple, red pear"])
        norm = 1.2 * (1 - 0.75 + 0.75 * 4 / 8)
        assert vector == {
            term_id("red"): pytest.approx(2 / (2 + norm)),
            term_id("appl"): pytest.approx(1 / (1 + norm)),
            term_id("pear"): pytest.approx(1 / (1 + norm)),
        }
        assert (usage.texts, usage.calls) == (1, 1)

    def test_a_question_leaves_out_what_every_question_says(self) -> None:
        ask = bm25_weights().embed_many
        assert ask(["What is the price of the apple?"], "query").vectors == [
            {term_id("price"): 1.0, term_id("appl"): 1.0}
        ]
        german = ask(["Wie hoch ist der Preis für einen Apfel?"], "query").vectors[0]
        assert german.keys() == {term_id("hoch"), term_id("prei"), term_id("apfel")}
        assert ask(["who is it"], "query").vectors[0], "a question of nothing else keeps its words"
        assert ask([""], "query").vectors == [{}]

    def test_options_and_analyser_are_part_of_the_identity(self) -> None:
        spaces = {bm25_weights().space, bm25_weights(k1=1.0).space, bm25_weights(analyzer=Analyzer(stem="de")).space}
        assert len(spaces) == 3
        for options in ({"k1": -1.0}, {"b": 1.5}, {"average_terms": 0.0}, {"b": float("nan")}):
            with pytest.raises(ConfigError):
                bm25_weights(**options)

    @given(st.lists(st.text(max_size=80), max_size=5))
    def test_any_text_has_weights_that_can_be_kept(self, texts: list[str]) -> None:
        for task in ("document", "query"):
            embedder = bm25_weights()
            vectors = embedder.embed_many(texts, task).vectors  # type: ignore[arg-type]
            assert check_sparse(vectors, len(texts), embedder.space.dimensions) == vectors


def table() -> Any:
    """Logits by token id; most are below 0."""
    return np.random.default_rng(7).normal(-0.5, 1.0, size=(VOCABULARY, WIDTH)).astype(np.float32)


def model(table: Any = None) -> bytes:
    """A masked language model that looks its logits up."""
    from onnx import TensorProto, helper, numpy_helper

    table = globals()["table"]() if table is None else table
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["logits"], axis=0)],
        "lookup",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "tokens"]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "tokens", WIDTH])],
        [numpy_helper.from_array(table, "table")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    data: bytes = made.SerializeToString()
    return data


def masked(**options: Any) -> MaskedSparseEmbedder:
    return MaskedSparseEmbedder(model(), TOKENIZER, name="lookup", **{"vocabulary": WIDTH, **options})


def expected(ids: list[int]) -> dict[int, float]:
    weights = np.log1p(np.maximum(table()[ids].max(axis=0), 0))
    return {id: pytest.approx(weight, rel=1e-6) for id, weight in enumerate(weights.tolist()) if weight > 0}


class TestMasked:
    def test_weights_are_the_largest_saturated_logits(self) -> None:
        embedder = masked()
        assert isinstance(embedder, SparseEmbedder)
        ids = embedder._engine().encode("red apple")
        ((vector,), usage) = embedder.embed_many(["red apple"])
        assert vector == expected(ids)
        assert (usage.tokens, usage.windowed, embedder.count_tokens("red apple")) == (len(ids), 0, len(ids))

    def test_padding_does_not_show(self) -> None:
        texts = ["red", "red apple and one green pear", "plum " * 30, ""]
        together = masked().embed_many(texts).vectors
        assert list(together) == [masked().embed_many([text]).vectors[0] for text in texts]

    def test_long_input_is_windowed(self) -> None:
        embedder = masked(max_input_tokens=12)
        text = " ".join(["red apple pear plum"] * 10 + ["zebra"])
        (vector,), usage = embedder.embed_many([text])
        assert usage.windowed == 1
        assert vector == expected(embedder._engine().encode(text))

    def test_only_the_largest_are_kept(self) -> None:
        (every,) = masked().embed_many(["red apple"]).vectors
        (few,) = masked(most=3).embed_many(["red apple"]).vectors
        assert few == dict(sorted(every.items(), key=lambda item: -item[1])[:3])
        (heavy,) = masked(least=0.5).embed_many(["red apple"]).vectors
        assert heavy == {id: weight for id, weight in every.items() if weight > 0.5}
        assert masked(most=3).space != masked().space

    def test_broken_models_are_named(self) -> None:
        with pytest.raises(ConfigError, match="wide"):
            masked(vocabulary=WIDTH + 1).embed_many(["x"])
        with pytest.raises(ConfigError, match="most"):
            masked(most=0)
        broken = MaskedSparseEmbedder(
            model(np.full((VOCABULARY, WIDTH), np.nan, np.float32)), TOKENIZER, name="n", vocabulary=WIDTH
        )
        assert broken.embed_many(["x"]).vectors == [{}]


@pytest.mark.parametrize(
    "row", [{-1: 1.0}, {99: 1.0}, {1: -0.5}, {1: float("inf")}, {1: float("nan")}, {"a": 1.0}, [1.0]]
)
def test_unusable_weights_are_refused(row: Any) -> None:
    with pytest.raises(EmbeddingError, match="text 2"):
        check_sparse([{1: 1.0}, row], 2, 99)


def test_checked_weights_leave_zeros_out() -> None:
    assert check_sparse([{1: 0.0, 2: 3}], 1, 99) == [{2: 3.0}]
    with pytest.raises(EmbeddingError, match="2 were expected"):
        check_sparse([{}], 2, 99)
