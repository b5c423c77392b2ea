"""What writes text, and what ranks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from florilege.model.ledger import Usage

Message = Mapping[str, str]
"""``{"role": "system" | "user" | "assistant", "content": text}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """What a model wrote. ``parsed`` is its JSON when a schema was given and the model answered in structure."""

    text: str
    parsed: Any = None
    usage: Usage = field(default_factory=Usage)


@runtime_checkable
class Model(Protocol):
    """A language model.

    ``schema`` is a JSON Schema the answer shall follow; a model that cannot promise it answers as well as it can, and
    the caller checks. ``generate`` may be a coroutine function. Raises :class:`florilege.ModelError`.
    """

    def generate(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Generation:
        """Answer ``messages``."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """A passage by its place in the list that was given, from 0, and its score; higher is better."""

    index: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranking:
    """What a reranker made of a list of passages; it may leave some out, and order is told by the scores alone."""

    scores: Sequence[Scored]
    usage: Usage = field(default_factory=Usage)
    warnings: tuple[str, ...] = ()


@runtime_checkable
class Reranker(Protocol):
    """Judges passages against a question. ``name`` is its identity in traces. ``rerank`` may be a coroutine function.

    Scores compare only within one call. Raises :class:`florilege.ModelError`.
    """

    name: str

    def rerank(self, query: str, passages: Sequence[str]) -> Reranking:
        """Score ``passages``, given best first so far."""
        ...
