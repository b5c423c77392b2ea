"""Tables: repeated headers, shrinking windows, rows by cells, ranges."""

from __future__ import annotations

from florilege import chunkers
from florilege.model.document import Span
from tests.chunkers.build import document, part, table


def test_later_windows_repeat_the_header_and_say_so() -> None:
    made = document(table(["id", "name"], [[str(n), f"n{n}"] for n in range(5)]))
    first, second, third = chunkers.structured(200, 0, 2).chunk_document(made).chunks
    assert first.content == "id | name\n0 | n0\n1 | n1"
    assert second.content == "id | name\n2 | n2\n3 | n3"
    assert third.content == "id | name\n4 | n4"
    assert [chunk.provenance.confidence for chunk in (first, second, third)] == ["exact", "derived", "derived"]
    header, rows = second.provenance.source_spans
    assert made.content[header.start : header.end] == "id | name"
    assert made.content[rows.start : rows.end] == "2 | n2\n3 | n3"
    assert second.provenance.tables == ("table 1",)
    assert second.provenance.cell_ranges == ("rows=3-4",)


def test_windows_shrink_until_they_fit_with_the_context_counted() -> None:
    made = document(table(["column"], [["v" * 20] for _ in range(10)]), title="T" * 10)
    chunks = chunkers.structured(62, 0).chunk_document(made).chunks
    assert all(len(chunk.full_text) <= 62 for chunk in chunks)
    assert [chunk.content.count("v" * 20) for chunk in chunks] == [2] * 5


def test_a_row_too_long_is_told_by_cells_with_their_columns() -> None:
    long = "many words in one cell " * 4
    made = document(table(["id", "note", "empty", "last"], [["1", long.strip(), "", "end"], ["2", "b", "c", "d"]]))
    chunks = chunkers.structured(64, 0).chunk_document(made).chunks
    assert all(len(chunk.content) <= 64 for chunk in chunks)
    text = "\n".join(chunk.content for chunk in chunks)
    assert "id: 1" in text
    assert "empty:" in text
    assert "last: end" in text
    notes = [line.removeprefix("note: ") for line in text.split("\n") if line.startswith("note: ")]
    assert " ".join(notes) == long.strip()
    assert "2 | b | c | d" in text


def test_the_range_of_a_row_told_by_cells_names_its_cells() -> None:
    made = document(
        table(["a", "b"], [["x" * 30, "y" * 30]], sheet="S", cell_range="C10:D11"),
    )
    chunks = chunkers.structured(40, 0).chunk_document(made).chunks
    assert [chunk.provenance.cell_ranges for chunk in chunks] == [(), ("C11:C11",), ("D11:D11",)]
    assert chunks[0].content == "a | b"


def test_columns_beyond_z() -> None:
    made = document(table([f"c{n}" for n in range(30)], [["v"] * 30], cell_range="A1:AD2"))
    (chunk,) = chunkers.structured().chunk_document(made).chunks
    assert chunk.provenance.cell_ranges == ("A2:AD2",)


def test_ragged_and_headless_tables() -> None:
    ragged = document(table(["a"], [["1", "extra " * 8]]))
    text = "\n".join(chunk.content for chunk in chunkers.structured(30, 0).chunk_document(ragged).chunks)
    assert text.count("extra") == 8
    headless = document(table([], [["1", "2"], ["3", "4"], ["5", "6"]]))
    chunks = chunkers.structured(12, 0).chunk_document(headless).chunks
    assert [chunk.content for chunk in chunks] == ["1 | 2\n3 | 4", "5 | 6"]
    assert all(chunk.provenance.confidence == "exact" for chunk in chunks)


def test_rows_are_found_where_the_reader_gave_no_spans() -> None:
    made = document(part("table", "a,b\n1,2\n3,4", columns=("a", "b"), rows=(("1", "2"), ("3", "4")), table="t"))
    first, second = chunkers.structured(50, 0, 1).chunk_document(made).chunks
    assert (first.content, second.content) == ("a,b\n1,2", "a,b\n3,4")
    assert second.provenance.source_spans[1] == Span(8, 11, "p0")


def test_a_table_without_rows_is_text() -> None:
    made = document(part("table", "only | header", columns=("only", "header"), table="t"))
    (chunk,) = chunkers.structured().chunk_document(made).chunks
    assert chunk.content == "only | header"


def test_text_under_the_rows_is_kept() -> None:
    rows = (Span(4, 7),)
    made = document(part("table", "a,b\n1,2\nSource: survey", columns=("a", "b"), rows=(("1", "2"),), row_spans=rows))
    (chunk,) = chunkers.structured().chunk_document(made).chunks
    assert chunk.content == "a,b\n1,2\nSource: survey"
    apart = chunkers.structured(10, 0).chunk_document(made).chunks
    assert "".join(chunk.content for chunk in apart).endswith("Source:survey")


def test_a_very_long_header_is_cut_once_and_rows_keep_short_names() -> None:
    columns = ["a very long column name " * 5, "b"]
    made = document(table(columns, [["1", "2"], ["3", "4"]]))
    chunks = chunkers.structured(60, 0).chunk_document(made).chunks
    assert all(len(chunk.content) <= 60 for chunk in chunks)
    assert sum(chunk.content.count("b: ") for chunk in chunks) == 2
    assert any("…: 1" in chunk.content for chunk in chunks)
