"""Filters as SQL over facets, meaning exactly what :mod:`florilege.model.matching` says.

A facet's ``doc`` is ``{"u": metadata, "s": system fields}`` in a form jsonb compares as the filter language does: a
float is written out in full, so that numbers compare as the exact values they are; an instant is an object with one
key no escaped text can be, holding microseconds; texts are escaped. Containment in jsonb is then equality of scalars,
which one index over all paths serves. Values and path keys are bound, never spelled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from florilege.model.filters import ORDERED, SYSTEM_FIELDS, And, Condition, Filter, Not, Or, Path, kind
from florilege.model.hashing import instant
from florilege.model.matching import MISSING
from florilege.stores import codecs
from florilege.stores.fields import Fields
from florilege.stores.postgres.server.wire import escape

_INSTANT = "\x01"
_INDEXED_VALUES = 20
_ORDER = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}

Compiled = tuple[str, list[Any]]


def filter_doc(record: str, source_id: str, fields: Fields) -> str:
    """The ``doc`` of a metadata record (see :func:`florilege.stores.codecs.encode_metadata`), as JSON."""
    user, system = json.loads(record)
    return _json({"u": fields.seen(user), "s": {**system, "$source_id": source_id}})


def compile_filter(filter: Filter | None) -> Compiled:
    """A condition on ``f``, a facet, and its values in order. Never null."""
    if filter is None:
        return "true", []
    if isinstance(filter, Condition):
        return _leaf(filter)
    if isinstance(filter, Not):
        inner, values = compile_filter(filter.item)
        return f"NOT ({inner})", values
    if isinstance(filter, (And, Or)):
        return _joined(map(compile_filter, filter.items), isinstance(filter, And))
    raise TypeError(f"{type(filter).__name__} is not a node of the filter tree")


def _joined(parts: Any, conjunction: bool) -> Compiled:
    texts, values = [], []
    for text, bound in parts:
        texts.append(text)
        values += bound
    if not texts:
        return ("true" if conjunction else "false"), []
    return "(" + (" AND " if conjunction else " OR ").join(texts) + ")", values


def _leaf(condition: Condition) -> Compiled:
    operator, operand, path = condition.operator, condition.value, condition.path
    found, keys = _at(path)
    if operator == "exists":
        return f"({found} IS {'NOT ' if operand else ''}NULL)", keys
    if operator in ("eq", "in"):
        return _any(path, found, keys, operand if operator == "in" else (operand,), "=")
    if operator in ("ne", "not_in"):
        values = [_json(value) for value in (operand if operator == "not_in" else (operand,))]
        return f"({found} IS NOT NULL AND NOT {found} = ANY(%s::jsonb[]))", [*keys, *keys, values]
    if operator == "contains_all":
        return "f.doc @> %s::jsonb", [_nested(path, list(operand))]
    if operator in ("contains", "contains_any"):
        elements = [[value] for value in (operand if operator == "contains_any" else (operand,))]
        return _any(path, f"CASE WHEN jsonb_typeof({found}) = 'array' THEN {found} END", keys * 2, elements, "@>")
    if operator == "prefix":
        text = f"(jsonb_typeof({found}) = 'string' AND starts_with({found} #>> '{{}}', %s)) IS TRUE"
        return text, [*keys, *keys, escape(operand)]
    bounds = [("ge", operand[0]), ("le", operand[1])] if operator == "between" else [(operator, operand)]
    assert operator in ORDERED
    return _joined((_ordered(found, keys, _ORDER[name], bound) for name, bound in bounds), True)


def _any(path: Path, found: str, keys: list[Any], values: Sequence[Any], operator: str) -> Compiled:
    """The field equals, or its list holds, one of ``values``: by the index while there are few."""
    if len(values) <= _INDEXED_VALUES:
        return _joined((("f.doc @> %s::jsonb", [_nested(path, value)]) for value in values), False)
    return f"({found} {operator} ANY(%s::jsonb[])) IS TRUE", [*keys, list(map(_json, values))]


def _ordered(found: str, keys: list[Any], operator: str, bound: Any) -> Compiled:
    which = kind(bound)
    if which == "number":
        text = f"(jsonb_typeof({found}) = 'number' AND {found} {operator} %s::jsonb) IS TRUE"
        return text, [*keys, *keys, _json(bound)]
    if which == "string":
        text = f"(jsonb_typeof({found}) = 'string' AND ({found} #>> '{{}}') COLLATE \"C\" {operator} %s) IS TRUE"
        return text, [*keys, *keys, escape(bound)]
    micros = str(codecs.microseconds(bound))
    return f"({found} -> %s::text {operator} %s::jsonb) IS TRUE", [*keys, _INSTANT, micros]


def _at(path: Path) -> tuple[str, list[Any]]:
    """What stands at a path, through objects only; null when nothing does."""
    keys = _keys(path)
    return "f.doc" + " -> %s::text" * len(keys), list(keys)


def _keys(path: Path) -> list[str]:
    half = "s" if path[0] in SYSTEM_FIELDS else "u"
    return [half, *map(escape, path)] if half == "u" else [half, path[0]]


def _nested(path: Path, value: Any) -> str:
    """JSON that a doc contains when it has this value at the path."""
    text = _json(value)
    for key in reversed(_keys(path)):
        text = f"{{{json.dumps(key)}:{text}}}"
    return text


def _json(value: Any) -> str:
    for known, write in _WRITERS:
        if isinstance(value, known):
            return write(value)
    raise TypeError(f"a {type(value).__name__} is not a JSON value")


def _object(value: Mapping[str, Any]) -> str:
    if len(value) == 1 and "$date" in value:
        return _moment(datetime.fromisoformat(value["$date"]))
    there = ((key, item) for key, item in value.items() if item is not MISSING)
    return "{" + ",".join(f"{json.dumps(escape(key))}:{_json(item)}" for key, item in there) + "}"


def _moment(value: datetime) -> str:
    return f"{{{json.dumps(_INSTANT)}:{codecs.microseconds(instant(value))}}}"


def _float(value: float) -> str:
    return str(int(value)) if value.is_integer() else format(Decimal(value), "f")


_WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    (type(None), lambda value: "null"),
    (bool, lambda value: "true" if value else "false"),
    (str, lambda value: json.dumps(escape(value), ensure_ascii=False)),
    (int, str),
    (float, _float),
    (datetime, _moment),
    ((list, tuple), lambda value: "[" + ",".join(map(_json, value)) + "]"),
    (dict, _object),
)
