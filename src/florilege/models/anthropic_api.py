"""The Anthropic API through the vendor's library."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from florilege.concurrency import resolve
from florilege.interfaces.models import Generation, Message
from florilege.models.calling import CheckedModel
from florilege.models.judge import JudgeReranker
from florilege.models.vendor import Price, called, named, translated, usage_of
from florilege.vendors import client as made_client

_TOOL = "answer"


class AnthropicAdapter:
    """See :func:`anthropic`."""

    def __init__(self, client: Any, model: str | None, max_tokens: int, price: Price | None) -> None:
        self.client = made_client("anthropic", "Anthropic", "ANTHROPIC_API_KEY", {}) if client is None else client
        self.model = model
        self.max_tokens = max_tokens
        self.price = price

    def generate(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None, *, model: str | None = None
    ) -> Generation:
        """One message. With ``schema`` the model is made to call a tool of that input, which is ``parsed``."""
        chosen = named(model, self.model, "anthropic")
        options = self._options(messages)
        if schema is not None:
            options["tools"] = [{"name": _TOOL, "description": "Give the answer.", "input_schema": dict(schema)}]
            options["tool_choice"] = {"type": "tool", "name": _TOOL}
        with translated(called("anthropic", chosen, self.client)):
            answer = resolve(self.client.messages.create(model=chosen, **options))
            parsed = next((block.input for block in answer.content if block.type == "tool_use"), None)
            text = "".join(block.text for block in answer.content if block.type == "text")
            usage = usage_of(answer.usage.input_tokens, answer.usage.output_tokens, self.price)
        if parsed is not None and not text:
            text = json.dumps(parsed, ensure_ascii=False)
        return Generation(text=text, parsed=parsed, usage=usage)

    def stream(self, messages: Sequence[Message], *, model: str | None = None) -> Iterator[str]:
        """The message's text in pieces as they come. Needs a synchronous client."""
        chosen = named(model, self.model, "anthropic")
        with (
            translated(called("anthropic", chosen, self.client)),
            self.client.messages.stream(model=chosen, **self._options(messages)) as stream,
        ):
            yield from stream.text_stream

    def retrieval_model(self, model: str | None = None) -> CheckedModel:
        """A model for recipes, bound to ``model``."""
        chosen = named(model, self.model, "anthropic")
        return CheckedModel(
            lambda messages, schema: self.generate(messages, schema, model=chosen), f"anthropic:{chosen}"
        )

    def reranker(self, *, name: str, model: str | None = None, batch: int = 20) -> JudgeReranker:
        """A judge over ``model``: it spends generation tokens."""
        return JudgeReranker(name=name, model=self.retrieval_model(model), batch=batch)

    def _options(self, messages: Sequence[Message]) -> dict[str, Any]:
        """System messages go apart; neighbours of one role become one, since turns must alternate."""
        system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
        turns: list[dict[str, str]] = []
        for message in messages:
            if message["role"] == "system":
                continue
            if turns and turns[-1]["role"] == message["role"]:
                turns[-1]["content"] += f"\n\n{message['content']}"
            else:
                turns.append(dict(message))
        options: dict[str, Any] = {"max_tokens": self.max_tokens, "messages": turns}
        return {**options, "system": system} if system else options


def anthropic(
    client: Any = None, *, model: str | None = None, max_tokens: int = 2048, price: Price | None = None
) -> AnthropicAdapter:
    """An adapter over ``client``, an ``anthropic.Anthropic`` or ``AsyncAnthropic`` (None: made from the environment).

    ``max_tokens`` bounds each answer. ``price`` puts costs into usage.
    """
    return AnthropicAdapter(client, model, max_tokens, price)
