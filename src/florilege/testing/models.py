"""Models and rerankers that answer what a test tells them to, and remember what they were asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from florilege.interfaces.models import Generation, Message, Reranking, Scored
from florilege.model.errors import ModelError
from florilege.model.ledger import Usage

Reply = str | Mapping[str, Any] | list[Any] | Generation | Exception


class FakeModel:
    """A language model made of ``replies``: one for every call, a list of them in turn (the last again and again), or a
    function of the messages (and the schema).

    A mapping or list is an answer in JSON, an exception is raised. ``calls`` counts, ``prompts`` keeps the messages,
    ``schemas`` the schemas asked for. Each call's usage is one call, with the words of prompt and answer as tokens.
    """

    def __init__(self, replies: Reply | Sequence[Reply] | Callable[..., Reply] = "", *, name: str = "fake") -> None:
        self.name = name
        self.calls = 0
        self.prompts: list[list[Message]] = []
        self.schemas: list[Mapping[str, Any] | None] = []
        self._replies = replies
        self._lock = Lock()

    def generate(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Generation:
        """The next reply."""
        with self._lock:
            place = self.calls
            self.calls += 1
            self.prompts.append(list(messages))
            self.schemas.append(schema)
        reply = self._reply(place, messages, schema)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Generation):
            return reply
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        words = sum(len(message["content"].split()) for message in messages) + len(text.split())
        parsed = None if isinstance(reply, str) else reply
        return Generation(text=text, parsed=parsed, usage=Usage(calls=1, tokens=words))

    def _reply(self, place: int, messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Reply:
        replies = self._replies
        if callable(replies):
            from florilege.models import from_function

            answer = from_function(replies).generate(messages, schema)
            return answer if answer.usage.calls else answer.text if answer.parsed is None else answer.parsed
        if isinstance(replies, Sequence) and not isinstance(replies, str):
            if not replies:
                raise ModelError(f"model {self.name!r} has no reply left")
            return replies[min(place, len(replies) - 1)]
        return replies


class RecordingModel:
    """Asks ``model`` and keeps each answer; :meth:`replayed` is a model that gives them again, in order."""

    def __init__(self, model: Any) -> None:
        from florilege.models import as_model

        self.answers: list[Generation] = []
        self._model = as_model(model)
        self.name = self._model.name

    def generate(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Generation:
        """Answer, and keep it."""
        answer = self._model.generate(messages, schema)
        self.answers.append(answer)
        return answer

    def replayed(self) -> FakeModel:
        """The answers so far as a model that needs no other."""
        return FakeModel(list(self.answers), name=self.name)


class FakeReranker:
    """A reranker that scores by ``score(query, passage)``, or returns the ``(index, score)`` pairs it was given."""

    def __init__(
        self,
        scores: Callable[[str, str], float] | Sequence[tuple[int, float]],
        *,
        name: str = "fake-reranker",
    ) -> None:
        self.name = name
        self.calls = 0
        self.passages: list[str] = []
        self._scores = scores

    def rerank(self, query: str, passages: Sequence[str]) -> Reranking:
        """Score ``passages``."""
        self.calls += 1
        self.passages = list(passages)
        if callable(self._scores):
            scores = [Scored(place, self._scores(query, passage)) for place, passage in enumerate(passages)]
        else:
            scores = [Scored(*pair) for pair in self._scores]
        return Reranking(scores=scores, usage=Usage(calls=1, texts=len(passages)))
