"""Filters as people type them: ``year >= 2024 and lang in [en, de]``.

    filter    = all ("or" all)*
    all       = one ("and" one)*
    one       = "not" one | "(" filter ")" | field "exists" | field operator value
    operator  = "=" "==" "!=" "<" "<=" ">" ">=", or eq ne lt le gt ge prefix contains,
                or, before a list, in "not in" contains_any contains_all, or between (value "and" value)
    list      = "[" value, ... "]"
    field     = keys joined by dots, quoted where they hold other characters: author."full name"
    value     = a quoted text ("..." or '...', with backslash escapes), true, false, null, a number, a date or time
                (2024-05-01, 2024-05-01T10:00:00Z), or else a bare word that is a text

Words that mean something (and, or, not, operators) may be in any case; quoted, they are plain text.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, NamedTuple, NoReturn

from florilege.model.filters import (
    LISTED,
    MAX_DEPTH,
    OPERATORS,
    And,
    Condition,
    Filter,
    FilterError,
    Not,
    Or,
    Path,
    field_path,
    normalise,
)

_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_BARE = r"""[^\s()\[\],=<>!"']"""
_TOKEN = re.compile(rf"(?P<symbol>==|!=|<=|>=|[=<>()\[\],])|(?P<word>(?:{_BARE}|{_QUOTED})+)|(?P<wrong>\S)", re.DOTALL)
_KEY = re.compile(rf"(?:{_QUOTED}|[^.\"'])+|(?P<empty>\.\.|^\.|\.$)", re.DOTALL)
_WHOLE = re.compile(_QUOTED, re.DOTALL)
_SYMBOLS = {"=": "eq", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_CONSTANTS = {"true": True, "false": False, "null": None}
_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.?[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T:0-9.Z+-]*)")


class _Token(NamedTuple):
    kind: str
    text: str
    position: int

    def says(self, *words: str) -> bool:
        return self.kind != "end" and self.text.lower() in words


def parse_filter_text(text: str) -> Filter:
    """The filter that ``text`` spells. Raises :class:`FilterError` with the ``position`` of the fault."""
    return _Parser(text).filter()


class _Parser:
    def __init__(self, text: str) -> None:
        found = [_Token(match.lastgroup or "", match[0], match.start()) for match in _TOKEN.finditer(text)]
        self._tokens = [*found, _Token("end", "the end", len(text))]
        self._at = 0
        self._depth = 0

    def filter(self) -> Filter:
        filter = self._any()
        if self._next.kind != "end":
            self._fail("and, or or the end")
        return normalise(filter)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _fail(self, expected: str, token: _Token | None = None) -> NoReturn:
        token = token or self._next
        found = token.text if token.kind == "end" else repr(token.text[:40])
        _fault(f"expected {expected}, found {found}", token.position)

    def _take(self, *words: str) -> bool:
        if self._next.says(*words):
            self._at += 1
            return True
        return False

    def _expect(self, *symbols: str) -> None:
        if not self._take(*symbols):
            self._fail(" or ".join(symbols))

    def _word(self, expected: str) -> _Token:
        token = self._next
        if token.kind != "word":
            self._fail(expected)
        self._at += 1
        return token

    def _any(self) -> Filter:
        items = [self._all()]
        while self._take("or"):
            items.append(self._all())
        return Or(tuple(items))

    def _all(self) -> Filter:
        items = [self._one()]
        while self._take("and"):
            items.append(self._one())
        return And(tuple(items))

    def _one(self) -> Filter:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            _fault(f"a filter is at most {MAX_DEPTH} levels deep", self._next.position)
        if self._take("not"):
            filter: Filter = Not(self._one())
        elif self._take("("):
            filter = self._any()
            self._expect(")")
        else:
            filter = self._condition()
        self._depth -= 1
        return filter

    def _condition(self) -> Filter:
        path = _path(self._word("a field"))
        operator = self._operator()
        at = self._next.position
        value: Any = True
        if operator == "between":
            low = self._value()
            self._expect("and")
            value = (low, self._value())
        elif operator in LISTED:
            value = self._list()
        elif operator != "exists":
            value = self._value()
        try:
            return Condition(path, operator, value)  # type: ignore[arg-type]  # checked by Condition itself
        except FilterError as error:
            _fault(error.reason, at)

    def _operator(self) -> str:
        token = self._next
        if token.kind == "symbol" and token.text in _SYMBOLS:
            self._at += 1
            return _SYMBOLS[token.text]
        if self._take("not"):
            self._expect("in")
            return "not_in"
        name = token.text.lower()
        if token.kind != "word" or name not in OPERATORS:
            self._fail("an operator")
        self._at += 1
        return name

    def _list(self) -> list[Any]:
        self._expect("[")
        values: list[Any] = []
        while not self._take("]"):
            if values:
                self._expect(",", "]")
            values.append(self._value())
        return values

    def _value(self) -> Any:
        token = self._word("a value")
        text = token.text
        if _WHOLE.fullmatch(text):
            return _unquoted(text)
        if '"' in text or "'" in text:
            _fault("quote the whole value, or none of it", token.position)
        if text.lower() in _CONSTANTS:
            return _CONSTANTS[text.lower()]
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        if _DATE.fullmatch(text):
            try:
                return datetime.fromisoformat(text)
            except ValueError:
                _fault(f"{text[:40]!r} is not a date or time; quote it to mean a text", token.position)
        return text


def _path(token: _Token) -> Path:
    keys = []
    for match in _KEY.finditer(token.text):
        if match["empty"]:
            _fault("a key between dots is empty", token.position + match.start())
        keys.append(_WHOLE.sub(lambda quoted: _unquoted(quoted[0]), match[0]))
    try:
        return field_path(keys)
    except FilterError as error:
        _fault(error.reason, token.position)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)


def _fault(reason: str, position: int) -> NoReturn:
    raise FilterError(f"character {position + 1} of the filter: {reason}", position=position)
