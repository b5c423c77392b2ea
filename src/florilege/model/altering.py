"""Copies of records with some fields changed, for the paths that make thousands of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

_T = TypeVar("_T")


class _Plan(NamedTuple):
    """How a kind of record is read and written: its values at once, its slots one by one, which is where."""

    read: Callable[[Any], tuple[Any, ...]]
    write: tuple[Callable[[Any, Any], None], ...]
    places: dict[str, int]


def altered(record: _T, **changes: Any) -> _T:
    """``dataclasses.replace``, in half its time for a slotted dataclass that checks nothing when it is made.

    TypeError for a field the record does not have.
    """
    kind: Any = type(record)
    plan = _plan(kind)
    if plan is None:
        return replace(record, **changes)  # type: ignore[type-var]
    values = list(plan.read(record))
    for name, value in changes.items():
        if name not in plan.places:
            raise TypeError(f"{kind.__name__} has no field {name!r}")
        values[plan.places[name]] = value
    copy: _T = object.__new__(kind)
    for put, value in zip(plan.write, values, strict=True):
        put(copy, value)
    return copy


@cache
def _plan(kind: type[Any]) -> _Plan | None:
    names = [field.name for field in fields(kind)]
    if hasattr(kind, "__post_init__") or kind.__dictoffset__ or len(names) < 2:
        return None
    slots = tuple(getattr(kind, name).__set__ for name in names)
    return _Plan(attrgetter(*names), slots, {name: place for place, name in enumerate(names)})
