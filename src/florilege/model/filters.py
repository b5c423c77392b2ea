"""Filters over metadata: one typed tree, built in Python or read from JSON.

A condition names a field by its path of keys (``("author", "name")``, or "author.name" for short) or a system field:
``$source_id``, ``$title``, ``$media_type``, ``$page`` (the chunk's first page). What each operator means is told, and
done, by :mod:`florilege.model.matching`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, ClassVar, Literal, get_args

from florilege.model.errors import ConfigError
from florilege.model.hashing import instant, plain

Path = tuple[str, ...]
Scalar = str | bool | int | float | datetime | None
Member = tuple[str, Scalar]
Operator = Literal[
    "eq", "ne", "lt", "le", "gt", "ge", "between", "in", "not_in",
    "contains", "contains_any", "contains_all", "prefix", "exists",
]  # fmt: skip

OPERATORS: frozenset[str] = frozenset(get_args(Operator))
ORDERED = frozenset({"lt", "le", "gt", "ge", "between"})
LISTED = frozenset({"in", "not_in", "contains_any", "contains_all", "between"})
SYSTEM_FIELDS = frozenset({"$source_id", "$title", "$page", "$media_type"})
MAX_DEPTH = 64


class FilterError(ConfigError):
    """A filter is written wrongly.

    ``path`` is the place in a JSON filter (``filter.and[1].value``), ``position`` the 0-based character in a text one.
    """

    default_code: ClassVar[str] = "bad_filter"

    def __init__(self, message: str, *, path: str | None = None, position: int | None = None) -> None:
        super().__init__(message if path is None else f"{path}: {message}")
        self.reason = message
        self.path = path
        self.position = position


class Filter:
    """Base of the filter tree; frozen and hashable. Combine with ``&``, ``|`` and ``~``."""

    __slots__ = ()

    def __and__(self, other: Filter) -> Filter:
        return And((*self.items, other) if isinstance(self, And) else (self, other))

    def __or__(self, other: Filter) -> Filter:
        return Or((*self.items, other) if isinstance(self, Or) else (self, other))

    def __invert__(self) -> Filter:
        return Not(self)

    def __bool__(self) -> bool:
        raise TypeError("a filter has no truth value: combine filters with &, | and ~, compare them with `is None`")


@dataclass(frozen=True, slots=True)
class Condition(Filter):
    """One operator on one field.

    ``value`` is a scalar; a tuple of scalars for ``in``, ``not_in``, ``contains_any`` and ``contains_all``; the two
    inclusive bounds for ``between``; whether the field shall exist for ``exists``. Dates become UTC datetimes. Raises
    :class:`FilterError` for anything else. ``members`` holds the values with their kinds.
    """

    path: Path
    operator: Operator
    value: Any = field(compare=False)
    members: frozenset[Member] = field(init=False, repr=False, compare=False)
    _identity: tuple[Member, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        path = field_path(self.path)
        if self.operator not in OPERATORS:
            raise FilterError(f"no operator {self.operator!r}; there are {', '.join(get_args(Operator))}")
        value = _operand(self.operator, self.value)
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "value", value)
        # True == 1 in Python, not in a filter: what is compared and hashed holds the kinds of values too.
        identity = tuple((kind(item), item) for item in (value if isinstance(value, tuple) else (value,)))
        object.__setattr__(self, "_identity", identity)
        object.__setattr__(self, "members", frozenset(identity))


@dataclass(frozen=True, slots=True)
class And(Filter):
    """All of ``items``; true of everything when there are none."""

    items: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or(Filter):
    """At least one of ``items``; true of nothing when there are none."""

    items: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not(Filter):
    """Whatever ``item`` is not true of, rows without the field included."""

    item: Filter


class F:
    """A field to build conditions on: ``F("year") >= 2024``, ``F("lang").in_(["en", "de"])``, ``F(["a.b"]) == 1``."""

    __slots__ = ("path",)
    __hash__ = None  # type: ignore[assignment]  # == builds a condition, so a field cannot be a key

    def __init__(self, path: str | Sequence[str]) -> None:
        self.path = field_path(path)

    def __eq__(self, value: object) -> Filter:  # type: ignore[override]
        return Condition(self.path, "eq", value)

    def __ne__(self, value: object) -> Filter:  # type: ignore[override]
        return Condition(self.path, "ne", value)

    def __lt__(self, value: Any) -> Filter:
        return Condition(self.path, "lt", value)

    def __le__(self, value: Any) -> Filter:
        return Condition(self.path, "le", value)

    def __gt__(self, value: Any) -> Filter:
        return Condition(self.path, "gt", value)

    def __ge__(self, value: Any) -> Filter:
        return Condition(self.path, "ge", value)

    def between(self, low: Any, high: Any) -> Filter:
        """At least ``low`` and at most ``high``."""
        return Condition(self.path, "between", (low, high))

    def in_(self, values: Sequence[Any]) -> Filter:
        """Equal to one of ``values``."""
        return Condition(self.path, "in", values)

    def not_in(self, values: Sequence[Any]) -> Filter:
        """There, and equal to none of ``values``."""
        return Condition(self.path, "not_in", values)

    def contains(self, value: Any) -> Filter:
        """A list with an element equal to ``value``."""
        return Condition(self.path, "contains", value)

    def contains_any(self, values: Sequence[Any]) -> Filter:
        """A list with an element equal to one of ``values``."""
        return Condition(self.path, "contains_any", values)

    def contains_all(self, values: Sequence[Any]) -> Filter:
        """A list with elements equal to each of ``values``."""
        return Condition(self.path, "contains_all", values)

    def prefix(self, text: str) -> Filter:
        """A string that begins with ``text``."""
        return Condition(self.path, "prefix", text)

    def exists(self, there: bool = True) -> Filter:
        """The field is there, null included (or, False, is not)."""
        return Condition(self.path, "exists", there)


def field_path(path: str | Sequence[str]) -> Path:
    """A path of keys from a dotted text or a sequence of keys; :class:`FilterError` when it names no field."""
    if not isinstance(path, (str, list, tuple)):
        raise FilterError(f"{path!r} names no field: a path is a text or a list of keys")
    keys = tuple(path.split(".")) if isinstance(path, str) else tuple(path)
    if not keys or not all(isinstance(key, str) and key for key in keys):
        raise FilterError(f"{path!r} names no field: a path is one or more keys that are not empty")
    if keys[0].startswith("$") and (len(keys) > 1 or keys[0] not in SYSTEM_FIELDS):
        raise FilterError(f"no system field {'.'.join(keys)!r}; there are {', '.join(sorted(SYSTEM_FIELDS))}")
    return keys


def kind(value: object) -> str:
    """What a value compares as: null, bool, number, string, instant, or other (lists and mappings)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "instant" if isinstance(value, date) else "other"


def leaves(filter: Filter) -> Iterator[Condition]:
    """The conditions of a tree, from left to right."""
    if isinstance(filter, Condition):
        yield filter
    elif isinstance(filter, Not):
        yield from leaves(filter.item)
    elif isinstance(filter, (And, Or)):
        for item in filter.items:
            yield from leaves(item)


def normalise(filter: Filter) -> Filter:
    """An equivalent tree: nested ands and ors flat, repeats and double negations gone, lone items out of their list."""
    if isinstance(filter, Not):
        item = normalise(filter.item)
        return item.item if isinstance(item, Not) else Not(item)
    if isinstance(filter, (And, Or)):
        group = type(filter)
        items: dict[Filter, None] = {}
        for item in map(normalise, filter.items):
            items.update(dict.fromkeys(item.items if isinstance(item, group) else (item,)))
        return next(iter(items)) if len(items) == 1 else group(tuple(items))
    return filter


def intersect(*filters: Filter | None) -> Filter | None:
    """What all of ``filters`` let through; None, which lets everything through, when none of them is a filter."""
    given = tuple(filter for filter in filters if filter is not None)
    return normalise(And(given)) if given else None


def parse_filter(data: Filter | Mapping[str, Any], path: str = "filter") -> Filter:
    """A filter from its JSON form; one that is a filter already is returned as it is.

    ``{"and": [...]}``, ``{"or": [...]}``, ``{"not": {...}}``, or a condition: ``{"field": "year", "op": "ge", "value":
    2024}``, with a list of keys as "field" where keys hold dots. Short for conditions joined by and: ``{"lang": "en",
    "year": {"ge": 2020, "lt": 2025}}``. Instants are ``{"$date": "2024-05-01T00:00:00Z"}``, or dates and datetimes.
    Raises :class:`FilterError` with the path of the fault.
    """
    return _parse(data, path, MAX_DEPTH)


def filter_json(filter: Filter) -> dict[str, Any]:
    """The JSON form :func:`parse_filter` reads; equal filters give equal JSON."""
    if isinstance(filter, Condition):
        value = list(filter.value) if isinstance(filter.value, tuple) else filter.value
        dotted = ".".join(filter.path)
        name = dotted if tuple(dotted.split(".")) == filter.path else list(filter.path)
        return {"field": name, "op": filter.operator, "value": plain(value)}
    if isinstance(filter, Not):
        return {"not": filter_json(filter.item)}
    if isinstance(filter, (And, Or)):
        return {"and" if isinstance(filter, And) else "or": [filter_json(item) for item in filter.items]}
    raise TypeError(f"{type(filter).__name__} is not a node of the filter tree")


def _parse(data: Filter | Mapping[str, Any], path: str, depth: int) -> Filter:
    if isinstance(data, Filter):
        _check_depth(data, path, depth)
        return data
    if not isinstance(data, Mapping):
        raise FilterError(f"a filter is a mapping, not a {type(data).__name__}", path=path)
    if not depth:
        raise FilterError(f"a filter is at most {MAX_DEPTH} levels deep", path=path)
    if len(data) == 1 and (name := next(iter(data))) in ("and", "or", "not"):
        inside = f"{path}.{name}"
        if name == "not":
            return Not(_parse(data[name], inside, depth - 1))
        if not isinstance(data[name], (list, tuple)):
            raise FilterError("a list of filters belongs here", path=inside)
        items = tuple(_parse(item, f"{inside}[{number}]", depth - 1) for number, item in enumerate(data[name]))
        return And(items) if name == "and" else Or(items)
    if "field" in data and "op" in data:
        if unknown := data.keys() - {"field", "op", "value"}:
            raise FilterError(f"a condition has field, op and value, not {min(map(str, unknown))!r}", path=path)
        return _condition(data["field"], data["op"], data.get("value", True), path)
    return normalise(And(tuple(_short(name, value, f"{path}.{name}") for name, value in data.items())))


def _check_depth(filter: Filter, path: str, depth: int) -> None:
    level: list[Filter] = [filter]
    while level:
        if depth < 0:
            raise FilterError(f"a filter is at most {MAX_DEPTH} levels deep", path=path)
        inside: list[Filter] = []
        for item in level:
            if isinstance(item, Not):
                inside.append(item.item)
            elif isinstance(item, (And, Or)):
                inside.extend(item.items)
        level, depth = inside, depth - 1


def _short(name: str, value: Any, path: str) -> Filter:
    if not isinstance(value, Mapping) or "$date" in value:
        return _condition(name, "eq", value, path)
    return And(tuple(_condition(name, operator, item, f"{path}.{operator}") for operator, item in value.items()))


def _condition(name: Any, operator: Any, value: Any, path: str) -> Filter:
    try:
        if not isinstance(name, (str, list, tuple)) or not isinstance(operator, str):
            raise FilterError("field is a text or a list of keys, op a text")
        return Condition(field_path(name), operator, value)  # type: ignore[arg-type]  # checked by Condition itself
    except FilterError as error:
        raise FilterError(error.reason, path=path) from None


def _operand(operator: str, value: Any) -> Any:
    if operator == "exists":
        if not isinstance(value, bool):
            raise FilterError(f"exists takes true or false, not a {type(value).__name__}")
        return value
    if operator in LISTED:
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise FilterError(f"{operator} takes a list of values, not a {type(value).__name__}")
        values = tuple(map(_scalar, value))
        if operator == "between" and len(values) != 2:
            raise FilterError(f"between takes two bounds, not {len(values)}")
    else:
        values = (_scalar(value),)
    if operator in ORDERED and (wrong := [item for item in values if kind(item) in ("null", "bool")]):
        raise FilterError(f"{operator} orders numbers, strings and instants, not {wrong[0]!r}")
    if operator == "prefix" and kind(values[0]) != "string":
        raise FilterError(f"prefix takes a string, not a {type(values[0]).__name__}")
    if operator in LISTED - ORDERED:  # a set of values: one spelling, whatever the order and repeats it came in
        return tuple(item for _, item in sorted({(kind(item), item) for item in values}))
    return values if operator == "between" else values[0]


def _scalar(value: Any) -> Scalar:
    if isinstance(value, Mapping) and value.keys() == {"$date"}:
        try:
            return instant(datetime.fromisoformat(value["$date"]))
        except (TypeError, ValueError):
            raise FilterError(f"{value['$date']!r} is not an ISO 8601 date or time") from None
    if isinstance(value, date):
        return instant(value)
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        if -(2**63) <= value < 2**63:
            return value
        raise FilterError(f"{value} does not fit in 64 bits")
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise FilterError(f"{value} is not a finite number")
    raise FilterError(f"a {type(value).__name__} is not a value a field can be compared with")
