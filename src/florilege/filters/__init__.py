"""Everything about filters: the tree, the builder ``F``, and its JSON and text forms."""

from florilege.filters.parse import parse_filter_text
from florilege.model.filters import (
    And,
    Condition,
    F,
    Filter,
    FilterError,
    Not,
    Or,
    filter_json,
    intersect,
    leaves,
    normalise,
    parse_filter,
)
from florilege.model.matching import MISSING, holds, lookup, matches

__all__ = [
    "MISSING",
    "And",
    "Condition",
    "F",
    "Filter",
    "FilterError",
    "Not",
    "Or",
    "filter_json",
    "holds",
    "intersect",
    "leaves",
    "lookup",
    "matches",
    "normalise",
    "parse_filter",
    "parse_filter_text",
]
