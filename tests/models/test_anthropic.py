"""The Anthropic adapter through the vendor's library."""

from __future__ import annotations

import json
from typing import Any

import pytest

from florilege import ModelError
from florilege.models import Price, anthropic, named_model
from tests.models.conftest import Server, message

sdk = pytest.importorskip("anthropic")
PATH = "/v1/messages"
ASK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello?"},
    {"role": "user", "content": "Anyone?"},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "Good."},
]
SCHEMA = {"type": "object", "properties": {"queries": {"type": "array"}}}


def client(server: Server, kind: str = "Anthropic") -> Any:
    return getattr(sdk, kind)(base_url=server.url, api_key="key", max_retries=0)


@pytest.mark.parametrize("kind", ["Anthropic", "AsyncAnthropic"])
def test_generate(server: Server, kind: str) -> None:
    server.answers[PATH] = lambda body: message({"type": "text", "text": "Hi."})
    answer = anthropic(client(server, kind), model="small", max_tokens=99, price=Price(1, 2)).generate(ASK)
    assert (answer.text, answer.parsed, answer.usage.tokens) == ("Hi.", None, 42)
    assert answer.usage.cost == pytest.approx(54e-6)
    _, headers, body = server.requests[0]
    assert "key" in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer "))
    assert (body["system"], body["max_tokens"]) == ("Be brief.", 99)
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][0]["content"] == "Hello?\n\nAnyone?"


def test_structure_comes_by_a_tool(server: Server) -> None:
    block = {"type": "tool_use", "id": "t", "name": "answer", "input": {"queries": ["a"]}}
    server.answers[PATH] = lambda body: message(block)
    answer = anthropic(client(server), model="small").generate(ASK, SCHEMA)
    assert answer.parsed == {"queries": ["a"]}
    assert json.loads(answer.text) == {"queries": ["a"]}
    body = server.requests[0][2]
    assert body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert body["tools"][0]["input_schema"] == SCHEMA


def test_stream(server: Server) -> None:
    def events(body: dict[str, Any]) -> list[str]:
        assert body["stream"] is True
        start = message()
        told: list[tuple[str, dict[str, Any]]] = [
            ("message_start", {"message": {**start, "stop_reason": None}}),
            ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
            *(
                ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": piece}})
                for piece in ("Hel", "lo")
            ),
            ("content_block_stop", {"index": 0}),
            (
                "message_delta",
                {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 2}},
            ),
            ("message_stop", {}),
        ]
        return [f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n" for kind, data in told]

    server.answers[PATH] = events
    assert list(anthropic(client(server), model="small").stream(ASK)) == ["Hel", "lo"]


@pytest.mark.parametrize(("status", "retryable"), [(400, False), (429, True), (529, True)])
def test_errors_are_translated(server: Server, status: int, retryable: bool) -> None:
    server.answers[PATH] = lambda body: (status, {"type": "error", "error": {"type": "x", "message": "Hello?"}})
    with pytest.raises(ModelError) as caught:
        anthropic(client(server), model="small").generate(ASK)
    assert caught.value.retryable is retryable
    assert "Hello?" not in str(caught.value)


def test_judge_and_name(server: Server) -> None:
    block = {"type": "tool_use", "id": "t", "name": "answer", "input": {"grades": [{"passage": 2, "grade": 7}]}}
    server.answers[PATH] = lambda body: message(block)
    ranking = anthropic(client(server)).reranker(name="judge", model="small").rerank("q", ["a", "b"])
    assert [(item.index, item.score) for item in ranking.scores] == [(1, 7.0)]
    assert ranking.usage.tokens == 42


def test_models_by_name(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers[PATH] = lambda body: message({"type": "text", "text": body["model"]})
    monkeypatch.setenv("ANTHROPIC_API_KEY", "env")
    assert named_model("anthropic:tiny", base_url=server.url).generate(ASK).text == "tiny"
