"""Tools for models: shapes, limits, and no way around the floor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import florilege
from florilege import ConfigError, Document, F, Recipe
from florilege.corpus import Corpus
from florilege.retrieval import Tool, retrieve


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    with florilege.open(tmp_path / "s", dense=None) as corpus:
        corpus.sync(
            [
                Document(source_id="a", content="apples red", metadata={"public": True, "year": 2024}, title="A"),
                Document(source_id="b", content="apples green", metadata={"public": True, "year": 2023}),
                Document(source_id="secret", content="apples black", metadata={"public": False, "year": 2024}),
            ]
        )
        yield corpus


@pytest.fixture
def tools(corpus: Corpus) -> dict[str, Tool]:
    recipe = Recipe(id="docs", retriever=corpus.retriever(filter=F("public") == True), steps=[retrieve()])  # noqa: E712
    made = recipe.as_tools(prefix="docs", include=["search", "get_source"], max_limit=5, filters=["year"], max_chars=8)
    return {tool.name: tool for tool in made}


def test_names_and_shapes(tools: dict[str, Tool], corpus: Corpus) -> None:
    assert list(tools) == ["docs_search", "docs_get_source"]
    search = tools["docs_search"]
    assert (
        search.openai()["function"]["parameters"] == search.anthropic()["input_schema"] == search.mcp()["inputSchema"]
    )
    assert search.openai()["type"] == "function"
    assert search.parameters["required"] == ["query"]
    assert search.parameters["properties"]["limit"]["maximum"] == 5
    json.dumps(search.openai())
    assert [tool.name for tool in corpus.retriever().as_tools()] == ["search"]
    assert "filter" not in corpus.retriever().as_tools()[0].parameters["properties"]


def test_search_stays_above_the_floor(tools: dict[str, Tool]) -> None:
    hits = tools["docs_search"](query="apples")["hits"]
    assert {hit["source_id"] for hit in hits} == {"a", "b"}
    assert {"chunk_id", "text", "score", "trust"} <= hits[0].keys()
    hits = tools["docs_search"](query="apples", filter={"year": {"ge": 2024}})["hits"]
    assert [hit["source_id"] for hit in hits] == ["a"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": 3},
        {"query": "x", "limit": 6},
        {"query": "x", "limit": True},
        {"query": "x", "k": 3},
        {"query": "x", "filter": {"public": False}},
        {"query": "x", "filter": {"or": [{"year": 2024}, {"public": False}]}},
        {"query": "x", "filter": {"year": {"like": 1}}},
        {"query": "x", "namespace": "other"},
    ],
)
def test_wrong_arguments_are_told_and_do_nothing(tools: dict[str, Tool], arguments: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        tools["docs_search"](**arguments)
    assert "error" in json.loads(tools["docs_search"].answer(arguments))


def test_sources_are_read_in_pieces_and_only_those_allowed(tools: dict[str, Tool]) -> None:
    read = tools["docs_get_source"]
    first = read(source_id="a")
    assert (first["text"], first["start"], first["end"], first["length"]) == ("apples r", 0, 8, 10)
    assert read(source_id="a", start=8)["text"] == "ed"
    hidden = json.loads(read.answer({"source_id": "secret"}))
    absent = json.loads(read.answer({"source_id": "nothing"}))
    assert hidden["error"]["code"] == absent["error"]["code"] == "not_found"
    assert hidden["error"]["message"].replace("secret", "nothing") == absent["error"]["message"]
    assert "error" in json.loads(read.answer({"source_id": "a", "namespace": "other"}))
    assert "error" in json.loads(read.answer("not json"))
    assert "error" in json.loads(read.answer("[]"))


def test_unknown_tools_are_refused(corpus: Corpus) -> None:
    with pytest.raises(ConfigError, match="delete"):
        corpus.retriever().as_tools(include=["delete"])
    with pytest.raises(ConfigError, match="max_limit"):
        corpus.retriever().as_tools(max_limit=0)
