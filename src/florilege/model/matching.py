"""What filters mean: the plain evaluation every store must agree with.

- A missing field is false for every operator, ``ne`` and ``not_in`` included (``exists`` False apart); ``not`` is the
  complement, so ``not (year == 2024)`` is true of rows without a year. A null is there and equals only null.
- Values never turn into another kind: "2024" is not 2024 and true is not 1, while 1 equals 1.0. Instants (datetimes,
  and the tagged form they are stored in) compare as moments, whatever their zone.
- ``eq``, ``ne``, ``in`` and ``not_in`` compare scalars; a list or mapping equals none. ``lt`` to ``between`` hold only
  between two numbers, two strings (by code point) or two instants. ``contains``, ``contains_any`` and ``contains_all``
  look for elements of a list, ``prefix`` at the beginning of a string.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import ge, gt, le, lt
from typing import Any

from florilege.model.filters import SYSTEM_FIELDS, And, Condition, Filter, Member, Not, Or, Path, kind
from florilege.model.hashing import instant

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING", "__slots__": ()})()
"""The value of a field that is not there."""

_ORDER: dict[str, Callable[[Any, Any], bool]] = {"lt": lt, "le": le, "gt": gt, "ge": ge}


def matches(filter: Filter, metadata: Mapping[str, Any], system: Mapping[str, Any] | None = None) -> bool:
    """Whether ``filter`` is true of a row.

    ``metadata`` as given or as stored (dates tagged ``{"$date": ...}``); ``system`` holds the system fields, "$title"
    and so on, of which None counts as missing.
    """
    if isinstance(filter, Condition):
        if filter.path[0] in SYSTEM_FIELDS:
            value = (system or {}).get(filter.path[0])
            return holds(filter, MISSING if value is None else value)
        return holds(filter, lookup(metadata, filter.path))
    if isinstance(filter, Not):
        return not matches(filter.item, metadata, system)
    if isinstance(filter, And):
        return all(matches(item, metadata, system) for item in filter.items)
    if isinstance(filter, Or):
        return any(matches(item, metadata, system) for item in filter.items)
    raise TypeError(f"{type(filter).__name__} is not a node of the filter tree")


def lookup(metadata: Mapping[str, Any], path: Path) -> Any:
    """The value at ``path``, through mappings only; :data:`MISSING` when there is none."""
    value: Any = metadata
    for key in path:
        if not isinstance(value, Mapping) or _tagged(value) or key not in value:
            return MISSING
        value = value[key]
    return value


def holds(condition: Condition, value: Any) -> bool:
    """Whether ``condition`` is true of a field with ``value``, which may be :data:`MISSING`."""
    operator, operand = condition.operator, condition.value
    if operator == "exists":
        return (value is not MISSING) is operand
    if value is MISSING:
        return False
    if operator in ("contains", "contains_any", "contains_all"):
        if not isinstance(value, (list, tuple)):
            return False
        elements = set(map(_member, value))
        return (
            condition.members <= elements if operator == "contains_all" else not condition.members.isdisjoint(elements)
        )
    if operator in ("eq", "in"):
        return _member(value) in condition.members
    if operator in ("ne", "not_in"):
        return _member(value) not in condition.members
    if operator == "prefix":
        return isinstance(value, str) and value.startswith(operand)
    if operator == "between":
        return _ordered("ge", value, operand[0]) and _ordered("le", value, operand[1])
    return _ordered(operator, value, operand)


def _member(value: Any) -> Member | None:
    value = _moment(value)
    name = kind(value)
    return None if name == "other" else (name, value)


def _ordered(operator: str, value: Any, bound: Any) -> bool:
    value = _moment(value)
    return kind(value) == kind(bound) in ("number", "string", "instant") and _ORDER[operator](value, bound)


def _moment(value: Any) -> Any:
    if kind(value) == "instant":
        return instant(value)
    return instant(datetime.fromisoformat(value["$date"])) if _tagged(value) else value


def _tagged(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) == 1 and "$date" in value
