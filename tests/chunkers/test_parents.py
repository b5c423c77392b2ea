"""Parents and children."""

from __future__ import annotations

import pytest

from florilege import chunkers
from florilege.model.errors import ConfigError
from tests.chunkers.build import document, heading, part, table


def test_children_are_splits_of_their_parents() -> None:
    made = document(
        heading("# A", 1, "A"),
        part("text", "Alpha words. " * 10, heading_path=("A",)),
        heading("## B", 2, "A", "B"),
        part("text", "Beta words. " * 10, heading_path=("A", "B")),
        heading("# C", 1, "C"),
        part("text", "Gamma.", heading_path=("C",)),
        title="Doc",
        metadata={"k": 1},
    )
    chunks, parents = chunkers.parent_child(1000, 100, 10).chunk_document(made)
    assert [parent.title for parent in parents] == ["A", "C"]
    assert [parent.ordinal for parent in parents] == [0, 1]
    assert parents[0].content == made.content[: made.content.index("# C")].strip()
    assert parents[0].metadata == {"k": 1}
    by_id = {parent.parent_id: parent for parent in parents}
    for chunk in chunks:
        assert chunk.parent is not None
        own = by_id[chunk.parent.parent_id]
        assert chunk.parent.title == own.title
        assert chunk.content in own.content
        (span,), (around,) = chunk.provenance.source_spans, own.provenance.source_spans
        assert around.start <= span.start < span.end <= around.end
    assert {chunk.provenance.headings for chunk in chunks} == {("A",), ("A", "B"), ("C",)}


def test_every_child_finds_its_own_parent_among_equal_ones() -> None:
    section = [heading("# Notes", 1, "Notes"), part("text", "Same words here.", heading_path=("Notes",))]
    made = document(*section, *section, *section)
    chunks, parents = chunkers.parent_child(60, 40, 0).chunk_document(made)
    assert len({parent.parent_id for parent in parents}) == 3
    assert [chunk.parent and chunk.parent.parent_id for chunk in chunks] == [parent.parent_id for parent in parents]


def test_parents_never_cross_a_table_or_a_page() -> None:
    made = document(
        part("text", "Before."),
        table(["a"], [[f"value {n}"] for n in range(30)]),
        part("text", "After."),
        part("page", "Page one.", page=1),
        part("page", "Page two.", page=2),
    )
    chunks, parents = chunkers.parent_child(6000, 100, 0).chunk_document(made)
    assert [parent.content[:8] for parent in parents] == ["Before.", "a\nvalue ", "After.", "Page one", "Page two"]
    assert sum(chunk.parent is not None and chunk.parent.parent_id == parents[1].parent_id for chunk in chunks) > 2


def test_a_table_longer_than_a_parent_has_parents_of_whole_rows() -> None:
    made = document(table(["a", "b"], [[f"row {n}", "x" * 20] for n in range(40)]))
    chunks, parents = chunkers.parent_child(300, 100, 0).chunk_document(made)
    by_id = {parent.parent_id: parent.content.split("\n") for parent in parents}
    assert len(parents) > 3
    for chunk in chunks:
        assert chunk.parent is not None
        assert set(chunk.content.split("\n")) <= set(by_id[chunk.parent.parent_id])


def test_a_parent_too_long_is_cut_and_the_cap_is_hard() -> None:
    made = document(part("text", "A sentence of words. " * 100))
    chunks, parents = chunkers.parent_child(500, 90, 20).chunk_document(made)
    assert all(len(parent.content) <= 500 for parent in parents)
    assert all(len(chunk.full_text) <= 90 for chunk in chunks)
    assert len(parents) == 5


def test_sizes_must_agree() -> None:
    with pytest.raises(ConfigError, match="child_max_chars=900 must not exceed parent_max_chars=800"):
        chunkers.parent_child(800)
    with pytest.raises(ConfigError, match="child_overlap_chars=90 must be smaller than child_max_chars=90"):
        chunkers.parent_child(800, 90, 90)
