"""The OpenAI API, and every server that speaks it, through the vendor's library."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from florilege.concurrency import resolve
from florilege.interfaces.embedding import Embedder
from florilege.interfaces.models import Generation, Message
from florilege.models.calling import CheckedModel
from florilege.models.judge import JudgeReranker
from florilege.models.vendor import Price, called, named, translated, usage_of
from florilege.vendors import client as made_client

Structure = Literal["json_schema", "json_object", "none"]


class OpenAIAdapter:
    """See :func:`openai`."""

    def __init__(self, client: Any, model: str | None, structure: Structure, price: Price | None) -> None:
        self.client = made_client("openai", "OpenAI", "OPENAI_API_KEY", {}) if client is None else client
        self.model = model
        self.structure = structure
        self.price = price

    def generate(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None, *, model: str | None = None
    ) -> Generation:
        """One chat completion; ``parsed`` is its JSON when ``schema`` was given and it is valid JSON."""
        chosen = named(model, self.model, "openai")
        options: dict[str, Any] = {} if schema is None else self._format(schema)
        with translated(called("openai", chosen, self.client)):
            answer = resolve(
                self.client.chat.completions.create(model=chosen, messages=list(map(dict, messages)), **options)
            )
            text = answer.choices[0].message.content or ""
            spent = answer.usage
        usage = usage_of(getattr(spent, "prompt_tokens", 0), getattr(spent, "completion_tokens", 0), self.price)
        return Generation(text=text, parsed=None if schema is None else _json(text), usage=usage)

    def stream(self, messages: Sequence[Message], *, model: str | None = None) -> Iterator[str]:
        """The completion's text in pieces as they come. Needs a synchronous client."""
        chosen = named(model, self.model, "openai")
        with translated(called("openai", chosen, self.client)):
            for part in self.client.chat.completions.create(
                model=chosen, messages=list(map(dict, messages)), stream=True
            ):
                if part.choices and part.choices[0].delta.content:
                    yield part.choices[0].delta.content

    def embedding(self, model: str = "text-embedding-3-small", **options: Any) -> Embedder:
        """The embedder :func:`florilege.embed.openai` makes over the same client, with its options."""
        from florilege.embed import openai as embedder

        if self.price is not None:
            options = {"price_per_million_tokens": self.price.input, "currency": self.price.currency, **options}
        return embedder(model, client=self.client, **options)

    def retrieval_model(self, model: str | None = None) -> CheckedModel:
        """A model for recipes, bound to ``model``."""
        chosen = named(model, self.model, "openai")
        return CheckedModel(lambda messages, schema: self.generate(messages, schema, model=chosen), f"openai:{chosen}")

    def reranker(self, *, name: str, model: str | None = None, batch: int = 20) -> JudgeReranker:
        """A judge over ``model``: it spends generation tokens."""
        return JudgeReranker(name=name, model=self.retrieval_model(model), batch=batch)

    def _format(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        if self.structure == "json_schema":
            described = {"name": "answer", "schema": dict(schema), "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": described}}
        return {"response_format": {"type": "json_object"}} if self.structure == "json_object" else {}


def openai(
    client: Any = None, *, model: str | None = None, structure: Structure = "json_schema", price: Price | None = None
) -> OpenAIAdapter:
    """An adapter over ``client``, an ``openai.OpenAI`` or ``openai.AsyncOpenAI`` (None: one made from the environment).

    A client with another ``base_url`` serves any compatible server; ``structure`` says what that server understands of
    structured output. ``price`` puts costs into usage.
    """
    return OpenAIAdapter(client, model, structure, price)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
