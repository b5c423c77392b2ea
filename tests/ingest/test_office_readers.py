"""Word, workbook and PDF readers on small files built here."""

from __future__ import annotations

from typing import Any

import pytest

from florilege.ingest.office.docx_styles import Numbering
from florilege.ingest.office.sheets import cell_text
from florilege.ingest.pdf.reader import PdfReader
from florilege.ingest.pdf.tables import TableGrid
from florilege.ingest.reading import Reading
from florilege.model.document import Document
from florilege.model.errors import ReadError
from tests.ingest.build import cells, docx, pdf, text_at, xlsx, zipped


def read(data: bytes, name: str) -> Document:
    return Reading(isolate=False).document(data, source_id=name, name=name)


def shape(document: Document) -> list[tuple[Any, ...]]:
    return [(part.role or part.kind, part.text) for part in document.parts]


def p(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def tc(inner: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


# -- Word -------------------------------------------------------------------------------------------------------

STYLES = (
    '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Mine"><w:name w:val="My chapter"/><w:basedOn w:val="H1"/></w:style>'
    '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
    '<w:style w:styleId="TOC1"><w:name w:val="toc 1"/></w:style>'
)
NUMBERING = (
    '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="7"><w:abstractNumId w:val="0"/></w:num>'
)


def numbered(level: int) -> str:
    return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="7"/></w:numPr>'


@pytest.mark.parametrize("strict", [False, True])
def test_word_structure(strict: bool) -> None:
    body = (
        p("The Book", '<w:pStyle w:val="T"/>')
        + p("Contents line", '<w:pStyle w:val="TOC1"/>')
        + p("One", '<w:pStyle w:val="Mine"/>')
        + p("Direct", '<w:outlineLvl w:val="1"/>')
        + p("third", numbered(0))
        + p("inner", numbered(1))
        + p("fourth", numbered(0))
    )
    document = read(docx(body, strict=strict, styles=STYLES, numbering=NUMBERING), "a.docx")
    assert shape(document) == [
        ("title", "The Book"),
        ("heading", "One"),
        ("heading", "Direct"),
        ("list_item", "3. third"),
        ("list_item", "  a. inner"),
        ("list_item", "4. fourth"),
    ]
    assert document.title == "The Book"
    assert document.parts[-1].heading_path == ("One", "Direct")


def test_word_text_is_whole() -> None:
    body = (
        "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>"
        "<w:hyperlink><w:r><w:t> link</w:t></w:r></w:hyperlink>"
        "<w:ins><w:r><w:t> new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
        "<w:r><w:fldChar/><w:instrText>PAGE</w:instrText></w:r>"
        "<w:r><mc:AlternateContent><mc:Choice><wps:txbx><w:txbxContent>"
        + p("boxed")
        + "</w:txbxContent></wps:txbx></mc:Choice><mc:Fallback><v:textbox><w:txbxContent>"
        + p("boxed")
        + "</w:txbxContent></v:textbox></mc:Fallback></mc:AlternateContent></w:r></w:p>"
        + f"<w:sdt><w:sdtContent>{p('controlled')}</w:sdtContent></w:sdt>"
        + "<w:p><w:r><w:ruby><w:rt><w:r><w:t>とう</w:t></w:r></w:rt>"
        + "<w:rubyBase><w:r><w:t>東</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>"
    )
    notes = f'<w:footnote w:type="separator">{p("---")}</w:footnote><w:footnote w:id="2">{p("a note")}</w:footnote>'
    comment = f'<w:comment w:author="Ann">{p("really?")}</w:comment>'
    document = read(
        docx(body, footnotes=notes, comments=comment, header1=p("Draft"), header2=p("Draft"), footer1=p("12")), "a.docx"
    )
    assert shape(document) == [
        ("paragraph", "a b\nc link new"),
        ("paragraph", "boxed"),
        ("paragraph", "controlled"),
        ("paragraph", "東"),
        ("footnote", "a note"),
        ("comment", "Ann: really?"),
        ("header", "Draft"),
    ]


def test_word_tables() -> None:
    nested = f"<w:tbl><w:tr>{tc(p('n1'))}{tc(p('n2'))}</w:tr></w:tbl>"
    wide, first, below = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    rows = (
        f"<w:tr><w:trPr><w:tblHeader/></w:trPr>{tc(p('Kind'))}{tc(p('Price'), wide)}</w:tr>"
        f"<w:tr>{tc(p('a') + p('b'), first)}{tc(p('1'))}{tc(p('2') + nested)}</w:tr>"
        f"<w:tr>{tc(p('hidden'), below)}{tc(p('3'))}{tc(p('4'))}</w:tr>"
    )
    frame = f"<w:tbl><w:tr>{tc(p('framed'))}</w:tr></w:tbl>"
    document = read(docx(f"<w:tbl>{rows}</w:tbl>{frame}"), "a.docx")
    outer, inner, framed = document.parts
    assert (outer.columns, outer.rows) == (("Kind", "Price", ""), (("a b", "1", "2"), ("", "3", "4")))
    assert inner.rows == (("n1", "n2"),)
    assert (framed.kind, framed.text) == ("text", "framed")


def test_numerals() -> None:
    from florilege.ingest.office.docx_styles import _numeral

    assert [_numeral(n, "lowerRoman") for n in (1, 4, 9, 1999)] == ["i", "iv", "ix", "mcmxcix"]
    assert [_numeral(n, "upperLetter") for n in (1, 26, 27)] == ["A", "Z", "AA"]
    assert Numbering([]).marker(None, type("Style", (), {"numbering": ("7", 1)})()) == "  - "


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (zipped({"a.txt": b"x"}), "unsupported_format"),
        (docx("<w:p><w:r>"), "damaged"),
        (docx(p("x"))[:-30], "damaged"),
        (b"PK\x03\x04" + bytes(100), "damaged"),
    ],
)
def test_broken_word_files(data: bytes, code: str) -> None:
    with pytest.raises(ReadError) as failure:
        read(data, "a.docx")
    assert failure.value.code == code


# -- workbooks --------------------------------------------------------------------------------------------------


def test_a_sheet_is_cut_into_its_tables() -> None:
    rows = {
        "A1": ["Rates of the year"],
        "A3": ["Kind", "Price", "", "", "x", "y", "z"],
        "A4": ["a", 1.5, "", "", 1, 2, 3],
        "A5": ["b", 2],
    }
    document = read(xlsx({"Prices": cells(rows), "Empty": ""}), "a.xlsx")
    assert [(part.kind, part.sheet, part.cell_range) for part in document.parts] == [
        ("sheet", "Prices", "A1:G5"),
        ("table", "Prices", "A3:B5"),
        ("table", "Prices", "E3:G4"),
        ("sheet", "Empty", None),
    ]
    assert document.parts[0].text == "Rates of the year"
    first = document.parts[1]
    assert (first.columns, first.rows) == (("Kind", "Price"), (("a", "1.5"), ("b", "2")))
    assert document.parts[2].columns == ("x", "y", "z")


def test_a_title_row_is_the_caption_and_merged_headers_are_one() -> None:
    rows = cells({"A1": ["Sales"], "A2": ["Region", "Q1", ""], "B3": ["plan", "real"], "A4": ["North", 1, 2]})
    merges = '<mergeCells count="2"><mergeCell ref="A2:A3"/><mergeCell ref="B2:C2"/></mergeCells>'
    (_, table) = read(xlsx({"S": rows}, {"S": merges}), "a.xlsx").parts
    assert (table.caption, table.columns, table.rows) == (
        "Sales",
        ("Region", "Q1 plan", "real"),
        (("North", "1", "2"),),
    )
    assert table.cell_range == "A2:C4"


def test_values_as_text() -> None:
    from datetime import date, datetime, time

    values = [
        True,
        3.0,
        0.1 + 0.2,
        1e300,
        datetime(2024, 2, 29),
        datetime(2024, 2, 29, 8, 30),
        date(2024, 1, 2),
        time(9),
    ]
    assert [cell_text(value) for value in values] == [
        "TRUE",
        "3",
        "0.3",
        "1e+300",
        "2024-02-29",
        "2024-02-29 08:30:00",
        "2024-01-02",
        "09:00:00",
    ]


# -- PDF --------------------------------------------------------------------------------------------------------


def test_two_columns_written_row_by_row_are_read_column_by_column() -> None:
    left = [f"left column line number {n} of a long text" for n in range(8)]
    right = [f"right column line number {n} of a long text" for n in range(8)]
    stream = text_at(200, 760, "A heading over both of the columns", 14)
    for number in range(8):
        stream += text_at(50, 700 - 14 * number, left[number]) + text_at(320, 700 - 14 * number, right[number])
    document = read(pdf(stream), "a.pdf")
    lines = [line for line in document.content.split("\n") if line]
    assert lines == ["A heading over both of the columns", *left, *right]
    assert document.title == "A heading over both of the columns"


def test_lines_know_their_place_after_crop_and_rotation() -> None:
    stream = text_at(100, 700, "some words here")
    (plain,) = read(pdf(stream), "a.pdf").parts[0].blocks
    assert plain.bbox == pytest.approx((100 / 600, 90 / 800, 176 / 600, 103 / 800), abs=0.01)
    (cropped,) = read(pdf(stream, page="/CropBox [50 400 350 800]"), "b.pdf").parts[0].blocks
    assert cropped.bbox == pytest.approx((50 / 300, 90 / 400, 126 / 300, 103 / 400), abs=0.02)
    (turned,) = read(pdf(stream, page="/Rotate 90"), "c.pdf").parts[0].blocks
    assert turned.bbox == pytest.approx((697 / 800, 100 / 600, 710 / 800, 176 / 600), abs=0.01)
    outside = read(pdf(text_at(10, 10, "cut away") + stream, page="/CropBox [50 400 350 800]"), "d.pdf")
    assert outside.content == "some words here"


def test_hyphens_are_joined_and_paragraphs_set_apart() -> None:
    lines = ["The first line of a para-", "graph ends in the middle", "of a word."]
    stream = "".join(text_at(50, 700 - 12 * n, line) for n, line in enumerate(lines))
    stream += "".join(text_at(50, 640 - 12 * n, line) for n, line in enumerate(["Next one begins", "lower down."]))
    document = read(pdf(stream), "a.pdf")
    assert document.content == (
        "The first line of a paragraph ends in the middle\nof a word.\n\nNext one begins\nlower down."
    )
    blocks = document.parts[0].blocks
    assert [document.content[b.span.start : b.span.end] for b in blocks if b.span] == [b.text for b in blocks]


def test_ruled_tables_leave_the_page_text() -> None:
    rules = "".join(f"50 {y} m 350 {y} l S\n" for y in (700, 680, 660, 640))
    rules += "".join(f"{x} 640 m {x} 700 l S\n" for x in (50, 150, 250, 350))
    words = [["Kind", "Price", "Unit"], ["apple", "1.20", "kg"], ["pear", "2.40", "kg"]]
    stream = rules + "".join(
        text_at(55 + 100 * column, 685 - 20 * row, word)
        for row, line in enumerate(words)
        for column, word in enumerate(line)
    )
    document = read(pdf(text_at(50, 750, "Before the table.") + stream), "a.pdf")
    page, table = document.parts
    assert page.text == "Before the table."
    assert (table.page, table.columns, table.rows) == (
        1,
        ("Kind", "Price", "Unit"),
        (("apple", "1.20", "kg"), ("pear", "2.40", "kg")),
    )
    assert table.blocks[0].bbox == pytest.approx((50 / 600, 120 / 800, 350 / 600, 140 / 800), abs=0.01)


def test_a_finder_of_ones_own() -> None:
    class Finder:
        closed = False

        def __init__(self, content: bytes) -> None:
            assert content.startswith(b"%PDF")

        def find(self, page_index: int) -> list[TableGrid]:
            edges = ((40.0, 90.0), (90.0, 200.0))
            rows = tuple(tuple((x0, y0, x1, y0 + 20) for x0, x1 in edges) for y0 in (90.0, 110.0))
            return [TableGrid((40.0, 90.0, 200.0, 130.0), rows)]

        def close(self) -> None:
            Finder.closed = True

    words = text_at(50, 700, "a") + text_at(100, 700, "b") + text_at(50, 680, "c") + text_at(100, 680, "d")
    boxes = "40 670 50 20 re S 90 670 110 20 re S 40 690 50 20 re S 90 690 110 20 re S\n"
    result = PdfReader(Finder).read(pdf(words + boxes), "application/pdf")
    assert [(part.kind, part.columns, part.rows) for part in result.parts] == [
        ("page", (), ()),
        ("table", ("a", "b"), (("c", "d"),)),
    ]
    assert Finder.closed


def test_pages_without_text_are_there_and_empty() -> None:
    document = read(pdf(text_at(50, 700, "one"), "", text_at(50, 700, "three")), "a.pdf")
    assert [(part.page, part.text) for part in document.parts] == [(1, "one"), (2, ""), (3, "three")]
    assert document.content == "one\n\nthree"
