"""Steps that plan queries with a model: rewrite the question, or ask it in several ways."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from florilege.interfaces.models import Generation, Message
from florilege.model.errors import ModelError, RecipeError
from florilege.model.hit import Query
from florilege.models import CheckedModel, as_model, json_of, object_schema
from florilege.retrieval.steps.base import PLANS, Call, Step, Work
from florilege.text.fences import NOTICE, Fence

Strategy = Literal["paraphrase", "decompose", "hyde"]
History = Sequence[Message | str] | Callable[[], Sequence[Message | str]]

_REWRITE = "Rewrite the question as one search query that stands on its own: keep its meaning, names and numbers."
_WITH_HISTORY = (
    "The conversation before it is given; put what its pronouns and short forms refer to into the query itself."
)
_FAN = {
    "paraphrase": "Write {n} other ways to ask the question, in other words that documents may use.",
    "decompose": "Split the question into at most {n} simpler questions that together answer it.",
    "hyde": "Write {n} short passages, each as a document that answers the question would put it.",
}
_REWRITTEN = object_schema({"query": {"type": "string"}})
_LISTED = object_schema({"queries": {"type": "array", "items": {"type": "string"}}})
_NUMBERED = re.compile(r"\s*\(?(\d{1,2})[.):]\s+(.*)")
_BULLET = re.compile(r"\s*[-*•–]\s+(.*)")
_QUOTES = "\"'“”‘’`"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteQuery(Step):
    """See :func:`rewrite_query`."""

    id: str = "rewrite_query"
    model: CheckedModel | None = None
    instructions: str | None = None
    keep_original: bool = False
    history: History | None = None

    kind = "rewrite_query"
    phase = PLANS
    needs_model = True

    @property
    def own_model(self) -> CheckedModel | None:
        """The model it was given."""
        return self.model

    def options(self) -> dict[str, Any]:
        """Its options; the conversation is input, not identity."""
        return {"instructions": self.instructions, "keep_original": self.keep_original, "history": bool(self.history)}

    def apply(self, work: Work, call: Call) -> Work:
        """Rewrite each query; one whose answer is empty or fails stays as it is, with a warning."""
        prompts = [self._prompt(query.text) for query in work.queries]
        queries: list[Query] = []
        for query, answer in zip(work.queries, call.generate_all(prompts, _REWRITTEN), strict=True):
            text = "" if isinstance(answer, ModelError) else _one(answer)
            if not text:
                why = answer.message if isinstance(answer, ModelError) else "the model's answer is empty"
                call.warn(f"{self.id}: the query is kept as it is: {why}")
                queries.append(query)
            elif text == query.text:
                queries.append(query)
            else:
                queries += [query] if self.keep_original else []
                queries.append(replace(query, text=text, vector=None))
        return replace(work, queries=_distinct(queries))

    def _prompt(self, text: str) -> list[Message]:
        turns = [_turn(item) for item in (self.history() if callable(self.history) else self.history or ())]
        task = " ".join([_REWRITE, *([_WITH_HISTORY] if turns else []), *filter(None, [self.instructions]), NOTICE])
        fence = Fence([text, *turns])
        blocks = [fence.around("conversation", "\n".join(turns))] if turns else []
        return [
            {"role": "system", "content": task},
            {"role": "user", "content": "\n\n".join([*blocks, fence.around("question", text)])},
        ]


def rewrite_query(
    *,
    model: Any = None,
    instructions: str | None = None,
    keep_original: bool = False,
    history: History | None = None,
    id: str = "rewrite_query",
) -> RewriteQuery:
    """Let a model rewrite the question for search; with ``history`` (messages, texts, or a function that gives them)
    a question out of a conversation becomes one that stands alone.

    ``keep_original`` searches with both. An empty or failed answer keeps the original, with a warning in the trace.
    """
    return RewriteQuery(
        id=id,
        model=None if model is None else as_model(model),
        instructions=instructions,
        keep_original=keep_original,
        history=history,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fanout(Step):
    """See :func:`fanout`."""

    id: str = "fanout"
    model: CheckedModel | None = None
    max_queries: int = 4
    strategy: Strategy = "paraphrase"
    instructions: str | None = None

    kind = "fanout"
    phase = PLANS
    needs_model = True

    @property
    def own_model(self) -> CheckedModel | None:
        """The model it was given."""
        return self.model

    def apply(self, work: Work, call: Call) -> Work:
        """Put each query's alternatives behind it."""
        if self.max_queries == 1:
            return work
        prompts = [self._prompt(query.text) for query in work.queries]
        queries: list[Query] = []
        for query, answer in zip(work.queries, call.generate_all(prompts, _LISTED), strict=True):
            texts = [] if isinstance(answer, ModelError) else _listed(answer)
            if isinstance(answer, ModelError):
                call.warn(f"{self.id}: no alternatives: {answer.message}")
            elif not texts:
                call.warn(f"{self.id}: the model named no alternatives")
            own = _distinct([query, *(replace(query, text=text, vector=None) for text in texts)])
            queries += own[: self.max_queries]
        return replace(work, queries=_distinct(queries))

    def _prompt(self, text: str) -> list[Message]:
        task = _FAN[self.strategy].format(n=self.max_queries - 1)
        task = " ".join([task, *filter(None, [self.instructions]), NOTICE])
        return [
            {"role": "system", "content": task},
            {"role": "user", "content": Fence([text]).around("question", text)},
        ]


def fanout(
    max_queries: int = 4,
    *,
    strategy: Strategy = "paraphrase",
    model: Any = None,
    instructions: str | None = None,
    id: str = "fanout",
) -> Fanout:
    """Ask in several ways: "paraphrase" in other words, "decompose" in simpler questions, "hyde" with passages such as
    would answer it (Gao et al. 2022).

    Each query stays, in front of its alternatives; together they are at most ``max_queries``. Blank lines, numbering,
    headings and repeats in the model's answer are cleaned away.
    """
    if isinstance(max_queries, bool) or not isinstance(max_queries, int) or max_queries < 1:
        raise RecipeError(f"fanout max_queries: must be a whole number of at least 1, not {max_queries!r}")
    if strategy not in get_args(Strategy):
        raise RecipeError(f"fanout strategy: {strategy!r} is not one of {', '.join(get_args(Strategy))}")
    return Fanout(
        id=id,
        model=None if model is None else as_model(model),
        max_queries=max_queries,
        strategy=strategy,
        instructions=instructions,
    )


def clean_list(text: str) -> list[str]:
    """The entries of a list as models write them.

    Lines numbered 1, 2, 3 ... are the entries when there are any, else bullets, else all lines but headings; a number
    that continues no list belongs to its line. Blanks and repeats go.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    numbered: list[str] = []
    for line in lines:
        match = _NUMBERED.match(line)
        if match and int(match[1]) == len(numbered) + 1:
            numbered.append(match[2])
    bullets = [match[1] for match in map(_BULLET.match, lines) if match]
    if numbered and (len(numbered) > 1 or len(lines) <= 2):
        entries = numbered
    else:
        entries = bullets or [line for line in lines if not line.startswith("#") and not line.endswith(":")]
    return list(dict.fromkeys(entry for entry in (_unquoted(entry) for entry in entries) if entry))


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES:
        text = text[1:-1].strip()
    return text


def _one(answer: Generation) -> str:
    try:
        value = json_of(answer)
    except ValueError:
        lines = clean_list(answer.text)
        return lines[0] if lines else ""
    text = value.get("query") if isinstance(value, Mapping) else None
    return text.strip() if isinstance(text, str) else ""


def _listed(answer: Generation) -> list[str]:
    try:
        value = json_of(answer)
    except ValueError:
        return clean_list(answer.text)
    items = value.get("queries") if isinstance(value, Mapping) else value
    texts = [item.strip() for item in items if isinstance(item, str)] if isinstance(items, list) else []
    return [text for text in texts if text]


def _distinct(queries: Sequence[Query]) -> tuple[Query, ...]:
    """The queries without those that repeat one before them but for case and spaces; a blank one only alone."""
    kept: dict[str, Query] = {}
    for query in queries:
        kept.setdefault(" ".join(query.text.split()).casefold(), query)
    return tuple(query for key, query in kept.items() if key or len(kept) == 1)


def _turn(item: Message | str) -> str:
    return item if isinstance(item, str) else f"{item.get('role', 'user')}: {item.get('content', '')}"
