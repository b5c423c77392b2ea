"""Front matter to metadata: TOML by the standard library, and the plain YAML that front matter is written in."""

from __future__ import annotations

import re
from datetime import date, time
from typing import Any

_FIELD = re.compile(r"""(?:"([^"]*)"|'([^']*)'|([^\s#:'"\[\]{},&*!|>%@`-][^:#]*?|[\w-]+))\s*:(?:\s+(.*))?$""")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})(\.\d+)?(?:[eE][-+]?\d{1,2})?$")
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}


def front_matter(text: str, syntax: str) -> tuple[dict[str, Any], list[str]]:
    """The fields of ``text`` and the names of lines or fields that could not be understood.

    YAML is read as a mapping of scalars, block texts and lists of scalars; deeper nesting is reported, not guessed.
    Dates stay text, as written.
    """
    if syntax == "toml":
        import tomllib

        try:
            return _json(tomllib.loads(text)), []
        except (tomllib.TOMLDecodeError, RecursionError):
            return {}, ["toml"]
    return _yaml(text.splitlines())


def _json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    return value.isoformat() if isinstance(value, (date, time)) else value


def _yaml(lines: list[str]) -> tuple[dict[str, Any], list[str]]:
    fields: dict[str, Any] = {}
    skipped: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index].rstrip()
        index += 1
        if not line or line.lstrip().startswith("#"):
            continue
        match = _FIELD.match(line)
        if match is None:
            skipped.append(f"line {index}")
            continue
        key = next(group for group in match.groups()[:3] if group is not None)
        value = (match[4] or "").strip()
        block: list[str] = []
        while index < len(lines) and (not lines[index].strip() or lines[index][0] in " \t-"):
            block.append(lines[index])
            index += 1
        try:
            fields[key] = _value(value, block)
        except ValueError:
            skipped.append(key)
    return fields, skipped


def _value(value: str, block: list[str]) -> Any:
    """A field's value from what follows the colon and the indented lines below; ValueError when it is nested."""
    body = [line.strip() for line in block if line.strip() and not line.lstrip().startswith("#")]
    if value[:1] in ("|", ">") and len(value) <= 3:
        return ("\n" if value[0] == "|" else " ").join(line.strip() for line in block).strip()
    if not body:
        return _list(value[1:-1]) if value.startswith("[") and value.endswith("]") else _scalar(value)
    if not value and all(line == "-" or line.startswith("- ") for line in body):
        return [_item(line[1:].strip()) for line in body]
    if value and not any(_FIELD.match(line) for line in body):
        whole = " ".join([value, *body])
        return _list(whole[1:-1]) if whole.startswith("[") and whole.endswith("]") else _scalar(whole)
    raise ValueError(value)


def _item(text: str) -> Any:
    if _FIELD.match(text):
        raise ValueError(text)
    return _scalar(text)


def _list(text: str) -> list[Any]:
    if "[" in text or "{" in text:
        raise ValueError(text)
    items = re.findall(r"""\s*("[^"]*"|'[^']*'|[^,]*)\s*(?:,|$)""", text)
    return [_scalar(item.strip()) for item in items if item.strip()]


def _scalar(text: str) -> Any:
    if text[:1] in "\"'" and len(text) >= 2 and text[0] in "\"'" and text.endswith(text[0]):
        inner = text[1:-1]
        return inner.replace("''", "'") if text[0] == "'" else inner.replace('\\"', '"').replace("\\\\", "\\")
    text = re.sub(r"\s+#.*", "", text)
    if text[:1] in ("{", "&", "*", "!"):
        raise ValueError(text)
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if match := _NUMBER.match(text):
        return float(text) if match[1] or "e" in text.lower() else int(text)
    return text
