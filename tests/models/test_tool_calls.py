"""Retrieval tools as vendors' libraries take them: offered, called by a model, answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from florilege.retrieval import Tool
from tests.models.conftest import Server, completion, message
from tests.retrieval.making import make_hit, make_source


@pytest.fixture
def search() -> Tool:
    (tool,) = make_source("docs", [make_hit("returns.md", "Harps come back within 30 days.")]).as_tools(prefix="docs")
    return tool


def test_openai_offers_and_calls_them(server: Server, search: Tool) -> None:
    sdk = pytest.importorskip("openai")

    def model(body: dict[str, Any]) -> dict[str, Any]:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return completion(json.loads(last["content"])["hits"][0]["text"])
        offered = body["tools"][0]["function"]
        assert "query" in offered["parameters"]["properties"]
        answer = completion("")
        call = {"name": offered["name"], "arguments": '{"query": "return a harp", "limit": 1}'}
        answer["choices"][0]["message"]["tool_calls"] = [{"id": "call_1", "type": "function", "function": call}]
        return answer

    server.answers["/v1/chat/completions"] = model
    client = sdk.OpenAI(base_url=f"{server.url}/v1", api_key="key", max_retries=0)
    messages: list[Any] = [{"role": "user", "content": "May I return a harp?"}]
    turn = client.chat.completions.create(model="m", messages=messages, tools=[search.openai()]).choices[0].message
    (call,) = turn.tool_calls
    assert call.function.name == search.name == "docs_search"
    told = {"role": "tool", "tool_call_id": call.id, "content": search.answer(call.function.arguments)}
    final = client.chat.completions.create(model="m", messages=[*messages, turn, told], tools=[search.openai()])
    assert final.choices[0].message.content == "Harps come back within 30 days."


def test_anthropic_offers_and_calls_them(server: Server, search: Tool) -> None:
    sdk = pytest.importorskip("anthropic")

    def model(body: dict[str, Any]) -> dict[str, Any]:
        last = body["messages"][-1]["content"]
        if isinstance(last, list):
            return message({"type": "text", "text": json.loads(last[0]["content"])["hits"][0]["text"]})
        offered = body["tools"][0]
        assert "query" in offered["input_schema"]["properties"]
        return message({"type": "tool_use", "id": "t", "name": offered["name"], "input": {"query": "return a harp"}})

    server.answers["/v1/messages"] = model
    client = sdk.Anthropic(base_url=server.url, api_key="key", max_retries=0)
    messages: list[Any] = [{"role": "user", "content": "May I return a harp?"}]
    turn = client.messages.create(model="m", max_tokens=99, messages=messages, tools=[search.anthropic()])
    (block,) = turn.content
    told = {"type": "tool_result", "tool_use_id": block.id, "content": search.answer(block.input)}
    messages += [{"role": "assistant", "content": turn.content}, {"role": "user", "content": [told]}]
    final = client.messages.create(model="m", max_tokens=99, messages=messages, tools=[search.anthropic()])
    assert final.content[0].text == "Harps come back within 30 days."
