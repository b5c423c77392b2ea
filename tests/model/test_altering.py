"""Copies with changed fields are what ``dataclasses.replace`` makes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from florilege.model.altering import altered
from florilege.model.chunk import Chunk
from florilege.model.ledger import SourceRecord


@dataclass(frozen=True)
class Checked:
    """Has a dict, and looks at what it is given."""

    size: int
    name: str = "x"

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("size")


class Marked(Chunk):
    """A subclass with room for more."""


@pytest.mark.parametrize(
    ("record", "changes"),
    [
        (Chunk(source_id="a", content="text", metadata={"n": 1}), {"ordinal": 3, "content": "other"}),
        (Chunk(source_id="a", content="text"), {}),
        (SourceRecord(source_id="a", namespace="n"), {"title": "T", "metadata": {"n": 1}}),
        (Checked(1), {"size": 2}),
    ],
)
def test_copies_equal_those_of_replace(record: Checked, changes: dict[str, object]) -> None:
    copy = altered(record, **changes)
    assert copy == replace(record, **changes)  # type: ignore[arg-type]
    assert copy is not record


def test_kinds_are_kept_and_checks_are_made() -> None:
    assert type(altered(Marked(source_id="a", content="text"), ordinal=2)) is Marked
    with pytest.raises(ValueError, match="size"):
        altered(Checked(1), size=-1)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(TypeError, match="ordnal"):
        altered(Chunk(source_id="a", content="text"), ordnal=1)
    with pytest.raises(TypeError):
        altered(Checked(1), sise=1)
