"""The structured chunker: runs, headings, context, pages, JSON, code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from florilege import chunkers
from florilege.model.chunk import PageBox
from florilege.model.document import Block, Document, Span
from florilege.model.errors import ChunkingError, ConfigError
from tests.chunkers.build import document, heading, part, table

PATH = ("Guide", "Setup")


def test_parts_under_one_heading_are_packed_with_it() -> None:
    made = document(
        heading("# Guide", 1, "Guide"),
        part("text", "An opening.", heading_path=("Guide",)),
        heading("## Setup", 2, *PATH),
        part("text", "First.", heading_path=PATH),
        part("code", "pip install x", heading_path=PATH),
        part("text", "Second.", heading_path=PATH),
        title="Guide",
    )
    first, second = chunkers.structured().chunk_document(made).chunks
    assert first.content == "# Guide\n\nAn opening."
    assert first.context == "Guide"  # the title and the first heading are equal
    assert second.content == "## Setup\n\nFirst.\n\npip install x\n\nSecond."
    assert second.context == "Guide > Setup"
    assert second.provenance.headings == PATH
    assert second.provenance.part_ids == ("p2", "p3", "p4", "p5")
    assert second.provenance.source_spans == (Span(made.content.index("## Setup"), len(made.content)),)
    assert (first.ordinal, second.ordinal) == (0, 1)


def test_a_heading_never_stands_alone_unless_nothing_follows() -> None:
    made = document(
        heading("# A", 1, "A"),
        heading("## B", 2, "A", "B"),
        part("text", "x" * 30 + " " + "y" * 30, heading_path=("A", "B")),
        heading("## T", 2, "A", "T"),
        table(["k", "v"], [["1", "2"]], heading_path=("A", "T")),
        heading("## End", 2, "A", "End"),
    )
    chunks = chunkers.structured(50, 0).chunk_document(made).chunks
    assert [chunk.content for chunk in chunks] == [
        "# A\n\n## B\n\n" + "x" * 30,
        "y" * 30,
        "## T\n\nk | v\n1 | 2",
        "## End",
    ]
    assert chunks[0].provenance.headings == ("A", "B")
    assert chunks[2].provenance.tables == ("table 1",)


def test_a_heading_goes_with_the_start_of_a_paragraph_too_long_for_a_chunk() -> None:
    made = document(heading("# H", 1, "H"), part("text", "Some words here. " * 20, heading_path=("H",)))
    first = chunkers.structured(100, 0).chunk_document(made).chunks[0]
    assert first.content.startswith("# H\n\nSome words here.")


def test_an_overlap_nobody_asked_for_gives_way_to_a_small_size() -> None:
    assert (chunkers.structured(100).overlap_chars, chunkers.text(100).overlap_chars) == (50, 50)
    assert chunkers.parent_child(child_max_chars=100).child_overlap_chars == 50
    assert (chunkers.structured().overlap_chars, chunkers.parent_child().child_overlap_chars) == (150, 120)
    with pytest.raises(ConfigError, match="overlap_chars=150 must be smaller than max_chars=100"):
        chunkers.structured(100, 150)


def test_the_heading_trail_counts_and_body_text_is_never_dropped() -> None:
    trail = tuple(f"Heading number {n} with a good many words" for n in range(4))
    made = document(part("text", "The body. " * 10, heading_path=trail), title="The title of it all")
    chunks = chunkers.structured(60, 0).chunk_document(made).chunks
    assert all(len(chunk.full_text) <= 60 for chunk in chunks)
    assert " ".join(chunk.content for chunk in chunks) == ("The body. " * 10).strip()
    assert all(chunk.context.endswith("…") and len(chunk.context) <= 28 for chunk in chunks)
    assert all(chunk.metadata["context_shortened"] is True for chunk in chunks)
    assert chunks[0].provenance.headings == trail


def test_the_trail_is_shortened_from_the_outside() -> None:
    made = document(part("text", "Body.", heading_path=("Outer words", "Inner")), title="Some title")
    (chunk,) = chunkers.structured(50, 0).chunk_document(made).chunks
    assert chunk.context == "… > Outer words > Inner"
    (chunk,) = chunkers.structured(40, 0).chunk_document(made).chunks
    assert chunk.context == "… > Inner"


def test_a_paragraph_marked_up_as_a_heading_is_no_context() -> None:
    long = "A paragraph with a line of dashes under it. " * 20
    made = document(part("text", "Body.", heading_path=(long, "Inner")), title=long)
    (chunk,) = chunkers.structured().chunk_document(made).chunks
    assert chunk.context == "Inner"
    assert chunk.metadata["context_shortened"] is True
    assert chunk.provenance.headings == (long, "Inner")


def test_without_parts_the_content_is_one_text() -> None:
    made = Document(source_id="a", content="One.\n\nTwo.", title="T", metadata={"k": 1})
    (chunk,) = chunkers.structured().chunk_document(made).chunks
    assert (chunk.content, chunk.context, chunk.metadata) == ("One.\n\nTwo.", "T", {"k": 1})
    assert chunk.provenance.source_spans == (Span(0, 10),)
    assert chunk.provenance.part_ids == ()
    assert chunk.chunk_id is None


def test_text_in_no_part_is_kept() -> None:
    content = "---\ntitle: x\n---\n\n# H\n\nOne.\n[ref]: /x\n\nloose\n\n## K\n\nTwo.\n\ntail"
    made = document()
    parts = []
    for number, (text, fields) in enumerate(
        [
            ("# H", {"role": "heading", "level": 1, "heading_path": ("H",)}),
            ("One.", {"heading_path": ("H",)}),
            ("## K", {"role": "heading", "level": 2, "heading_path": ("H", "K")}),
            ("Two.", {"heading_path": ("H", "K")}),
        ]
    ):
        at = content.index(text)
        given = document(part("text", text, **fields)).parts[0]
        parts.append(replace(given, part_id=f"p{number}", span=Span(at, at + len(text))))
    made = Document(source_id="a", content=content, parts=tuple(parts))
    assert [chunk.content for chunk in chunkers.structured().chunk_document(made).chunks] == [
        "---\ntitle: x\n---",
        "# H\n\nOne.\n[ref]: /x",
        "loose\n\n## K\n\nTwo.\n\ntail",
    ]


def test_a_part_that_does_not_slice_back_is_refused() -> None:
    made = document(part("text", "One."))
    broken = replace(made, parts=(replace(made.parts[0], span=Span(1, 5)),))
    with pytest.raises(ChunkingError, match=r"'p0'.*does not slice back"):
        chunkers.structured().chunk_document(broken)


def test_pages_are_never_crossed_and_boxes_are_merged_by_column() -> None:
    lines = [("left one", 0.1, 0.1), ("left two", 0.1, 0.13), ("right one", 0.55, 0.1), ("right two", 0.55, 0.13)]
    blocks = []
    at = 0
    for text, x, y in lines:
        blocks.append(Block(text=text, bbox=(x, y, x + 0.35, y + 0.02), span=Span(at, at + len(text))))
        at += len(text) + 1
    page = part("page", "\n".join(text for text, _, _ in lines), page=1, blocks=tuple(blocks))
    made = document(page, part("page", "Second page.", page=2))
    first, second = chunkers.structured().chunk_document(made).chunks
    assert first.provenance.pages == (1,)
    assert second.provenance.pages == (2,)
    assert first.provenance.bboxes == (
        PageBox(1, (0.1, 0.1, pytest.approx(0.45), pytest.approx(0.15))),
        PageBox(1, (0.55, 0.1, pytest.approx(0.9), pytest.approx(0.15))),
    )
    (both,) = chunkers.structured(merge_pages=True).chunk_document(made).chunks
    assert both.provenance.pages == (1, 2)
    narrow = chunkers.structured(20, 0).chunk_document(made).chunks
    assert [len(chunk.provenance.bboxes) for chunk in narrow] == [1, 1, 0]


def test_boxes_are_found_without_spans_too() -> None:
    blocks = (Block(text="same", bbox=(0, 0, 1, 0.1)), Block(text="same", bbox=(0, 0.8, 1, 0.9)))
    made = document(part("page", "same\nsame", page=3, blocks=blocks))
    chunks = chunkers.structured(4, 0).chunk_document(made).chunks
    assert [chunk.provenance.bboxes[0].bbox[1] for chunk in chunks] == [0, 0.8]


def test_json_siblings_are_packed_under_their_path_and_kept_whole() -> None:
    users = [
        part("json", f"name: user {n}\nmail: u{n}@example.org", json_path=f"$.users[{n}]", json_type="object")
        for n in range(6)
    ]
    made = document(part("json", "version: 3", json_path="$", json_type="object"), *users)
    chunks = chunkers.structured(100, 0).chunk_document(made).chunks
    assert "".join(chunk.content for chunk in chunks).count("name:") == 6
    assert [chunk.content.count("name:") for chunk in chunks] == [2, 2, 2]
    assert chunks[0].context == ""
    assert chunks[1].context == "users"
    assert chunks[1].provenance.json_paths == ("$.users[2]", "$.users[3]")
    alone = chunkers.structured(60, 0).chunk_document(made).chunks
    assert alone[-1].context == "users[5]"


def test_code_is_cut_between_definitions() -> None:
    body = "def a():\n    x = 1\n\n    return x\n\n\ndef b():\n    y = 2\n\n    return y"
    made = document(part("code", body, language="python"))
    assert [chunk.content for chunk in chunkers.structured(50, 0).chunk_document(made).chunks] == body.split("\n\n\n")


def test_code_that_fits_is_not_cut_in_prose_and_no_sentence_cuts_it() -> None:
    code = "# One. Two. Three.\n" * 5
    made = document(part("text", "Words before."), part("code", code.strip()), part("text", "Words after."))
    chunks = chunkers.structured(60, 0).chunk_document(made).chunks
    assert all(
        line in {"# One. Two. Three.", "Words before.", "Words after.", ""}
        for chunk in chunks
        for line in chunk.content.split("\n")
    )


def test_sheets_keep_their_name() -> None:
    rows = [["1", "2"], ["3", "4"]]
    made = document(
        part("sheet", "A note beside the table.", sheet="Budget"),
        table(["a", "b"], rows, sheet="Budget", cell_range="B2:C4"),
    )
    note, cells = chunkers.structured().chunk_document(made).chunks
    assert (note.provenance.sheets, cells.provenance.sheets) == (("Budget",), ("Budget",))
    assert cells.provenance.cell_ranges == ("B3:C4",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_chars": 0}, "max_chars must be a whole number of at least 1, not 0"),
        ({"max_chars": float("nan")}, "max_chars"),
        ({"max_chars": True}, "max_chars"),
        ({"overlap_chars": -1}, "overlap_chars"),
        ({"max_chars": 10, "overlap_chars": 10}, "overlap_chars=10"),
        ({"table_rows_per_chunk": 0}, "table_rows_per_chunk"),
        ({"merge_pages": "yes"}, "merge_pages"),
    ],
)
def test_options_are_checked_when_given(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chunkers.structured(**options)  # type: ignore[arg-type]


def test_options_are_readable_replaceable_and_fingerprinted() -> None:
    chunker = chunkers.structured(800, 80)
    assert (chunker.name, chunker.version) == ("structured", "1")
    assert (chunker.max_chars, chunker.overlap_chars, chunker.table_rows_per_chunk) == (800, 80, 25)
    assert replace(chunker, max_chars=900).fingerprint() != chunker.fingerprint()
    assert chunkers.structured(800, 80).fingerprint() == chunker.fingerprint()
    assert chunkers.text(800, 80).fingerprint() != chunker.fingerprint()
