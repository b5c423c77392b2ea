"""Filters as masks over blocks.

A field becomes a column: its distinct values and, a row, which of them it holds. A condition is tried once on each
distinct value; and, or and not combine masks. So a filter is exact and costs what its fields' variety costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from florilege.model.filters import SYSTEM_FIELDS, And, Condition, Filter, Not, Or, Path, kind, leaves
from florilege.model.matching import MISSING, holds, lookup
from florilege.stores.fields import Fields
from florilege.stores.resident.blocks import Block
from florilege.stores.resident.inverted import Ints, Mask

_KEPT_MASKS = 64
_SOURCE = ("$source_id",)

Records = Callable[[Sequence[int]], Mapping[int, tuple[Mapping[str, Any], Mapping[str, Any]]]]
Sources = Callable[[Sequence[int]], Mapping[int, str]]


class Masks:
    """Tests filters. ``records`` reads metadata by key (the user's half and the system's), ``sources`` source ids."""

    def __init__(self, records: Records, sources: Sources, fields: Fields) -> None:
        self._records = records
        self._sources = sources
        self._fields = fields

    def of(self, tree: Filter, block: Block) -> Mask:
        """Which rows of ``block`` the filter is true of. Rows no snapshot sees any more may come out either way."""
        paths = dict.fromkeys(leaf.path for leaf in leaves(tree) if leaf not in block.columns)
        self._add_columns(block, [path for path in paths if path not in block.columns])
        return self._of(tree, block)

    def undeclared(self, tree: Filter | None) -> list[str]:
        """The fields a filter names that were not declared, as dotted paths."""
        found = {leaf.path for leaf in leaves(tree)} if tree is not None else set()
        return sorted(".".join(path) for path in found - self._fields.kinds.keys() if path[0] not in SYSTEM_FIELDS)

    def _of(self, tree: Filter, block: Block) -> Mask:
        if isinstance(tree, Condition):
            return self._leaf(tree, block)
        if isinstance(tree, Not):
            return ~self._of(tree.item, block)
        if isinstance(tree, (And, Or)):
            both = np.logical_and if isinstance(tree, And) else np.logical_or
            mask: Mask = np.full(len(block), isinstance(tree, And))
            for item in tree.items:
                mask = both(mask, self._of(item, block))
            return mask
        raise TypeError(f"{type(tree).__name__} is not a node of the filter tree")

    def _leaf(self, condition: Condition, block: Block) -> Mask:
        known: Mask | None = block.columns.get(condition)
        if known is None:
            values, codes = block.columns[condition.path]
            truth = np.fromiter((holds(condition, value) for value in values), dtype=bool, count=len(values))
            known = truth[codes]
            kept = [key for key in block.columns.copy() if isinstance(key, Condition)]
            if len(kept) >= _KEPT_MASKS:
                block.columns.pop(kept[0], None)
            block.columns[condition] = known
        return known

    def _add_columns(self, block: Block, paths: Sequence[Path]) -> None:
        for path in paths:
            if path == _SOURCE:
                keys, codes = _distinct(block, "source", block.source)
                names = self._sources(keys.tolist())
                block.columns[path] = [names.get(key, MISSING) for key in keys.tolist()], codes
        rest = [path for path in paths if path != _SOURCE]
        if not rest:
            return
        keys, codes = _distinct(block, "metadata", block.metadata)
        records = self._records(keys.tolist())
        for path in rest:
            values: dict[object, int] = {}
            kept: list[Any] = []
            numbers = np.empty(len(keys), dtype=np.int32)
            for place, key in enumerate(keys.tolist()):
                value = self._value(path, records.get(key))
                identity = _identity(value)
                number = values.get(identity)
                if number is None:
                    number = values[identity] = len(kept)
                    kept.append(value)
                numbers[place] = number
            block.columns[path] = kept, numbers[codes]

    def _value(self, path: Path, record: tuple[Mapping[str, Any], Mapping[str, Any]] | None) -> Any:
        if record is None:
            return MISSING
        user, system = record
        if path[0] in SYSTEM_FIELDS:
            return system.get(path[0], MISSING)
        return self._fields.value(path, lookup(user, path))


def _distinct(block: Block, name: str, keys: Ints) -> tuple[Ints, Ints]:
    found: tuple[Ints, Ints] | None = block.columns.get(name)
    if found is None:
        distinct, codes = np.unique(keys, return_inverse=True)
        found = block.columns[name] = (distinct, codes.astype(np.int64))
    return found


def _identity(value: Any) -> object:
    """Equal for values no filter can tell apart."""
    if value is MISSING:
        return MISSING
    if isinstance(value, (list, dict)):
        return repr(value)
    return kind(value), value
