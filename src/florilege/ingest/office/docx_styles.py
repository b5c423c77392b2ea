"""What Word's styles and numbering mean for structure: heading levels, titles, list markers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading\s*([1-9])$", re.I)
_MAX_CHAIN = 20


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """``level`` 1 to 9 for headings, 0 else; numbering as (numId, ilvl) or None."""

    level: int = 0
    is_title: bool = False
    is_quote: bool = False
    is_contents: bool = False
    numbering: tuple[str, int] | None = None


class Styles:
    """Paragraph styles by id, read through what they are based on."""

    def __init__(self, roots: list[Any]) -> None:
        self._nodes = {node.get(W + "styleId"): node for root in roots for node in root.iterfind(W + "style")}
        self._known: dict[str | None, ParagraphStyle] = {None: ParagraphStyle()}

    def of(self, properties: Any) -> ParagraphStyle:
        """The style of a paragraph with these properties (None: it has none); its own outline level wins."""
        if properties is None:
            return self._known[None]
        node = properties.find(W + "pStyle")
        name = node.get(W + "val") if node is not None else None
        style = self._known.get(name)
        if style is None:
            style = self._known[name] = self._read(name)
        level = _value(properties, "outlineLvl")
        if level is not None and level.isdecimal() and int(level) < 9 and not style.level:
            return ParagraphStyle(int(level) + 1, numbering=style.numbering)
        return style

    def _read(self, identity: str | None) -> ParagraphStyle:
        level = 0
        names: list[str] = []
        numbering = None
        for _ in range(_MAX_CHAIN):
            node = self._nodes.get(identity)
            name = (_value(node, "name") if node is not None else identity) or ""
            names.append(name.lower())
            match = _HEADING.match(name)
            properties = node.find(W + "pPr") if node is not None else None
            outline = _value(properties, "outlineLvl")
            if not level and match:
                level = int(match[1])
            if not level and outline and outline.isdecimal() and int(outline) < 9:
                level = int(outline) + 1
            numbering = numbering or direct_numbering(properties)
            identity = _value(node, "basedOn") if node is not None else None
            if identity is None:
                break
        return ParagraphStyle(
            level=level,
            is_title="title" in names,
            is_quote=any("quote" in name for name in names),
            is_contents=names[0].startswith("toc ") or names[0] == "table of figures",
            numbering=numbering,
        )


class Numbering:
    """List definitions and the counters of one document."""

    def __init__(self, roots: list[Any]) -> None:
        abstract = {node.get(W + "abstractNumId"): node for root in roots for node in root.iterfind(W + "abstractNum")}
        self._levels: dict[str, dict[int, tuple[str, int]]] = {}
        for root in roots:
            for node in root.iterfind(W + "num"):
                definition = abstract.get(_value(node, "abstractNumId"))
                if definition is not None:
                    self._levels[node.get(W + "numId")] = dict(map(_level, definition.iterfind(W + "lvl")))
        self._counters: dict[str, dict[int, int]] = {}

    def marker(self, properties: Any, style: ParagraphStyle) -> str:
        """The marker of a list paragraph, indented two spaces a level ("- ", "3. "); empty when it is none."""
        place = direct_numbering(properties) or style.numbering
        if place is None or place[0] == "0":
            return ""
        number, level = place
        kind, start = self._levels.get(number, {}).get(level, ("bullet", 1))
        if kind == "none":
            return ""
        indent = "  " * level
        if kind == "bullet":
            return indent + "- "
        counters = self._counters.setdefault(number, {})
        counters[level] = counters.get(level, start - 1) + 1
        for deeper in [other for other in counters if other > level]:
            del counters[deeper]
        return f"{indent}{_numeral(counters[level], kind)}. "


def direct_numbering(properties: Any) -> tuple[str, int] | None:
    """(numId, ilvl) set by these paragraph properties themselves."""
    node = properties.find(W + "numPr") if properties is not None else None
    number = _value(node, "numId")
    if number is None:
        return None
    level = _value(node, "ilvl") or "0"
    return number, min(8, int(level)) if level.isdecimal() else 0


def _value(parent: Any, name: str) -> str | None:
    node = parent.find(W + name) if parent is not None else None
    value: str | None = node.get(W + "val") if node is not None else None
    return value


def _level(node: Any) -> tuple[int, tuple[str, int]]:
    start = _value(node, "start") or "1"
    level = node.get(W + "ilvl") or "0"
    return (
        int(level) if level.isdecimal() else 0,
        (_value(node, "numFmt") or "decimal", int(start) if start.isdecimal() else 1),
    )


def _numeral(number: int, kind: str) -> str:
    if kind in ("lowerLetter", "upperLetter") and number > 0:
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter if kind == "lowerLetter" else letter.upper()
    if kind in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        pairs = zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), _ROMAN, strict=True)
        text = ""
        for value, numeral in pairs:
            count, number = divmod(number, value)
            text += numeral * count
        return text if kind == "lowerRoman" else text.upper()
    return str(number)


_ROMAN = ("m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i")
