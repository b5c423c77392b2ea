"""Asking from the command line: recipes, traces, answers with and without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import florilege
from florilege.apps.cli import main
from florilege.config import load_config
from florilege.retrieval import read_trace
from tests.models.conftest import Server, server

__all__ = ["server"]

RECIPES = """
[corpus]
dense = "none"

[recipes.short]
steps = [
  { use = "retrieve", limit = 5 },
  { use = "rerank", engine = { use = "lexical" }, top_k = 2 },
  { use = "compress_to_budget", tokens = 60 },
]

[recipes.broken]
steps = [{ use = "dedupe" }]
"""


@pytest.fixture
def asked(project: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """The project with recipes, synced; calls a command and gives code, output and errors."""
    (project / "florilege.toml").write_text(RECIPES, encoding="utf-8")

    def run(*argv: str) -> tuple[int, str, str]:
        code = main(argv)
        out, err = capsys.readouterr()
        return code, out, err

    assert run("sync", "docs")[0] == 0
    return run


def test_a_recipe_answers(asked: Any) -> None:
    code, out, _ = asked("search", "when are refunds paid", "--recipe", "short")
    assert code == 0
    assert "docs/refunds.md" in out.splitlines()[0]


def test_trace_and_explain(asked: Any) -> None:
    code, out, _ = asked("search", "refunds paid", "--recipe", "short", "--trace", "--explain")
    assert code == 0
    lines = out.splitlines()
    assert [line.split()[0] for line in lines if " ms " in line] == ["retrieve", "rerank", "compress_to_budget"]
    assert "retrieve: found at rank 1" in out
    assert "rerank: stays at rank 1" in out
    code, out, _ = asked("search", "refunds", "--recipe", "short", "--trace", "--explain", "--json")
    told = json.loads(out)
    assert [step["step_id"] for step in told["trace"]["steps"]] == ["retrieve", "rerank", "compress_to_budget"]
    assert told["hits"][0]["explain"][0].startswith("retrieve: found")
    code, out, _ = asked("search", "refunds", "--trace")
    assert "retrieve" in out.splitlines()[0]


def test_a_printed_trace_can_be_run_again(asked: Any, project: Path) -> None:
    argv = ("search", "when are refunds paid", "--recipe", "short", "--filter", "year >= 2020", "--trace", "--json")
    told = json.loads(asked(*argv)[1])
    trace = read_trace(json.dumps(told["trace"]))
    with florilege.open(project / ".florilege", dense=None) as corpus:
        run = load_config(project).recipe("short", corpus).replay(trace)
    assert [hit.chunk_id for hit in run.hits] == [hit["chunk_id"] for hit in told["hits"]]
    assert run.hits


def test_recipes_that_are_not_there_or_wrong(asked: Any) -> None:
    code, _, err = asked("search", "x", "--recipe", "shrt")
    assert (code, "did you mean 'short'" in err) == (3, True)
    code, _, err = asked("search", "x", "--recipe", "broken")
    assert (code, "steps[0]" in err) == (3, True)


@pytest.mark.parametrize("option", ["--limit", "--sentences", "--timeout"])
@pytest.mark.parametrize("value", ["0", "-1", "a", "1e999"])
def test_options_of_a_wrong_kind_are_refused_at_once(
    option: str, value: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["ask", "x", f"{option}={value}"])
    assert caught.value.code == 2
    assert f"argument {option}: must be a " in capsys.readouterr().err


def test_an_extractive_answer_needs_no_model(asked: Any) -> None:
    code, out, _ = asked("ask", "when are refunds paid", "--sentences", "1")
    assert code == 0
    assert out.splitlines()[0] == "“Refunds are paid within fourteen days.” [1]"
    assert "[1] docs/refunds.md" in out
    code, out, _ = asked("ask", "when are refunds paid", "--recipe", "short", "--json")
    told = json.loads(out)
    assert told["extractive"]
    assert {item["verdict"] for item in told["citations"]} == {"exact"}
    assert asked("ask", "zebra crossings")[1].startswith("no answer")


def test_a_model_answers_and_is_checked(asked: Any, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")

    def completion(body: dict[str, Any]) -> dict[str, Any]:
        value = {
            "answer": "Within fourteen days [1].",
            "answerable": True,
            "citations": [{"evidence": 1, "quote": quote}],
        }
        message = {"role": "assistant", "content": json.dumps(value)}
        return {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }

    server.answers["/v1/chat/completions"] = completion
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    quote = "Refunds are paid within fourteen days."
    code, out, _ = asked("ask", "when are refunds paid", "--model", "openai:small")
    assert code == 0
    assert out.splitlines()[0] == "Within fourteen days [1]."
    assert "“Refunds are paid within fourteen days.” (exact)" in out
    quote = "Refunds are paid within ninety days."
    code, out, err = asked("ask", "when are refunds paid", "--model", "openai:small")
    assert (code, out) == (1, "")
    assert "does not hold" in err
    code, _, err = asked("ask", "x", "--model", "nobody")
    assert (code, "no model 'nobody'" in err) == (3, True)
