"""The OpenAI API, and every server that speaks it, through the vendor's library."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from florilege.concurrency import resolve
from florilege.interfaces.embedding import Embedder, Embeddings, EmbeddingSpace, Task
from florilege.interfaces.models import Generation, Message
from florilege.model.errors import EmbeddingError, FlorilegeError
from florilege.model.ledger import Usage
from florilege.models.calling import CheckedModel
from florilege.models.judge import JudgeReranker
from florilege.models.vendor import Price, library, named, translated, usage_of

Structure = Literal["json_schema", "json_object", "none"]


class OpenAIAdapter:
    """See :func:`openai`."""

    def __init__(self, client: Any, model: str | None, structure: Structure, price: Price | None) -> None:
        self.client = library("openai", "openai").OpenAI() if client is None else client
        self.model = model
        self.structure = structure
        self.price = price

    def generate(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None, *, model: str | None = None
    ) -> Generation:
        """One chat completion; ``parsed`` is its JSON when ``schema`` was given and it is valid JSON."""
        chosen = named(model, self.model, "openai")
        options: dict[str, Any] = {} if schema is None else self._format(schema)
        with translated(f"openai model {chosen!r}"):
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
        with translated(f"openai model {chosen!r}"):
            for part in self.client.chat.completions.create(
                model=chosen, messages=list(map(dict, messages)), stream=True
            ):
                if part.choices and part.choices[0].delta.content:
                    yield part.choices[0].delta.content

    def embedding(
        self, *, model: str, dimensions: int, max_batch: int = 256, max_input_tokens: int | None = 8191
    ) -> Embedder:
        """An embedder over the embeddings endpoint; ``dimensions`` is asked for and checked."""
        return OpenAIEmbedder(self.client, model, dimensions, max_batch, max_input_tokens, self.price)

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


class OpenAIEmbedder:
    """An :class:`~florilege.interfaces.Embedder` over an embeddings endpoint."""

    scripts: frozenset[str] | None = None

    def __init__(
        self,
        client: Any,
        model: str,
        dimensions: int,
        max_batch: int,
        max_input_tokens: int | None,
        price: Price | None,
    ) -> None:
        self.space = EmbeddingSpace(name=f"openai:{model}", dimensions=dimensions)
        self.max_batch = max_batch
        self.max_input_tokens = max_input_tokens
        self._client = client
        self._model = model
        self._price = price

    def embed_many(self, texts: Sequence[str], task: Task = "document") -> Embeddings:
        """Embed ``texts`` in calls of at most ``max_batch``; raises :class:`florilege.EmbeddingError`."""
        import numpy as np

        rows: list[Any] = []
        usage = Usage()
        for at in range(0, len(texts), self.max_batch):
            found, spent = self._call(list(texts[at : at + self.max_batch]))
            rows += found
            usage += spent
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), self.space.dimensions)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(vectors).all() or not norms.all():
            raise EmbeddingError(f"embedder {self.space.name!r} returned a vector that is zero or not finite")
        return Embeddings(np.ascontiguousarray(vectors / norms), usage)

    def _call(self, batch: list[str]) -> tuple[list[Any], Usage]:
        name = self.space.name
        try:
            with translated(f"embedder {name!r}"):
                answer = resolve(
                    self._client.embeddings.create(
                        model=self._model, input=batch, dimensions=self.space.dimensions, encoding_format="float"
                    )
                )
                rows = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
                tokens = getattr(answer.usage, "prompt_tokens", 0)
        except FlorilegeError as error:
            raise EmbeddingError(error.message, stage="embedding", retryable=error.retryable) from error
        if len(rows) != len(batch) or any(len(row) != self.space.dimensions for row in rows):
            raise EmbeddingError(
                f"embedder {name!r} returned {len(rows)} vectors for {len(batch)} texts, or some not of "
                f"{self.space.dimensions} dimensions"
            )
        usage = usage_of(tokens, 0, self._price)
        return rows, Usage(texts=len(batch), calls=1, tokens=usage.tokens, cost=usage.cost, currency=usage.currency)


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
