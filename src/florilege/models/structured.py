"""Structured answers: asked for by schema, read with care, repaired once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from florilege.interfaces.models import Generation, Message
from florilege.model.errors import ModelError

T = TypeVar("T")
_FENCED = re.compile(r"```[a-zA-Z]*\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"[\[{]")
_decoder = json.JSONDecoder()


def structured(
    generate: Callable[[Sequence[Message], Mapping[str, Any]], Generation],
    messages: Sequence[Message],
    schema: Mapping[str, Any],
    read: Callable[[Generation], T],
) -> T:
    """Ask for an answer of ``schema`` and ``read`` it.

    When ``read`` raises ValueError, the model is told why and asked once more. Raises ModelError (code ``bad_output``)
    when that answer cannot be read either; the caller's fallback applies.
    """
    first = generate(messages, schema)
    try:
        return read(first)
    except ValueError as fault:
        again = [
            *messages,
            {"role": "assistant", "content": first.text},
            {"role": "user", "content": f"That answer cannot be used: {fault}. Answer again, with JSON of the schema."},
        ]
    try:
        return read(generate(again, schema))
    except ValueError as fault:
        raise ModelError(f"the model's answer cannot be used, twice: {fault}", code="bad_output") from None


def json_of(generation: Generation) -> Any:
    """The JSON value of an answer: parsed already, or the first object or list in its text, fenced or bare.

    Raises ValueError when there is none.
    """
    if generation.parsed is not None:
        return generation.parsed
    text = generation.text
    for candidate in [*(match[1] for match in _FENCED.finditer(text)), text]:
        found = _OPENING.search(candidate)
        if found:
            try:
                return _decoder.raw_decode(candidate, found.start())[0]
            except ValueError:
                continue
    raise ValueError("it holds no JSON")


def field_of(value: Any, name: str, kind: type[T]) -> T:
    """``value[name]``, of ``kind``; ValueError otherwise."""
    if not isinstance(value, Mapping) or name not in value:
        raise ValueError(f"it has no {name!r}")
    item = value[name]
    if not isinstance(item, kind) or (isinstance(item, bool) and kind is not bool):
        raise ValueError(f"{name!r} is not a {kind.__name__}")
    return item


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object with exactly these properties, all required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
