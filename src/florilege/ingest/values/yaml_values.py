"""The reader of YAML: as that of JSON, over the events of PyYAML, so that no alias is ever expanded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from florilege.ingest.readers.assembly import Assembly
from florilege.ingest.readers.plain import EMPTY, CodeReader, decoded
from florilege.ingest.values.json_values import MAX_DEPTH, Number, add_value, too_deep
from florilege.interfaces.sources import ReadResult
from florilege.model.document import IngestWarning

_SCALAR = "tag:yaml.org,2002:"
_WORDS = {"true": True, "false": False}


class YamlReader:
    """YAML, also several documents in one file (``$[n]`` each). Comments are left out.

    An alias is shown as ``*name``: what it stands for is read once, where its anchor is. What is no YAML (a template,
    say) is kept as one code part, with the warning ``invalid_yaml``.
    """

    id = "yaml"
    version = "1"
    media_types = ("text/x-yaml",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``; raises :class:`ReadError` (``too_deep``) beyond 200 levels."""
        import yaml

        found = decoded(content)
        try:
            values = list(_documents(found.text))
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            result = CodeReader().read(content, "text/x-yaml")
            warning = IngestWarning(code="invalid_yaml", message=f"not YAML{place}; kept as text")
            return ReadResult(content=result.content, parts=result.parts, warnings=(*result.warnings, warning))
        assembly = Assembly()
        assembly.warnings += found.warnings
        for index, value in enumerate(values):
            if value is not None:
                add_value(assembly, "$" if len(values) == 1 else f"$[{index}]", value)
        if not assembly.parts:
            assembly.warnings.append(EMPTY)
        title = values[0].get("title") if values and isinstance(values[0], dict) else None
        return assembly.result(title=title if type(title) is str else None)


def _documents(text: str) -> Iterator[Any]:
    """The value of each document."""
    import yaml

    resolver = yaml.resolver.Resolver()
    open_values: list[_Open] = []
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.DocumentStartEvent):
            open_values = [_Open([])]
        elif isinstance(event, yaml.DocumentEndEvent):
            yield open_values[0].value[0]
        elif isinstance(event, yaml.ScalarEvent):
            tag = event.tag or resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
            open_values[-1].take(_scalar(tag, event.value))
        elif isinstance(event, yaml.AliasEvent):
            open_values[-1].take(f"*{event.anchor}")
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(open_values) > MAX_DEPTH:
                raise too_deep()
            open_values.append(_Open({} if isinstance(event, yaml.MappingStartEvent) else []))
        elif isinstance(event, yaml.CollectionEndEvent):
            done = open_values.pop().value
            open_values[-1].take(done)


class _Open:
    """A mapping or list that is being filled; a mapping waits for a value while it has a key."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key: str | None = None

    def take(self, item: Any) -> None:
        """Put in what comes next."""
        if isinstance(self.value, list):
            self.value.append(item)
        elif self._key is None:
            self._key = str(item) if isinstance(item, str) else _flow(item)
        else:
            self.value[self._key] = item
            self._key = None


def _flow(item: Any) -> str:
    """A key that is no string. Keys within it are not quoted: quoting anew at every level would double each escape."""
    if isinstance(item, dict):
        return "{" + ", ".join(f"{key}: {_flow(value)}" for key, value in item.items()) + "}"
    if isinstance(item, list):
        return "[" + ", ".join(map(_flow, item)) + "]"
    return json.dumps(item, ensure_ascii=False)


def _scalar(tag: str, text: str) -> Any:
    """A plain value; numbers, dates and words like ``yes`` keep the spelling of the file."""
    kind = tag.removeprefix(_SCALAR)
    if kind == "null":
        return None
    if kind in ("int", "float"):
        return Number(text)
    return _WORDS.get(text.lower(), text) if kind == "bool" else text
