"""Functions and objects as models, and structured answers with one repair."""

from __future__ import annotations

from typing import Any

import pytest

from florilege import ConfigError, ModelError
from florilege.interfaces import Generation
from florilege.models import as_model, field_of, from_function, json_of, structured
from florilege.testing import FakeModel, RecordingModel

ASK = [{"role": "user", "content": "hi"}]


def test_functions_of_one_and_two_arguments() -> None:
    assert from_function(lambda messages: "one").generate(ASK).text == "one"
    assert from_function(lambda messages, schema: str(schema)).generate(ASK, {"a": 1}).text == "{'a': 1}"
    assert from_function(lambda messages: {"a": 1}).generate(ASK).parsed == {"a": 1}


def test_async_models_are_awaited() -> None:
    class Model:
        name = "async"

        async def generate(self, messages: Any, schema: Any = None) -> Generation:
            return Generation(text="late")

    assert as_model(Model()).generate(ASK).text == "late"


def test_failures_are_model_errors_without_the_prompt() -> None:
    def fail(messages: Any) -> str:
        raise TimeoutError(messages[0]["content"])

    with pytest.raises(ModelError, match="'fail'") as caught:
        from_function(fail).generate(ASK)
    assert caught.value.retryable
    assert "hi" not in str(caught.value).split("'fail'")[1]
    with pytest.raises(ModelError, match="int"):
        from_function(lambda messages: 3).generate(ASK)


@pytest.mark.parametrize("value", [3, "openai:x", None, FakeModel])
def test_what_is_no_model(value: Any) -> None:
    with pytest.raises(ConfigError):
        as_model(value)


@pytest.mark.parametrize(
    "text", ['{"a": 1}', 'Sure!\n```json\n{"a": 1}\n```\nDone.', 'I say {"a": 1} and more {"a": 2}', '```\n{"a": 1}```']
)
def test_json_is_found_in_text(text: str) -> None:
    assert json_of(Generation(text=text)) == {"a": 1}


@pytest.mark.parametrize("text", ["", "none", "{broken", "{'a': 1}"])
def test_where_there_is_none(text: str) -> None:
    with pytest.raises(ValueError):
        json_of(Generation(text=text))


def test_one_repair_and_no_more() -> None:
    def read(generation: Generation) -> int:
        return field_of(json_of(generation), "n", int)

    model = FakeModel(["nothing", {"n": 3}])
    assert structured(model.generate, ASK, {}, read) == 3
    assert model.calls == 2
    model = FakeModel({"n": True})
    with pytest.raises(ModelError) as caught:
        structured(model.generate, ASK, {}, read)
    assert (caught.value.code, model.calls) == ("bad_output", 2)


def test_recorded_answers_are_given_again() -> None:
    recorder = RecordingModel(FakeModel(["one", "two"]))
    answers = [recorder.generate(ASK).text for _ in range(2)]
    replayed = recorder.replayed()
    assert [replayed.generate(ASK).text for _ in range(2)] == answers == ["one", "two"]
