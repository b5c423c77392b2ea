"""Filters: the tree, its meaning, its JSON and text forms."""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from florilege.filters import (
    MISSING,
    And,
    Condition,
    F,
    Filter,
    FilterError,
    Not,
    Or,
    filter_json,
    holds,
    intersect,
    leaves,
    matches,
    normalise,
    parse_filter,
    parse_filter_text,
)
from florilege.model.hashing import canonical_json, plain
from florilege.testing.filters import CASES, ROWS, Row

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([0.0, 1.0, -2.5, 2.0**53]),
    st.sampled_from(["", "a", "ab", "b", "1", "é", "2024-05-01"]),
    st.sampled_from([datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 5, 2, tzinfo=UTC)]),
)
keys = st.sampled_from(["a", "b", "c.d", "$title", "x y"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
)
metadata = st.dictionaries(keys, values, max_size=4)
paths = st.lists(st.sampled_from(["a", "b", "c.d", "x y"]), min_size=1, max_size=2).map(tuple) | st.just(("$title",))
ordered = scalars.filter(lambda value: value is not None and not isinstance(value, bool))
conditions = st.one_of(
    st.builds(Condition, paths, st.sampled_from(["eq", "ne", "contains"]), scalars),
    st.builds(Condition, paths, st.sampled_from(["lt", "le", "gt", "ge"]), ordered),
    st.builds(Condition, paths, st.just("between"), st.tuples(ordered, ordered)),
    st.builds(
        Condition,
        paths,
        st.sampled_from(["in", "not_in", "contains_any", "contains_all"]),
        st.lists(scalars, max_size=4),
    ),
    st.builds(Condition, paths, st.just("prefix"), st.sampled_from(["", "a", "1"])),
    st.builds(Condition, paths, st.just("exists"), st.booleans()),
)
trees = st.recursive(
    conditions,
    lambda inner: st.one_of(
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=8,
)


def system(name: str, row: Row) -> Mapping[str, Any]:
    return {"$source_id": name, "$title": row.title, "$page": row.page, "$media_type": row.media_type}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(filter_json(case.filter))[:80])
def test_case(case: Any) -> None:
    given_rows = {name for name, row in ROWS.items() if matches(case.filter, row.metadata, system(name, row))}
    stored_rows = {name for name, row in ROWS.items() if matches(case.filter, plain(row.metadata), system(name, row))}
    assert given_rows == stored_rows == case.expected


@given(trees, metadata)
def test_stored_metadata_and_json_filters_mean_the_same(tree: Filter, row: dict[str, Any]) -> None:
    title = {"$title": "a"}
    expected = matches(tree, row, title)
    assert matches(tree, plain(row), title) == expected
    assert matches(parse_filter(filter_json(tree)), row, title) == expected
    assert matches(normalise(tree), row, title) == expected
    assert matches(~tree, row, title) != expected


@given(trees)
def test_json_round_trip_is_exact(tree: Filter) -> None:
    again = parse_filter(filter_json(tree))
    assert again == tree
    assert hash(again) == hash(tree)
    assert canonical_json(filter_json(again)) == canonical_json(filter_json(tree))
    assert pickle.loads(pickle.dumps(tree)) == tree


@given(trees)
def test_normalise_is_idempotent(tree: Filter) -> None:
    assert normalise(normalise(tree)) == normalise(tree)


@given(st.lists(trees, max_size=3), metadata)
def test_intersect_only_narrows(filters: list[Filter], row: dict[str, Any]) -> None:
    both = intersect(*filters, None)
    assert (both is None or matches(both, row)) == all(matches(one, row) for one in filters)


@given(conditions, metadata)
def test_a_missing_field_is_false_for_all_but_exists(condition: Condition, row: dict[str, Any]) -> None:
    assert holds(condition, MISSING) == (condition.operator == "exists" and not condition.value)


def test_true_is_not_one_in_equality_and_hash() -> None:
    assert F("a").in_([True]) != F("a").in_([1])
    assert (F("a") == 1).__eq__(F("a") == 1.0)
    assert len({F("a") == True, F("a") == 1, F("a") == 1.0}) == 2  # noqa: E712
    assert normalise((F("a") == True) | (F("a") == 1)) == Or((F("a") == True, F("a") == 1))  # noqa: E712


def test_sets_of_values_have_one_spelling() -> None:
    assert F("a").in_(["b", 2, "a", 2.0]) == F("a").in_([2, "a", "b"]) == F("a").in_({"a", "b", 2})


def test_filters_have_no_truth_value_and_fields_no_hash() -> None:
    with pytest.raises(TypeError, match="&"):
        bool(F("a") == 1)
    with pytest.raises(TypeError):
        _ = (F("a") == 1) and (F("b") == 2)
    with pytest.raises(TypeError):
        hash(F("a"))


def test_leaves_and_flat_combination() -> None:
    tree = (F("a") == 1) & (F("b") > 2) & ~(F("c").exists() | (F("d") == 3))
    assert [leaf.path[0] for leaf in leaves(tree)] == ["a", "b", "c", "d"]
    assert isinstance(tree, And)
    assert len(tree.items) == 3


def test_thousands_of_conditions_joined_one_by_one() -> None:
    tree: Filter = F("a") == -1
    for number in range(3000):
        tree = tree | (F("a") == number)
    assert matches(normalise(tree), {"a": 2999})


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: F("lang").in_("abc"), "in takes a list of values, not a str"),  # type: ignore[arg-type]
        (lambda: F("lang").contains(["a"]), "a list is not a value"),
        (lambda: F("a") == {"b": 1}, "a dict is not a value"),
        (lambda: F("a") == b"x", "a bytes is not a value"),
        (lambda: F("a") < True, "orders numbers"),
        (lambda: F("a") >= None, "orders numbers"),
        (lambda: F("a").between(1, None), "orders numbers"),
        (lambda: F("a") == float("nan"), "not a finite number"),
        (lambda: F("a") == 2**63, "64 bits"),
        (lambda: F("a").prefix(1), "prefix takes a string"),  # type: ignore[arg-type]
        (lambda: F("a").exists("yes"), "true or false"),  # type: ignore[arg-type]
        (lambda: F(""), "names no field"),
        (lambda: F("a..b"), "names no field"),
        (lambda: F([]), "names no field"),
        (lambda: F("$active") == 1, "no system field '$active'"),
        (lambda: F("$page.x") == 1, "no system field"),
        (lambda: Condition(("a",), "like", "x"), "no operator 'like'"),  # type: ignore[arg-type]
    ],
)
def test_what_python_filters_refuse(build: Any, message: str) -> None:
    with pytest.raises(FilterError, match=re.escape(message)):
        build()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"lang": "en"}, F("lang") == "en"),
        (
            {"lang": "en", "year": {"ge": 2020, "lt": 2025}},
            (F("lang") == "en") & (F("year") >= 2020) & (F("year") < 2025),
        ),
        ({"due": {"$date": "2024-05-01"}}, F("due") == date(2024, 5, 1)),
        ({"field": ["a.b", "c"], "op": "in", "value": [1]}, F(["a.b", "c"]).in_([1])),
        ({"field": "a", "op": "exists"}, F("a").exists()),
        ({"not": {"or": [{"a": 1}, {"b": None}]}}, ~((F("a") == 1) | (F("b") == None))),  # noqa: E711
        ({"field": "x"}, F("field") == "x"),
        ({"and": []}, And(())),
        ({}, And(())),
    ],
)
def test_json_forms(data: dict[str, Any], expected: Filter) -> None:
    assert parse_filter(data) == expected
    assert parse_filter(expected) is expected


def _nested(depth: int) -> dict[str, Any]:
    return {"not": _nested(depth - 1)} if depth else {"a": 1}


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"and": [{"a": 1}, {"field": "b", "op": "zz", "value": 1}]}, "filter.and[1]"),
        ({"not": 3}, "filter.not"),
        ({"or": {"a": 1}}, "filter.or"),
        ({"a": {"between": [1]}}, "filter.a.between"),
        ({"a": [1]}, "filter.a"),
        ({"a": {"$date": "soon"}}, "filter.a"),
        ({"a": {"$date": 5}}, "filter.a"),
        ({"field": 5, "op": "eq", "value": 1}, "filter"),
        ({"field": "a", "op": "eq", "value": 1, "valeu": 2}, "filter"),
        ({"a.": 1}, "filter.a."),
        (_nested(100), "filter" + ".not" * 64),
        ("a=1", "filter"),
    ],
)
def test_json_errors_name_their_place(data: Any, path: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter(data)
    assert caught.value.path == path
    assert str(caught.value).startswith(path + ": ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("year>=2024 and lang in [en, de]", (F("year") >= 2024) & F("lang").in_(["en", "de"])),
        ("a=1 or b==2 and c!=3", Or((F("a") == 1, And((F("b") == 2, F("c") != 3))))),
        ("(a=1 or b=2) and c<3", And((Or((F("a") == 1, F("b") == 2)), F("c") < 3))),
        ("NOT a = true AND b Not In [null]", ~(F("a") == True) & F("b").not_in([None])),  # noqa: E712
        ('title = "He said \\"no\\" \\\\ \'yes\'"', F("title") == "He said \"no\" \\ 'yes'"),
        ("t = 'or' and \"and\" = 1", (F("t") == "or") & (F("and") == 1)),
        ("author.\"full name\".'x.y' exists", F(["author", "full name", "x.y"]).exists()),
        (
            "due between 2024-01-01 and 2024-05-01T10:00:00Z",
            F("due").between(date(2024, 1, 1), datetime(2024, 5, 1, 10)),
        ),
        ("due = '2024-01-01'", F("due") == "2024-01-01"),
        ("v = 1.2.3 and w = -1.5e3 and x=.5", (F("v") == "1.2.3") & (F("w") == -1500.0) & (F("x") == 0.5)),
        ("tags contains_any [] and tags contains a", F("tags").contains_any([]) & F("tags").contains("a")),
        ("tags contains_all [a,'b c'] and s prefix \"\"", F("tags").contains_all(["a", "b c"]) & F("s").prefix("")),
        ("$page = 3 and größe ge 1", (F("$page") == 3) & (F("größe") >= 1)),
    ],
)
def test_text_forms(text: str, expected: Filter) -> None:
    assert parse_filter_text(text) == expected


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("a", 1),
        ("a=", 2),
        ("a in en", 5),
        ("a in [1 2]", 8),
        ("a in [1,", 8),
        ("(a=1", 4),
        ("a=1 b=2", 4),
        ("a=1 and", 7),
        ("a..b=1", 1),
        (".a=1", 0),
        ("b=1 and $foo=1", 8),
        ("a < true", 4),
        ("a = 'x", 4),
        ("a = x'y'", 4),
        ("a=2024-13-01", 2),
        ("a=99999999999999999999", 2),
        ("a not 3", 6),
        ("a like b", 2),
        ("a between 1 or 2", 12),
        ("(" * 100 + "a=1" + ")" * 100, 64),
        ("not " * 100 + "a=1", 256),
    ],
)
def test_text_errors_name_their_place(text: str, position: int) -> None:
    with pytest.raises(FilterError) as caught:
        parse_filter_text(text)
    assert caught.value.position == position
    assert f"character {position + 1} " in str(caught.value)


@given(st.text(alphabet="ab.\"'\\()[]=<>!, 01-T:$\n", max_size=40) | st.text(max_size=20))
@example("a='\\")
@example("a = 1" + "0" * 5000)
def test_any_text_is_a_filter_or_a_filter_error(text: str) -> None:
    fault: int | None = None
    try:
        tree: Filter | None = parse_filter_text(text)
    except FilterError as error:
        tree, fault = None, error.position
    assert tree is None or parse_filter(filter_json(tree)) == tree
    assert tree is not None or (fault is not None and 0 <= fault <= len(text))
