"""What every store must answer: rows of metadata, filters, and which rows each of them lets through.

The answers are written out by hand, so a store is measured by them and not by another implementation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

from florilege.model.filters import And, F, Filter, Or


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row to be stored: one source named after its key in :data:`ROWS`, with one chunk."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    title: str | None = None
    page: int | None = None
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """``filter`` lets through exactly the rows named in ``expected``."""

    filter: Filter
    expected: frozenset[str]


MAY = datetime(2024, 5, 1, tzinfo=UTC)

ROWS: Mapping[str, Row] = {
    "empty": Row(),
    "null": Row(metadata={"n": None, "s": None, "t": None, "d": None, "o": None}),
    "int": Row(metadata={"n": 2024}),
    "float": Row(metadata={"n": 2024.0}),
    "half": Row(metadata={"n": 2024.5}),
    "minus": Row(metadata={"n": -3}),
    "zero": Row(metadata={"n": 0}),
    "big": Row(metadata={"n": 2**53 + 1}),
    "top": Row(metadata={"n": 2**63 - 1}),
    "digits": Row(metadata={"n": "2024"}),
    "true": Row(metadata={"n": True}),
    "false": Row(metadata={"n": False}),
    "numbers": Row(metadata={"n": [2024]}),
    "en": Row(metadata={"s": "en", "t": ["a", "b"], "o": {"k": "v", "deep": {"x": 1}}}),
    "eng": Row(metadata={"s": "eng", "t": ["b", "b", "c"], "o": {"k": "w"}}),
    "upper": Row(metadata={"s": "EN", "t": ["A"]}),
    "quote": Row(metadata={"s": "O'Brien", "t": ["O'Brien", "x') OR 1=1 --"]}),
    "blank": Row(metadata={"s": "", "t": [], "o": {}}),
    "accent": Row(metadata={"s": "\u00e9tude", "t": ["\u00e9"]}),
    "wild": Row(metadata={"s": "50%_*x", "t": ["%"]}),
    "emoji": Row(metadata={"s": "\U0001f600", "t": ["\uffff"]}),
    "strings": Row(metadata={"s": ["en"], "o": ["k"]}),
    "mixed": Row(metadata={"t": [1, 2.5, True, None, "1", MAY]}),
    "nested": Row(metadata={"t": [["a"], {"k": "b"}], "o": {"k": {"k": "v"}}}),
    "word": Row(metadata={"t": "ab", "o": "k"}),
    "may": Row(metadata={"d": MAY}),
    "zone": Row(metadata={"d": datetime(2024, 5, 1, 2, tzinfo=timezone(timedelta(hours=2)))}),
    "day": Row(metadata={"d": date(2024, 5, 1)}),
    "micro": Row(metadata={"d": MAY + timedelta(microseconds=1)}),
    "june": Row(metadata={"d": date(2024, 6, 1)}),
    "old": Row(metadata={"d": datetime(1969, 7, 20, 20, 17, tzinfo=UTC)}),
    "written": Row(metadata={"d": "2024-05-01"}),
    "dots": Row(metadata={"o.k": "flat", "o": {"k.z": 2}}),
    "guide": Row(title="Guide", page=3, media_type="text/markdown", metadata={"title": "other", "page": 9}),
    "annex": Row(title="Guide annex", page=12, media_type="application/pdf"),
}


def _case(filter: Filter, expected: str) -> Case:
    return Case(filter, frozenset(expected.split()))


def _but(names: str) -> str:
    return " ".join(ROWS.keys() - set(names.split()))


_n, _s, _t, _d = F("n"), F("s"), F("t"), F("d")
_HAVE_N = "null int float half minus zero big top digits true false numbers"
_HAVE_S = "null en eng upper quote blank accent wild emoji strings"
_HAVE_T = "null en eng upper quote blank accent wild emoji mixed nested word"
_HAVE_D = "null may zone day micro june old written"
_HAVE_O = "null en eng blank strings nested word dots"
_TWO = timezone(timedelta(hours=2))


def _less(names: str, without: str) -> str:
    return " ".join(set(names.split()) - set(without.split()))


_NUMBERS = (
    _case(_n == 2024, "int float"),
    _case(_n == 2024.0, "int float"),
    _case(_n == 2024.5, "half"),
    _case(_n == "2024", "digits"),
    _case(_n == True, "true"),  # noqa: E712
    _case(_n == False, "false"),  # noqa: E712
    _case(_n == 1, ""),
    _case(_n == 0, "zero"),
    _case(_n == 0.0, "zero"),
    _case(_n == -0.0, "zero"),
    _case(_n == None, "null"),  # noqa: E711
    _case(_n == 2**53 + 1, "big"),
    _case(_n == 2**53, ""),
    _case(_n == float(2**53), ""),
    _case(_n == 2**63 - 1, "top"),
    _case(_n == float(2**63), ""),
    _case(_n == -(2**63), ""),
    _case(_n == MAY, ""),
    _case(_n != 2024, _less(_HAVE_N, "int float")),
    _case(_n != 2024.5, _less(_HAVE_N, "half")),
    _case(_n != "2024", _less(_HAVE_N, "digits")),
    _case(_n != True, _less(_HAVE_N, "true")),  # noqa: E712
    _case(_n != 1, _HAVE_N),
    _case(_n != None, _less(_HAVE_N, "null")),  # noqa: E711
    _case(_n != 2**53, _HAVE_N),
    _case(_n < 2024, "minus zero"),
    _case(_n <= 2024, "minus zero int float"),
    _case(_n > 2024, "half big top"),
    _case(_n >= 2024, "int float half big top"),
    _case(_n >= 2024.25, "half big top"),
    _case(_n < 0, "minus"),
    _case(_n < 0.5, "minus zero"),
    _case(_n > -3, "zero int float half big top"),
    _case(_n > 2**53, "big top"),
    _case(_n > float(2**53), "big top"),
    _case(_n < float(2**53), "minus zero int float half"),
    _case(_n <= 2**53 + 1, "minus zero int float half big"),
    _case(_n < 2**53 + 1, "minus zero int float half"),
    _case(_n > 2**63 - 2, "top"),
    _case(_n < float(2**63), "minus zero int float half big top"),
    _case(_n >= float(2**63), ""),
    _case(_n >= -1e308, "minus zero int float half big top"),
    _case(_n < "2025", "digits"),
    _case(_n >= "2024", "digits"),
    _case(_n > "2024", ""),
    _case(_n.between(0, 2024), "zero int float"),
    _case(_n.between(2024, 2024.5), "int float half"),
    _case(_n.between(2024.1, 2024.4), ""),
    _case(_n.between(2025, 2023), ""),
    _case(_n.between("2", "3"), "digits"),
    _case(_n.between(0, "3"), ""),
    _case(_n.in_([2024]), "int float"),
    _case(_n.in_([2024.0, 0]), "int float zero"),
    _case(_n.in_(["2024"]), "digits"),
    _case(_n.in_(["2024", 2024, True, None]), "digits int float true null"),
    _case(_n.in_([1]), ""),
    _case(_n.in_([True, False]), "true false"),
    _case(_n.in_([]), ""),
    _case(_n.in_([2**53, 2**53 + 2]), ""),
    _case(_n.in_([2**53 + 1, 2**63 - 1]), "big top"),
    _case(_n.not_in([2024]), _less(_HAVE_N, "int float")),
    _case(_n.not_in(["2024", 0]), _less(_HAVE_N, "digits zero")),
    _case(_n.not_in([None, True]), _less(_HAVE_N, "null true")),
    _case(_n.not_in([]), _HAVE_N),
    _case(_n.exists(), _HAVE_N),
    _case(_n.exists(False), _but(_HAVE_N)),
    _case(_n.prefix("20"), "digits"),
    _case(_n.contains(2024), "numbers"),
    _case(_n.contains("2024"), ""),
)

_STRINGS = (
    _case(_s == "en", "en"),
    _case(_s == "EN", "upper"),
    _case(_s == "", "blank"),
    _case(_s == "O'Brien", "quote"),
    _case(_s == "x') OR 1=1 --", ""),
    _case(_s == "\u00e9tude", "accent"),
    _case(_s == "e\u0301tude", ""),
    _case(_s == "etude", ""),
    _case(_s == "50%_*x", "wild"),
    _case(_s == "%", ""),
    _case(_s == "\U0001f600", "emoji"),
    _case(_s == None, "null"),  # noqa: E711
    _case(_s == 0, ""),
    _case(_s != "en", _less(_HAVE_S, "en")),
    _case(_s != "", _less(_HAVE_S, "blank")),
    _case(_s != "O'Brien", _less(_HAVE_S, "quote")),
    _case(_s != 5, _HAVE_S),
    _case(_s != None, _less(_HAVE_S, "null")),  # noqa: E711
    _case(_s < "en", "upper quote blank wild"),
    _case(_s <= "en", "upper quote blank wild en"),
    _case(_s > "en", "eng accent emoji"),
    _case(_s >= "en", "en eng accent emoji"),
    _case(_s > "", "en eng upper quote accent wild emoji"),
    _case(_s >= "", "en eng upper quote blank accent wild emoji"),
    _case(_s < "", ""),
    _case(_s > "\uffff", "emoji"),
    _case(_s < "\uffff", "en eng upper quote blank accent wild"),
    _case(_s < 5, ""),
    _case(_s.between("a", "f"), "en eng"),
    _case(_s.between("en", "eng"), "en eng"),
    _case(_s.between("A", "Z"), "upper quote"),
    _case(_s.in_(["en", "EN"]), "en upper"),
    _case(_s.in_(["O'Brien"]), "quote"),
    _case(_s.in_(["x') OR 1=1 --"]), ""),
    _case(_s.in_(["", None]), "blank null"),
    _case(_s.in_(["e", "n"]), ""),
    _case(_s.in_([f"k{number}" for number in range(2000)] + ["eng"]), "eng"),
    _case(_s.not_in(["en", "eng"]), _less(_HAVE_S, "en eng")),
    _case(_s.not_in(["O'Brien", ""]), _less(_HAVE_S, "quote blank")),
    _case(_s.prefix("en"), "en eng"),
    _case(_s.prefix("eng"), "eng"),
    _case(_s.prefix("engl"), ""),
    _case(_s.prefix("E"), "upper"),
    _case(_s.prefix(""), "en eng upper quote blank accent wild emoji"),
    _case(_s.prefix("%"), ""),
    _case(_s.prefix("50%"), "wild"),
    _case(_s.prefix("50_"), ""),
    _case(_s.prefix("50%_*"), "wild"),
    _case(_s.prefix("*"), ""),
    _case(_s.prefix("O'"), "quote"),
    _case(_s.prefix("\u00e9"), "accent"),
    _case(_s.prefix("\U0001f600"), "emoji"),
    _case(_s.contains("en"), "strings"),
    _case(_s.contains("e"), ""),
    _case(_s.exists(), _HAVE_S),
    _case(_s.exists(False), _but(_HAVE_S)),
)

_LISTS = (
    _case(_t.contains("a"), "en"),
    _case(_t.contains("b"), "en eng"),
    _case(_t.contains("A"), "upper"),
    _case(_t.contains("ab"), ""),
    _case(_t.contains(""), ""),
    _case(_t.contains("O'Brien"), "quote"),
    _case(_t.contains("x') OR 1=1 --"), "quote"),
    _case(_t.contains("%"), "wild"),
    _case(_t.contains("\u00e9"), "accent"),
    _case(_t.contains("\uffff"), "emoji"),
    _case(_t.contains(1), "mixed"),
    _case(_t.contains(1.0), "mixed"),
    _case(_t.contains("1"), "mixed"),
    _case(_t.contains(2.5), "mixed"),
    _case(_t.contains(2), ""),
    _case(_t.contains(True), "mixed"),
    _case(_t.contains(False), ""),
    _case(_t.contains(0), ""),
    _case(_t.contains(None), "mixed"),
    _case(_t.contains(MAY), "mixed"),
    _case(_t.contains(datetime(2024, 5, 1, 2, tzinfo=_TWO)), "mixed"),
    _case(_t.contains_any(["a", "c"]), "en eng"),
    _case(_t.contains_any(["A", 1]), "upper mixed"),
    _case(_t.contains_any(["zz"]), ""),
    _case(_t.contains_any([]), ""),
    _case(_t.contains_any([None, "%"]), "mixed wild"),
    _case(_t.contains_all(["a", "b"]), "en"),
    _case(_t.contains_all(["b", "b"]), "en eng"),
    _case(_t.contains_all(["b"]), "en eng"),
    _case(_t.contains_all(["b", "c"]), "eng"),
    _case(_t.contains_all(["a", "zz"]), ""),
    _case(_t.contains_all([1, True, "1", None]), "mixed"),
    _case(_t.contains_all([]), "en eng upper quote blank accent wild emoji mixed nested"),
    _case(_t == "ab", "word"),
    _case(_t == "a", ""),
    _case(_t != "a", _HAVE_T),
    _case(_t != "ab", _less(_HAVE_T, "word")),
    _case(_t.in_(["a", "ab"]), "word"),
    _case(_t.not_in(["a", "ab"]), _less(_HAVE_T, "word")),
    _case(_t > "a", "word"),
    _case(_t.prefix("a"), "word"),
    _case(_t.exists(), _HAVE_T),
    _case(_t.exists(False), _but(_HAVE_T)),
    _case(~_t.contains("b"), _but("en eng")),
)

_INSTANTS = (
    _case(_d == MAY, "may zone day"),
    _case(_d == date(2024, 5, 1), "may zone day"),
    _case(_d == datetime(2024, 5, 1), "may zone day"),
    _case(_d == datetime(2024, 5, 1, 2, tzinfo=_TWO), "may zone day"),
    _case(_d == datetime(2024, 5, 1, tzinfo=_TWO), ""),
    _case(_d == MAY + timedelta(microseconds=1), "micro"),
    _case(_d == "2024-05-01", "written"),
    _case(_d == None, "null"),  # noqa: E711
    _case(_d == 0, ""),
    _case(_d != MAY, _less(_HAVE_D, "may zone day")),
    _case(_d != "2024-05-01", _less(_HAVE_D, "written")),
    _case(_d < MAY, "old"),
    _case(_d <= MAY, "old may zone day"),
    _case(_d > MAY, "micro june"),
    _case(_d >= MAY, "may zone day micro june"),
    _case(_d >= datetime(2024, 5, 1, 2, tzinfo=_TWO), "may zone day micro june"),
    _case(_d > date(2024, 5, 31), "june"),
    _case(_d < date(1970, 1, 1), "old"),
    _case(_d > "2024", "written"),
    _case(_d < "2025-01-01", "written"),
    _case(_d < 9e18, ""),
    _case(_d.between(MAY, MAY), "may zone day"),
    _case(_d.between(date(2024, 5, 1), date(2024, 6, 1)), "may zone day micro june"),
    _case(_d.between(date(1900, 1, 1), date(2000, 1, 1)), "old"),
    _case(_d.in_([MAY, date(2024, 6, 1)]), "may zone day june"),
    _case(_d.in_([MAY, "2024-05-01"]), "may zone day written"),
    _case(_d.not_in([MAY]), _less(_HAVE_D, "may zone day")),
    _case(_d.prefix("2024"), "written"),
    _case(_d.contains(MAY), ""),
    _case(_d.exists(), _HAVE_D),
    _case(F("d.$date").exists(), ""),
)

_PATHS = (
    _case(F("o.k") == "v", "en"),
    _case(F("o.k") != "v", "eng nested"),
    _case(F("o.k").exists(), "en eng nested"),
    _case(F("o.k").in_(["v", "w"]), "en eng"),
    _case(F("o.k").prefix("w"), "eng"),
    _case(F("o.deep.x") == 1, "en"),
    _case(F("o.deep.x") > 0.5, "en"),
    _case(F("o.deep.y").exists(), ""),
    _case(F("o.deep").exists(), "en"),
    _case(F("o.deep") == "x", ""),
    _case(F("o.deep") != "x", "en"),
    _case(F("o.k.k") == "v", "nested"),
    _case(F(["o.k"]) == "flat", "dots"),
    _case(F(["o", "k.z"]) == 2, "dots"),
    _case(F("o.k.z") == 2, ""),
    _case(F("o").exists(), _HAVE_O),
    _case(F("o") == "k", "word"),
    _case(F("o") != "k", _less(_HAVE_O, "word")),
    _case(F("o").contains("k"), "strings"),
    _case(F("t.k") == "b", ""),
    _case(F("t.0") == "a", ""),
    _case(F("nowhere") == 1, ""),
    _case(F("nowhere") != 1, ""),
    _case(F("nowhere").not_in([1]), ""),
    _case(F("nowhere").exists(False), _but("")),
    _case(F(["o'; DROP TABLE chunk; --"]) == 1, ""),
    _case(F(['o"]."k']) == "v", ""),
)

_SYSTEM = (
    _case(F("$source_id") == "en", "en"),
    _case(F("$source_id").in_(["en", "eng", "nobody"]), "en eng"),
    _case(F("$source_id").prefix("en"), "en eng"),
    _case(F("$source_id") != "en", _but("en")),
    _case(F("$source_id") > "word", "written zero zone"),
    _case(F("$title") == "Guide", "guide"),
    _case(F("$title").prefix("Guide"), "guide annex"),
    _case(F("$title").exists(), "guide annex"),
    _case(F("$title") != "Guide", "annex"),
    _case(F("$page") == 3, "guide"),
    _case(F("$page") >= 3, "guide annex"),
    _case(F("$page") > 3, "annex"),
    _case(F("$page").in_([3.0]), "guide"),
    _case(F("$page") == "3", ""),
    _case(F("$page").exists(False), _but("guide annex")),
    _case(F("$media_type") == "application/pdf", "annex"),
    _case(F("$media_type").prefix("text/"), "guide"),
    _case(F("title") == "other", "guide"),
    _case(F("page") == 9, "guide"),
)

_TREES = (
    _case(And(()), _but("")),
    _case(Or(()), ""),
    _case(~And(()), ""),
    _case((_n >= 2024) & (_n <= 2024.5), "int float half"),
    _case((_n == 2024) & (_s == "en"), ""),
    _case((_n == 2024) | (_s == "en"), "int float en"),
    _case((_s == "en") | (_s == "eng") | (_d == MAY), "en eng may zone day"),
    _case(~(_n == 2024), _but("int float")),
    _case(~(_n != 2024), _but(_less(_HAVE_N, "int float"))),
    _case(~~(_n == 2024), "int float"),
    _case(~(_n > 2024), _but("half big top")),
    _case(~(_s.prefix("en") | _s.exists(False)), _less(_HAVE_S, "en eng")),
    _case(_s.exists() & ~_s.prefix("en"), _less(_HAVE_S, "en eng")),
    _case(~((_n == 2024) & (_s == "en")), _but("")),
    _case((_t.contains("b") & ~_t.contains("a")) | (F("$page") == 12), "eng annex"),
    _case(Or((*(_s == f"s{number}" for number in range(300)), _s == "en")), "en"),
    _case(And((*(_s != f"s{number}" for number in range(300)), _s.prefix("e"))), "en eng"),
)

CASES: tuple[Case, ...] = (*_NUMBERS, *_STRINGS, *_LISTS, *_INSTANTS, *_PATHS, *_SYSTEM, *_TREES)
"""Every case; the filters are data, so a suite of its own may add to them."""
