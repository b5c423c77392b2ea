"""The OpenAI adapter through the vendor's library."""

from __future__ import annotations

import json
from typing import Any

import pytest

from florilege import ConfigError, EmbeddingError, ModelError, Recipe
from florilege.models import Price, named_model, openai
from florilege.retrieval import fanout, rerank, retrieve
from florilege.vendors import client as made_client
from tests.models.conftest import Server, completion
from tests.retrieval.making import make_hit, make_source, names

sdk = pytest.importorskip("openai")
CHAT, EMBED = "/v1/chat/completions", "/v1/embeddings"
ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello?"}]
SCHEMA = {"type": "object", "properties": {"queries": {"type": "array", "items": {"type": "string"}}}}


def client(server: Server, kind: str = "OpenAI") -> Any:
    return getattr(sdk, kind)(base_url=f"{server.url}/v1", api_key="key", max_retries=0)


@pytest.mark.parametrize("kind", ["OpenAI", "AsyncOpenAI"])
def test_generate(server: Server, kind: str) -> None:
    server.answers[CHAT] = lambda body: completion("Hi.")
    answer = openai(client(server, kind), model="small", price=Price(1.0, 10.0)).generate(ASK)
    assert (answer.text, answer.parsed) == ("Hi.", None)
    assert (answer.usage.calls, answer.usage.tokens, answer.usage.currency) == (1, 120, "USD")
    assert answer.usage.cost == pytest.approx(0.0003)
    _, headers, body = server.requests[0]
    assert headers["authorization"] == "Bearer key"
    assert (body["model"], body["messages"]) == ("small", ASK)
    assert "response_format" not in body


@pytest.mark.parametrize(
    ("structure", "kind"), [("json_schema", "json_schema"), ("json_object", "json_object"), ("none", None)]
)
def test_structure_is_asked_for_as_the_server_understands_it(server: Server, structure: Any, kind: str | None) -> None:
    server.answers[CHAT] = lambda body: completion('{"queries": ["a"]}')
    answer = openai(client(server), model="small", structure=structure).generate(ASK, SCHEMA)
    assert answer.parsed == {"queries": ["a"]}
    asked = server.requests[0][2].get("response_format")
    assert (asked and asked["type"]) == kind
    if kind == "json_schema":
        assert asked["json_schema"]["schema"] == SCHEMA


def test_text_that_is_no_json_is_left_to_the_caller(server: Server) -> None:
    server.answers[CHAT] = lambda body: completion("1. a\n2. b")
    answer = openai(client(server), model="small").generate(ASK, SCHEMA)
    assert (answer.text, answer.parsed) == ("1. a\n2. b", None)


def test_stream(server: Server) -> None:
    def events(body: dict[str, Any]) -> list[str]:
        assert body["stream"] is True
        chunks = [
            {
                "id": "1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "small",
                "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}],
            }
            for piece in ("Hel", "lo")
        ]
        return [*(f"data: {json.dumps(chunk)}\n" for chunk in chunks), "data: [DONE]\n"]

    server.answers[CHAT] = events
    assert list(openai(client(server), model="small").stream(ASK)) == ["Hel", "lo"]


@pytest.mark.parametrize(("status", "retryable"), [(400, False), (401, False), (429, True), (500, True)])
def test_errors_are_translated_and_repeat_no_prompt(server: Server, status: int, retryable: bool) -> None:
    server.answers[CHAT] = lambda body: (status, {"error": {"message": body["messages"][1]["content"], "type": "x"}})
    with pytest.raises(ModelError) as caught:
        openai(client(server), model="small").generate(ASK)
    assert caught.value.retryable is retryable
    assert str(status) in str(caught.value)
    assert "Hello?" not in str(caught.value)


def test_a_server_that_is_not_there(server: Server) -> None:
    away = sdk.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="key", max_retries=0)
    with pytest.raises(ModelError, match=r"'small' at 127\.0\.0\.1:9 failed") as caught:
        openai(away, model="small").generate(ASK)
    assert caught.value.retryable


def test_embeddings(server: Server) -> None:
    def embed(body: dict[str, Any]) -> dict[str, Any]:
        rows = [{"object": "embedding", "index": n, "embedding": [3.0, 4.0]} for n in range(len(body["input"]))]
        return {"object": "list", "data": rows[::-1], "model": "e", "usage": {"prompt_tokens": 5, "total_tokens": 5}}

    server.answers[EMBED] = embed
    embedder = openai(client(server)).embedding("e", dimensions=2, max_batch=2)
    vectors, usage = embedder.embed_many(["a", "b", "c"])
    assert vectors.shape == (3, 2)
    assert vectors[0].tolist() == pytest.approx([0.6, 0.8])
    assert (usage.texts, usage.calls, usage.tokens) == (3, 2, 10)
    assert embedder.space.identity.startswith("e/2/")
    with pytest.raises(EmbeddingError, match=r"\(1, 3\) was expected"):
        openai(client(server)).embedding("e", dimensions=3).embed_many(["a"])


def test_a_recipe_over_the_adapter(server: Server) -> None:
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        judged = "grades" in json.dumps(body["response_format"])
        value = (
            {"grades": [{"passage": 2, "grade": 9}, {"passage": 1, "grade": 1}]} if judged else {"queries": ["more"]}
        )
        return completion(json.dumps(value))

    server.answers[CHAT] = answer
    adapter = openai(client(server))
    recipe = Recipe(
        id="r",
        retriever=make_source("docs", [make_hit("a", score=2.0), make_hit("b", score=1.0)]),
        model=adapter.retrieval_model("small"),
        steps=[fanout(), retrieve(), rerank(engine=adapter.reranker(name="judge", model="large"))],
    )
    run = recipe.retrieve_with_trace("q")
    assert names(run.hits) == ["b", "a"]
    assert [body["model"] for _, _, body in server.requests] == ["small", "large"]
    assert run.trace.usage.tokens == 240


def test_models_by_name(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers[CHAT] = lambda body: completion(body["model"])
    monkeypatch.setenv("MY_KEY", "secret")
    model = named_model("openai:tiny", base_url=f"{server.url}/v1", api_key_env="MY_KEY")
    assert model.generate(ASK).text == "tiny"
    assert server.requests[0][1]["authorization"] == "Bearer secret"
    monkeypatch.setenv("OPENAI_API_KEY", "env")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    assert named_model("openai:tiny").generate(ASK).text == "tiny"
    for wrong in ("openai", "openai:", "gemini:x", "tiny"):
        with pytest.raises(ConfigError, match="openai:NAME"):
            named_model(wrong)
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set") as caught:
        named_model("openai:tiny")
    assert caught.value.code == "missing_secret"
    with pytest.raises(ConfigError, match="NO_SUCH_KEY"):
        named_model("openai:tiny", api_key_env="NO_SUCH_KEY")


def test_a_client_that_wants_more_than_a_key_is_no_missing_secret() -> None:
    with pytest.raises(ConfigError, match="json: no client could be made: TypeError") as caught:
        made_client("json", "JSONDecoder", "NO_SUCH_KEY", {"api_key": "given"})
    assert caught.value.code == "bad_option"


def test_a_model_must_be_named(server: Server) -> None:
    with pytest.raises(ConfigError, match="no model named"):
        openai(client(server)).generate(ASK)
