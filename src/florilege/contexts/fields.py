"""The schema of items: which fields there are, and what a value of each may be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

from florilege.model.errors import ConfigError
from florilege.model.hashing import instant, plain
from florilege.text.clean import clean_value

FieldType = Literal["text", "longtext", "markdown", "number", "boolean", "date", "json", "enum", "file"]
STANDARD = ("id", "name", "content", "description")
"""What every item has, declared or not; what is not given is None."""

_TEXTS = ("text", "longtext", "markdown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a context's items.

    ``values`` are those of an ``enum``, ``allowed_file_types`` the suffixes (``".pdf"``) of a ``file``'s key (empty:
    any). The items of a file field ``document`` have its key as ``document_key``; the file itself is read by whoever
    needs it, through the storage. Raises :class:`ConfigError` naming the field.
    """

    name: str
    type: FieldType = "text"
    required: bool = False
    values: Sequence[str] = ()
    allowed_file_types: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier() or self.name == "id":
            raise ConfigError(f"field {self.name!r}: a name is a word like 'due_date', and not 'id'")
        if self.type not in get_args(FieldType):
            raise ConfigError(f"field {self.name!r}: type {self.type!r} is not one of {', '.join(get_args(FieldType))}")
        if self.name in STANDARD and self.type not in _TEXTS:
            raise ConfigError(f"field {self.name!r}: what every item has is text, not {self.type}")
        if (self.type == "enum") != bool(self.values):
            raise ConfigError(f"field {self.name!r}: an enum has values, and nothing else has")
        if self.allowed_file_types and self.type != "file":
            raise ConfigError(f"field {self.name!r}: only a file has allowed_file_types")
        if any(not suffix.startswith(".") for suffix in self.allowed_file_types):
            raise ConfigError(f"field {self.name!r}: allowed_file_types are suffixes like '.pdf'")

    @property
    def key(self) -> str:
        """What it is called in an item: a file is there by its key."""
        return f"{self.name}_key" if self.type == "file" else self.name

    @classmethod
    def of(cls, given: Field | Mapping[str, Any]) -> Field:
        """``given``, or a field from a mapping of its options."""
        if isinstance(given, Field):
            return given
        if not isinstance(given, Mapping):
            raise ConfigError(f"fields: a {type(given).__name__} is no Field and no mapping")
        known = [item.name for item in fields(cls)]
        for option in given:
            if option not in known:
                raise ConfigError(f"field {given.get('name')!r}: {option!r} is not one of {', '.join(known)}")
        if "name" not in given:
            raise ConfigError("fields: a field has no name")
        return cls(**given)

    def checked(self, value: Any) -> Any:
        """``value`` as it is kept: dates as moments, text without what cannot be stored. Raises :class:`ValueError`."""
        match self.type:
            case "number":
                if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                    raise ValueError(f"{value!r} is not a finite number")
            case "boolean":
                if not isinstance(value, bool):
                    raise ValueError(f"{value!r} is not True or False")
            case "date":
                return _moment(value)
            case "json":
                plain(value)
            case _:
                self._check_text(value)
        return clean_value(value)

    def _check_text(self, value: Any) -> None:
        if not isinstance(value, str):
            raise ValueError(f"a {type(value).__name__} is not text")
        if self.type == "enum" and value not in self.values:
            raise ValueError(f"{value!r} is not one of {', '.join(self.values)}")
        if self.type == "file" and self.allowed_file_types:
            suffix = PurePosixPath(value).suffix.lower()
            if suffix not in [allowed.lower() for allowed in self.allowed_file_types]:
                raise ValueError(f"{value!r} is not a file of type {', '.join(self.allowed_file_types)}")


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields of a context."""

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, given: Iterable[Field | Mapping[str, Any]]) -> Schema:
        """Fields by name, each once."""
        found: dict[str, Field] = {name: Field(name=name, type="longtext") for name in STANDARD[1:]}
        declared: set[str] = set()
        for item in map(Field.of, given):
            if item.name in declared:
                raise ConfigError(f"field {item.name!r} is declared twice")
            declared.add(item.name)
            found[item.name] = item
        return cls(tuple(found.values()))

    def item(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """``given`` with every field checked and every standard one there.

        Raises :class:`ConfigError` (``bad_item``) naming the item and the field.
        """
        identity = given.get("id") if isinstance(given, Mapping) else None
        if not isinstance(identity, str) or not identity.strip():
            raise ConfigError(f"items: an item's id is a text that is not empty, not {identity!r}", code="bad_item")
        names = {name: field for field in self.fields for name in (field.name, field.key)}
        for name in given:
            if name != "id" and name not in names:
                known = ", ".join(field.name for field in self.fields)
                raise ConfigError(f"item {identity!r}: field {name!r} is not one of {known}", code="bad_item")
        found: dict[str, Any] = {"id": identity}
        for field in self.fields:
            value = given.get(field.key, given.get(field.name))
            if value is None:
                if field.required:
                    raise ConfigError(f"item {identity!r}: field {field.name!r} is required", code="bad_item")
                if field.name in STANDARD:
                    found[field.name] = None
                continue
            try:
                found[field.key] = field.checked(value)
            except (ValueError, ConfigError) as error:
                raise ConfigError(f"item {identity!r}: field {field.name!r}: {error}", code="bad_item") from None
        return found


def _moment(value: Any) -> datetime:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, date):
        raise ValueError(f"a {type(value).__name__} is not a date")
    return instant(value)
