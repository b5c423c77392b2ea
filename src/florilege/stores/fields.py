"""Declared metadata fields: what kind of value each holds, checked at write and honoured by filters."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from florilege.model.errors import ConfigError
from florilege.model.filters import Filter, Path, field_path
from florilege.model.hashing import instant
from florilege.model.matching import MISSING, lookup, matches

_NAMES: dict[type, str] = {str: "string", bool: "bool", int: "int", float: "float", datetime: "timestamp", list: "list"}


class Fields:
    """The declared fields of a store: dotted paths to ``str``, ``bool``, ``int``, ``float``, ``datetime`` or ``list``.

    Texts in a timestamp field count as the instants they spell; everything else is only checked.
    """

    def __init__(self, declared: Mapping[str, type | str] | None = None) -> None:
        self.kinds: dict[Path, str] = {}
        for name, declared_type in (declared or {}).items():
            known = _NAMES.get(declared_type) if isinstance(declared_type, type) else declared_type
            if known is None or known not in _NAMES.values():
                raise ConfigError(
                    f"field {name!r} is declared as {declared_type!r}; there are {', '.join(_NAMES.values())}",
                    code="bad_field",
                )
            self.kinds[field_path(name)] = known
        self.instants = sorted(path for path, known in self.kinds.items() if known == "timestamp")

    def __bool__(self) -> bool:
        return bool(self.kinds)

    def names(self) -> dict[str, str]:
        """Dotted paths and kinds, as stored."""
        return {".".join(path): known for path, known in self.kinds.items()}

    def check(self, metadata: Mapping[str, Any], source_id: str) -> None:
        """ConfigError naming the field whose value is not of its kind; missing and null are fine."""
        for path, known in self.kinds.items():
            value = lookup(metadata, path)
            if value is MISSING or value is None or self._fits(known, value):
                continue
            raise ConfigError(
                f"metadata field {'.'.join(path)!r} of {source_id!r} is declared as {known}, "
                f"its value is a {type(value).__name__}",
                code="bad_field",
                source_id=source_id,
            )

    def value(self, path: Path, value: Any) -> Any:
        """A value found at ``path`` as filters see it."""
        if isinstance(value, str) and self.kinds.get(path) == "timestamp":
            return _instant(value)
        return value

    def matches(self, filter: Filter, metadata: Mapping[str, Any], system: Mapping[str, Any]) -> bool:
        """Whether the filter is true of a record."""
        return matches(filter, self.seen(metadata), system)

    def seen(self, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
        """Metadata as filters see it: texts in timestamp fields are instants, or missing when they spell none."""
        for path in self.instants:
            value = lookup(metadata, path)
            if isinstance(value, str):
                metadata = _replaced(metadata, path, _instant(value))
        return metadata

    @staticmethod
    def _fits(known: str, value: Any) -> bool:
        if known == "timestamp":
            return isinstance(value, date) or (isinstance(value, str) and _instant(value) is not MISSING)
        if known == "float":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        if known == "int":
            return isinstance(value, int) and not isinstance(value, bool)
        if known == "list":
            return isinstance(value, (list, tuple))
        return isinstance(value, bool if known == "bool" else str)


def _instant(text: str) -> Any:
    try:
        return instant(datetime.fromisoformat(text))
    except ValueError:
        return MISSING


def _replaced(metadata: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    inner = value if len(path) == 1 else _replaced(metadata[path[0]], path[1:], value)
    return {**metadata, path[0]: inner}
