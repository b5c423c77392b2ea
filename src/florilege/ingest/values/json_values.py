"""The readers of JSON, JSON Lines and TOML: each value once, under its path.

A container's plain values (and lists of them) are one part, a line each as ``name: value``; containers inside it are
parts of their own. Numbers keep the spelling of the file.
"""

from __future__ import annotations

import json
import re
import tomllib
from datetime import date, time
from typing import Any

from florilege.ingest.readers.assembly import Assembly
from florilege.ingest.readers.plain import EMPTY, TextReader, decoded
from florilege.interfaces.sources import ReadResult
from florilege.model.document import IngestWarning
from florilege.model.errors import ReadError

MAX_DEPTH = 200
_BLANK = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


class Number(str):
    """A number as the file spells it."""

    __slots__ = ()


_DECODER = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=Number, strict=False)


class JsonReader:
    """JSON, also several values one after another (``$[n]`` each).

    What is no JSON but is text is kept as one text part, with the warning ``invalid_json``.
    """

    id = "json"
    version = "1"
    media_types = ("application/json",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``; raises :class:`ReadError` (``too_deep``) beyond 200 levels."""
        found = decoded(content)
        assembly = Assembly()
        assembly.warnings += found.warnings
        if not found.text.strip():
            assembly.warnings.append(EMPTY)
            return assembly.result()
        try:
            values = _values(found.text)
        except json.JSONDecodeError as error:
            return _as_text(content, "invalid_json", f"not JSON at line {error.lineno}, column {error.colno}")
        except RecursionError:
            raise too_deep() from None
        for index, value in enumerate(values):
            add_value(assembly, "$" if len(values) == 1 else f"$[{index}]", value)
        title = values[0].get("title") if isinstance(values[0], dict) else None
        return assembly.result(title=title if type(title) is str else None)


class JsonLinesReader:
    """JSON Lines: a part (or several) a line under ``$[n]``; lines that are no JSON are kept as text and counted.

    ``first`` is the number of the first line.
    """

    id = "jsonl"
    version = "1"
    media_types: tuple[str, ...] = ("application/x-ndjson",)

    def __init__(self, *, first: int = 0) -> None:
        self._first = first

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``."""
        found = decoded(content)
        assembly = Assembly()
        assembly.warnings += found.warnings
        number = self._first
        bad = 0
        for line in re.split(r"\r\n?|\n", found.text):
            if not line.strip():
                continue
            try:
                add_value(assembly, f"$[{number}]", _DECODER.decode(line))
            except (json.JSONDecodeError, RecursionError):
                assembly.add("json", line.strip(), json_path=f"$[{number}]", json_type="invalid")
                bad += 1
            number += 1
        if bad:
            assembly.warn("invalid_json", f"{bad} of {number - self._first} lines are not JSON; they are kept as text")
        if number == self._first:
            assembly.warnings.append(EMPTY)
        return assembly.result()


class TomlReader:
    """TOML. What is no TOML is kept as one text part, with the warning ``invalid_toml``."""

    id = "toml"
    version = "1"
    media_types = ("text/x-toml",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``."""
        found = decoded(content)
        assembly = Assembly()
        assembly.warnings += found.warnings
        try:
            values = tomllib.loads(found.text.replace("\r\n", "\n"), parse_float=Number)
        except tomllib.TOMLDecodeError:
            return _as_text(content, "invalid_toml", "not TOML")
        if not values:
            assembly.warnings.append(EMPTY)
        add_value(assembly, "$", values)
        return assembly.result()


def add_value(assembly: Assembly, path: str, value: Any, depth: int = 0) -> None:
    """Append ``value`` under ``path``."""
    if depth > MAX_DEPTH:
        raise too_deep()
    if not isinstance(value, (dict, list)):
        text = _plain(value)
        if text.strip():
            assembly.add("json", text, json_path=path, json_type=_type(value))
        return
    named = value.items() if isinstance(value, dict) else enumerate(value)
    lines: list[str] = []
    inside: list[tuple[str, Any]] = []
    for key, item in named:
        if isinstance(item, (dict, list)) and not _is_plain_list(item):
            if item:
                inside.append((path + _step(key), item))
            continue
        text = ", ".join(map(_plain, item)) if isinstance(item, list) else _plain(item)
        lines.append(f"{key}: {text}" if isinstance(value, dict) else text)
    if any(line.strip() for line in lines):
        assembly.add("json", "\n".join(lines), json_path=path, json_type=_type(value))
    for below, item in inside:
        add_value(assembly, below, item, depth + 1)


def _values(text: str) -> list[Any]:
    values = []
    position = len(text) - len(text.lstrip())
    while position < len(text):
        value, position = _DECODER.raw_decode(text, position)
        values.append(value)
        blank = _BLANK.match(text, position)
        position = blank.end() if blank else position
    return values


def _is_plain_list(value: Any) -> bool:
    return (
        isinstance(value, list)
        and 0 < len(value) <= 50
        and all(not isinstance(item, (dict, list)) and len(_plain(item)) <= 200 for item in value)
    )


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    return "null" if value is None else "true" if value is True else "false" if value is False else str(value)


def _type(value: Any) -> str:
    kinds: tuple[tuple[Any, str], ...] = (
        (bool, "boolean"),
        ((Number, int), "number"),
        ((str, date, time), "string"),
        (dict, "object"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), "array" if value is not None else "null")


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _NAME.match(key) else f"[{json.dumps(key, ensure_ascii=False)}]"


def _as_text(content: bytes, code: str, problem: str) -> ReadResult:
    result = TextReader().read(content, "text/plain")
    warning = IngestWarning(code=code, message=f"{problem}; kept as text")
    return ReadResult(content=result.content, parts=result.parts, warnings=(*result.warnings, warning))


def too_deep() -> ReadError:
    """The error of values nested beyond the limit."""
    return ReadError(f"values are nested more than {MAX_DEPTH} deep", code="too_deep")
