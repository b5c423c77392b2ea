"""What callers hand in as a model or reranker, made callable from the synchronous engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from florilege.concurrency import resolve
from florilege.interfaces.models import Generation, Message, Model, Reranking, Scored
from florilege.model.errors import ConfigError, FlorilegeError, ModelError

ModelFunction = Callable[..., Any]
"""``fn(messages)`` or ``fn(messages, schema)``, sync or async; returns a text, a JSON value or a Generation."""


class CheckedModel:
    """A model whose answers are awaited where they must be, and whose failures are all :class:`ModelError`."""

    def __init__(self, generate: ModelFunction, name: str, *, with_schema: bool = True) -> None:
        self.name = name
        self._generate = generate
        self._with_schema = with_schema

    def generate(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Generation:
        """Answer ``messages``; see :class:`florilege.interfaces.Model`."""
        try:
            answer = resolve(self._generate(messages, schema) if self._with_schema else self._generate(messages))
        except FlorilegeError:
            raise
        except Exception as error:
            retryable = isinstance(error, (TimeoutError, ConnectionError))
            raise ModelError(f"model {self.name!r} failed: {type(error).__name__}", retryable=retryable) from error
        return _generation(answer, self.name)


def as_model(value: Any) -> CheckedModel:
    """``value`` as a model: one already, an object with ``generate``, or a function; ConfigError for anything else."""
    if isinstance(value, CheckedModel):
        return value
    if isinstance(value, Model) and not isinstance(value, type):
        return CheckedModel(value.generate, str(getattr(value, "name", type(value).__name__)))
    if callable(value) and not isinstance(value, type):
        return from_function(value)
    raise ConfigError(f"model: a {type(value).__name__} has no generate(messages, schema=None) and is no function")


def from_function(fn: ModelFunction, *, name: str | None = None) -> CheckedModel:
    """A model that calls ``fn(messages)``, or ``fn(messages, schema)`` when it takes two arguments."""
    if not callable(fn):
        raise ConfigError(f"model function: {fn!r} cannot be called")
    return CheckedModel(fn, name or str(getattr(fn, "__name__", "function")), with_schema=_takes_two(fn))


def as_reranking(value: Any, name: str) -> Reranking:
    """What a reranker returned: a :class:`Reranking`, or a list of ``(index, score)`` pairs, of mappings with ``index``
    and ``score``, or of objects with these. Raises ModelError (code ``bad_output``) for anything else.
    """
    if isinstance(value, Reranking):
        return value
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        try:
            return Reranking(scores=[_scored(item) for item in value])
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
    raise ModelError(f"reranker {name!r} returned no list of index and score", code="bad_output")


def _scored(item: Any) -> Scored:
    if isinstance(item, Mapping):
        return Scored(item["index"], float(item["score"]))
    if isinstance(item, (list, tuple)):
        index, score = item
        return Scored(index, float(score))
    return Scored(item.index, float(item.score))


def _takes_two(fn: ModelFunction) -> bool:
    try:
        parameters = signature(fn).parameters.values()
    except (TypeError, ValueError):
        return True
    places = [item for item in parameters if item.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    return len(places) > 1 or any(item.kind is Parameter.VAR_POSITIONAL for item in parameters)


def _generation(answer: Any, name: str) -> Generation:
    if isinstance(answer, Generation):
        return answer
    if isinstance(answer, str):
        return Generation(text=answer)
    if isinstance(answer, (Mapping, list)):
        return Generation(text=json.dumps(answer, ensure_ascii=False), parsed=answer)
    raise ModelError(f"model {name!r} returned a {type(answer).__name__}, not a text or a Generation")
