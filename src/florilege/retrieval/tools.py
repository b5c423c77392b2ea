"""A retriever as tools for a model: what it may ask, within limits it cannot widen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from florilege.model.errors import ConfigError, FlorilegeError, NotFound
from florilege.model.filters import Condition, Filter, leaves, parse_filter
from florilege.model.hit import Hit
from florilege.retrieval.passages.rendering import trust_of

if TYPE_CHECKING:
    from florilege.retrieval.forms import Forms

NAMES = ("search", "get_source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A named function with a JSON Schema of its arguments. Call it with arguments; it returns JSON values."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[..., dict[str, Any]]

    def __call__(self, **arguments: Any) -> dict[str, Any]:
        """The result for checked ``arguments``; raises ConfigError for wrong ones."""
        return self.run(**self._checked(arguments))

    def answer(self, arguments: Mapping[str, Any] | str) -> str:
        """The result as JSON text, for a model's tool call: an error is told in it, never raised."""
        try:
            given = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
            if not isinstance(given, dict):
                raise ConfigError(f"{self.name}: arguments must be an object")
            value = self(**given)
        except ValueError as error:
            code = error.code if isinstance(error, FlorilegeError) else "bad_arguments"
            told = error.message if isinstance(error, FlorilegeError) else "arguments are not JSON"
            value = {"error": {"code": code, "message": told}}
        except FlorilegeError as error:
            value = {"error": {"code": error.code, "message": error.message}}
        return json.dumps(value, ensure_ascii=False)

    def openai(self) -> dict[str, Any]:
        """Its definition in the shape of the OpenAI chat API."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}

    def anthropic(self) -> dict[str, Any]:
        """Its definition in the shape of the Anthropic messages API."""
        return {"name": self.name, "description": self.description, "input_schema": dict(self.parameters)}

    def mcp(self) -> dict[str, Any]:
        """Its definition in the shape of the Model Context Protocol."""
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.parameters)}

    def _checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        known = self.parameters["properties"]
        for name in arguments:
            if name not in known:
                raise ConfigError(f"{self.name}: there is no argument {name!r}; there are {', '.join(known)}")
        for name in self.parameters["required"]:
            if name not in arguments:
                raise ConfigError(f"{self.name}: the argument {name!r} is missing")
        kinds: dict[str, type] = {"string": str, "integer": int, "object": dict}
        for name, value in arguments.items():
            kind = kinds[known[name]["type"]]
            if not isinstance(value, kind) or isinstance(value, bool):
                raise ConfigError(f"{self.name} {name}: must be of type {known[name]['type']}")
        return dict(arguments)


def tools(
    forms: Forms, *, prefix: str, include: Sequence[str], max_limit: int, filters: Sequence[str], max_chars: int
) -> list[Tool]:
    """The tools ``include`` names, ``search`` and ``get_source``, over ``forms``; with ``prefix`` "docs" the first is
    ``docs_search``.

    ``max_limit`` bounds the hits of one search. ``filters`` names the metadata fields a filter may use (none: no filter
    argument); filters only narrow. ``get_source`` reads stored text, at most ``max_chars`` a call, and only what the
    retriever's namespace and filter floor let through.
    """
    for name in include:
        if name not in NAMES:
            raise ConfigError(f"as_tools include: there is no tool {name!r}; there are {', '.join(NAMES)}")
    for option, value in (("max_limit", max_limit), ("max_chars", max_chars)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigError(f"as_tools {option}: must be a whole number of at least 1, not {value!r}")
    make = {"search": lambda: _search(forms, prefix, max_limit, tuple(filters))}
    make["get_source"] = lambda: _get_source(forms, prefix, max_chars)
    return [make[name]() for name in dict.fromkeys(include)]


def _search(forms: Forms, prefix: str, max_limit: int, fields: tuple[str, ...]) -> Tool:
    default = min(10, max_limit)

    def search(query: str, limit: int = default, filter: Mapping[str, Any] | None = None) -> dict[str, Any]:
        if not 1 <= limit <= max_limit:
            raise ConfigError(f"limit: must be from 1 to {max_limit}, not {limit}")
        narrowed = None if filter is None else _allowed(parse_filter(filter), fields)
        return {"hits": [_told(hit) for hit in forms.retrieve(query, limit=limit, filter=narrowed)]}

    properties: dict[str, Any] = {
        "query": {"type": "string", "description": "The question or words to search for."},
        "limit": {"type": "integer", "minimum": 1, "maximum": max_limit, "default": default},
    }
    if fields:
        properties["filter"] = {
            "type": "object",
            "description": 'Conditions that all must hold, such as {"year": {"ge": 2024}, "lang": "en"}. '
            f"Fields: {', '.join(fields)}.",
        }
    description = f"Search the passages of {forms.id!r}. Returns passages best first, with their source and chunk ids."
    return Tool(
        name=_named(prefix, "search"), description=description, parameters=_schema(properties, "query"), run=search
    )


def _get_source(forms: Forms, prefix: str, max_chars: int) -> Tool:
    def get_source(source_id: str, start: int = 0, namespace: str = "") -> dict[str, Any]:
        if start < 0:
            raise ConfigError("start: must be at least 0")
        for origin in forms.origins():
            if namespace and origin.namespace != namespace:
                continue
            with origin.snapshot() as snapshot:
                try:
                    document = snapshot.document(source_id)
                except NotFound as error:
                    if error.code == "content_not_kept":
                        raise
                    continue
            end = min(len(document.content), start + max_chars)
            text = document.content[start:end]
            return {
                "namespace": origin.namespace,
                "source_id": source_id,
                "title": document.title,
                "start": start,
                "end": end,
                "length": len(document.content),
                "text": text,
            }
        raise NotFound(f"there is no source {source_id!r}", source_id=source_id)

    properties = {
        "source_id": {"type": "string", "description": "The source id of a hit."},
        "start": {"type": "integer", "minimum": 0, "default": 0, "description": "The character to read from."},
        "namespace": {"type": "string", "description": "The namespace of the hit, when there are several."},
    }
    description = f"Read the text of one source of {forms.id!r}, at most {max_chars} characters a call."
    parameters = _schema(properties, "source_id")
    return Tool(name=_named(prefix, "get_source"), description=description, parameters=parameters, run=get_source)


def _schema(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _named(prefix: str, name: str) -> str:
    return f"{prefix}_{name}" if prefix else name


def _allowed(filter: Filter, fields: Sequence[str]) -> Filter:
    for leaf in leaves(filter):
        name = ".".join(leaf.path) if isinstance(leaf, Condition) else ""
        if name not in fields:
            raise ConfigError(f"filter: the field {name!r} may not be used; there are {', '.join(fields) or 'none'}")
    return filter


def _told(hit: Hit) -> dict[str, Any]:
    provenance = hit.provenance
    told: dict[str, Any] = {
        "namespace": hit.namespace,
        "source_id": hit.source_id,
        "chunk_id": hit.chunk_id,
        "title": hit.title,
        "score": hit.score,
        "trust": trust_of(hit),
        "text": hit.text_for("context"),
    }
    if provenance.pages:
        told["pages"] = list(provenance.pages)
    if provenance.headings:
        told["headings"] = list(provenance.headings)
    return told
