"""Hits with some fields changed, at a tenth of what ``dataclasses.replace`` takes: steps do it for every hit."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from florilege.model.hit import Hit

_set = object.__setattr__


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def changed(hit: Hit, *, provenance: dict[str, Any] | None = None, **changes: Any) -> Hit:
    """``hit`` with other fields, and its provenance with those of ``provenance``. Fields are not checked again."""
    if provenance is not None:
        changes["provenance"] = _copied(hit.provenance, provenance)
    made: Hit = _copied(hit, changes)
    return made


def _copied(record: Any, changes: dict[str, Any]) -> Any:
    kind: type = type(record)
    made: Any = object.__new__(kind)
    for name in _names(kind):
        _set(made, name, changes[name] if name in changes else getattr(record, name))
    return made
