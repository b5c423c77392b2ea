"""Native rerank endpoints by client and by HTTP, and cross-encoders on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from florilege import ConfigError, ModelError, Recipe
from florilege.retrieval import rerank, rerankers, retrieve
from tests.models.conftest import Server
from tests.retrieval.making import make_hit, make_source, names

PASSAGES = ["about wood", "about the harp", "harp harp harp"]


def scored(body: dict[str, Any]) -> list[dict[str, Any]]:
    """What a rerank model would say: how often the passage says harp; best first."""
    rows = [{"index": n, "relevance_score": text.count("harp") / 10} for n, text in enumerate(body["documents"])]
    return sorted(rows, key=lambda row: -row["relevance_score"])[: body["top_n"]]


@pytest.mark.parametrize("kind", ["ClientV2", "AsyncClientV2"])
def test_cohere_through_its_library(server: Server, kind: str) -> None:
    cohere = pytest.importorskip("cohere")
    server.answers["/v2/rerank"] = lambda body: {
        "id": "1",
        "results": scored(body),
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
    }
    client = getattr(cohere, kind)(api_key="key", base_url=server.url)
    engine = rerankers.native(name="cohere-reranker", model="rerank-v3.5", client=client)
    ranking = engine.rerank("harp", PASSAGES)
    assert [(item.index, item.score) for item in ranking.scores] == [(2, 0.3), (1, 0.1), (0, 0.0)]
    _, headers, body = server.requests[0]
    assert headers["authorization"] == "Bearer key"
    assert (body["model"], body["query"], body["documents"]) == ("rerank-v3.5", "harp", PASSAGES)
    assert ranking.usage.calls == 1


def test_jina_style_by_http(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers["/v1/rerank"] = lambda body: {
        "model": body["model"],
        "usage": {"total_tokens": 57},
        "results": [{**row, "document": {"text": "x"}} for row in scored(body)],
    }
    monkeypatch.setenv("JINA_KEY", "secret")
    engine = rerankers.native(name="jina", model="reranker-v2", url=f"{server.url}/v1/rerank", api_key_env="JINA_KEY")
    hits = [make_hit(f"s{n}", text, score=-n) for n, text in enumerate(PASSAGES)]
    steps = [retrieve(), rerank(engine=engine, top_k=2)]
    run = Recipe(id="r", retriever=make_source("docs", hits), steps=steps).retrieve_with_trace("harp")
    assert names(run.hits) == ["s2", "s1"]
    assert run.trace.usage.tokens == 57
    assert server.requests[0][1]["authorization"] == "Bearer secret"
    assert engine.rerank("q", []).scores == ()


@pytest.mark.parametrize(("status", "retryable"), [(401, False), (429, True), (503, True)])
def test_http_errors(server: Server, status: int, retryable: bool) -> None:
    server.answers["/rerank"] = lambda body: (status, {"detail": body["query"]})
    engine = rerankers.native(name="n", model="m", url=f"{server.url}/rerank")
    with pytest.raises(ModelError, match=str(status)) as caught:
        engine.rerank("private question", PASSAGES)
    assert caught.value.retryable is retryable
    assert "private" not in str(caught.value)


@pytest.mark.parametrize(
    "answer", [{}, {"results": [{"index": 0}]}, {"results": [{"index": 0, "relevance_score": "x"}]}, []]
)
def test_answers_of_another_shape(server: Server, answer: Any) -> None:
    server.answers["/rerank"] = lambda body: answer if answer else (200, {"nothing": 1})
    with pytest.raises(ModelError):
        rerankers.native(name="n", model="m", url=f"{server.url}/rerank").rerank("q", PASSAGES)


def test_numbers_out_of_range_choose_nobody(server: Server) -> None:
    rows = [
        {"index": -1, "relevance_score": 0.9},
        {"index": 3, "relevance_score": 0.8},
        {"index": 1, "relevance_score": 0.1},
    ]
    server.answers["/rerank"] = lambda body: {"results": rows}
    hits = [make_hit(f"s{n}", text, score=-n) for n, text in enumerate(PASSAGES)]
    steps = [retrieve(), rerank(engine=rerankers.native(name="n", model="m", url=f"{server.url}/rerank"))]
    run = Recipe(id="r", retriever=make_source("docs", hits), steps=steps).retrieve_with_trace("harp")
    assert names(run.hits) == ["s1", "s0", "s2"]
    assert len(run.trace.warnings) == 3


def test_wrong_options() -> None:
    for options in (
        {},
        {"url": "ftp://x"},
        {"url": "http://x", "client": object()},
        {"url": "http://x", "api_key_env": "NO_SUCH_KEY"},
    ):
        with pytest.raises(ConfigError):
            rerankers.native(name="n", model="m", **options)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no file"):
        rerankers.onnx(name="o", model="nothing.onnx", tokenizer="nothing.json")
    with pytest.raises(ConfigError, match="predict"):
        rerankers.cross_encoder(name="c", model=object())


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An ONNX model that scores a pair by how many of the passage's tokens are the word "harp", and its tokenizer."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("encoder")
    words = ["[UNK]", "[CLS]", "[SEP]", "harp", "wood", "about", "the"]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    nodes = [
        helper.make_node("Equal", ["input_ids", "harp"], ["same"]),
        helper.make_node("Cast", ["same"], ["is_harp"], to=TensorProto.INT64),
        helper.make_node("Mul", ["is_harp", "token_type_ids"], ["in_passage"]),
        helper.make_node("Mul", ["in_passage", "attention_mask"], ["seen"]),
        helper.make_node("ReduceSum", ["seen", "axis"], ["count"], keepdims=1),
        helper.make_node("Cast", ["count"], ["logits"], to=TensorProto.FLOAT),
    ]
    constants = [
        helper.make_tensor("harp", TensorProto.INT64, [], [3]),
        helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])
    graph = helper.make_graph(nodes, "harps", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))
    return folder / "model.onnx", folder / "tokenizer.json"


def test_an_onnx_cross_encoder(encoder: tuple[Path, Path]) -> None:
    engine = rerankers.onnx(name="harps", model=encoder[0], tokenizer=encoder[1], batch=2)
    ranking = engine.rerank("harp harp harp harp", PASSAGES)
    assert {item.index: item.score for item in ranking.scores} == {0: 0.0, 1: 1.0, 2: 3.0}
    assert ranking.usage.texts == 3
    assert engine.rerank("harp", []).scores == []


def test_a_long_pair_loses_the_end_of_its_passage(encoder: tuple[Path, Path]) -> None:
    engine = rerankers.onnx(name="harps", model=encoder[0], tokenizer=encoder[1], max_tokens=8)
    ranking = engine.rerank("about the", ["harp " * 20])
    assert ranking.scores[0].score == 3.0


def test_a_file_that_is_no_model(tmp_path: Path, encoder: tuple[Path, Path]) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"nothing")
    with pytest.raises(ModelError, match="cannot be loaded"):
        rerankers.onnx(name="b", model=broken, tokenizer=encoder[1]).rerank("q", PASSAGES)


class Predicting:
    """What a cross-encoder of sentence-transformers looks like from outside."""

    def predict(self, pairs: list[tuple[str, str]], batch_size: int, show_progress_bar: bool) -> list[float]:
        assert show_progress_bar is False
        return [float(passage.count("harp")) for _, passage in pairs]


def test_a_cross_encoder_object() -> None:
    ranking = rerankers.cross_encoder(name="ce", model=Predicting()).rerank("harp", PASSAGES)
    assert [(item.index, item.score) for item in ranking.scores] == [(0, 0.0), (1, 1.0), (2, 3.0)]


def test_sentence_transformers_itself(tmp_path: Path) -> None:
    """Through the library, where it is installed: a tiny model with random weights scores every passage."""
    library = pytest.importorskip("sentence_transformers")
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "harp", "wood", "about", "the"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(str(tmp_path))
    config = BertConfig(
        vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, num_labels=1
    )
    BertForSequenceClassification(config).save_pretrained(str(tmp_path))
    engine = rerankers.cross_encoder(name="tiny", model=str(tmp_path))
    expected = library.CrossEncoder(str(tmp_path)).predict([("harp", passage) for passage in PASSAGES])
    ranking = engine.rerank("harp", PASSAGES)
    assert [item.score for item in ranking.scores] == pytest.approx([float(value) for value in expected], rel=1e-4)
