"""What is known about every sample file: its parts, tables, title and some of its words, or the code it fails with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest

from florilege.ingest import read_bytes
from florilege.ingest.reading import Reading
from florilege.model.document import Document
from florilege.model.errors import ReadError
from tests.support import ROOT, shared

_DPR = "Dense Passage Retrieval for Open-Domain Question Answering"
_KRAB = (
    "KRAB-zinc finger protein gene expansion in response to active retrotransposons in the murine lineage"
)  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """Parts by kind, title, (columns, rows) of each table, warning codes, texts that are in the content."""

    parts: dict[str, int]
    title: str | None = None
    tables: list[tuple[int, int]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    texts: tuple[str, ...] = ()


EXPECTED: dict[str, Facts | str] = {
    "README.md": Facts({"text": 2, "table": 1}, "Sample documents", [(8, 78)], texts=("78 files, 3.3 MB",)),
    "csv/csv-comma-in-cell.csv": Facts({"table": 1}, None, [(0, 5)], texts=("a | , | c | d",)),
    "csv/csv-inconsistent-header.csv": Facts({"table": 1}, None, [(0, 5)], ["ragged_rows"]),
    "csv/csv-semicolon.csv": Facts({"table": 1}, None, [(12, 5)], texts=("1 | DD37Cf93aecA6Dc | Sheryl | Baxter",)),
    "csv/stanley-cups-utf-16.csv": Facts({"table": 1}, None, [(0, 5)], texts=("Maple Leafs | TOR | 13",)),
    "csv/test_mskanji.csv": Facts({"table": 1}, None, [(3, 3)], ["guessed_encoding"], ("三木英子 | 25 | 大阪",)),
    "docx/docx_comments.docx": Facts(
        {"text": 8}, "Document with Comments", texts=("John Reviewer: This is a sample reviewer comment",)
    ),
    "docx/docx_rich_cells.docx": Facts(
        {"text": 9, "table": 9},
        None,
        [(2, 3), (2, 2), (3, 1), (3, 1), (2, 2), (0, 2), (0, 2), (2, 1), (0, 2)],
        texts=("Cell 1 | Cell 2 | Cell 3", "After table with bold, underline"),
    ),
    "docx/equations.docx": Facts({"text": 36}, texts=("inline equation: A=πr^2", "a^2+b^2=c^2")),
    "docx/footnotes.docx": Facts({"text": 2}, texts=("Eto ochen prostoy text so snoskoy", "snoska")),
    "docx/par-hyperlinks.docx": Facts({"text": 3}, texts=("the first one here, the second one, and the third",)),
    "docx/tbl-having-tables.docx": Facts({}, warnings=["empty"]),
    "docx/testWORD_phonetic.docx": Facts({"text": 1}, texts=("東京",)),
    "docx/testWORD_protected_passtika.docx": "encrypted",
    "docx/testWORD_truncated.docx": "damaged",
    "docx/unit_test_headers_numbered.docx": Facts(
        {"text": 39}, "Test Document", texts=("    2. Software Constraints",)
    ),
    "docx/word_sample.docx": Facts(
        {"text": 22, "image": 1, "table": 1},
        "Swimming in the lake",
        [(3, 3)],
        texts=("- Paddle about", "Leaves | Ash, Elm, Maple | 50", "2. Don’t forget to drink water"),
    ),
    "eml/fake-email-utf-16.eml": Facts({"text": 5}, "Test Email", texts=("- Roses are red",)),
    "eml/mime-different-plain-html.eml": Facts(
        {"text": 4}, "Example MIME Email", texts=("This is the text/html part.",)
    ),
    "eml/mime-multipart-digest.eml": Facts(
        {"text": 7}, "Example Multipart Digest Email", texts=("This is the third message in the digest.",)
    ),
    "eml/testRFC822_multipart_attachments.eml": Facts(
        {"text": 2}, "EML 1", warnings=["attachment"], texts=("This is the html body of the main msg.",)
    ),
    "epub/features.epub": Facts(
        {"text": 71},
        "EPUBTEST 0100 - Reflowable Content Tests",
        texts=("This document focuses on human-evaluated binary (pass/fail) tests in a reflowable context.",),
    ),
    "epub/winter-sports.epub": Facts(
        {"image": 1, "text": 704, "table": 17},
        "Winter Sports in Switzerland",
        texts=("when they are tired of skating, and see that though a torrid luminary beats down",),
    ),
    "html/boilerplate.html": Facts({"text": 5}, "Title", texts=("This is the real meat of the page",)),
    "html/example_03.html": Facts(
        {"text": 14, "table": 1},
        "Example Document",
        [(3, 3)],
        texts=("  2. Nested ordered item 2", "Row 2, Col 1 | Row 2, Col 2 | Row 2, Col 3"),
    ),
    "html/testHTMLNoisyMetaEncoding_1.html": Facts({"text": 1}, texts=("وأعرب الاتحاد الجزائري",)),
    "html/testHTML_charset_utf16le.html": Facts({"text": 1}, "Title", texts=("This is a sample text",)),
    "html/wiki_duck.html": Facts(
        {"text": 152, "image": 2, "table": 1},
        "Duck - Wikipedia",
        [(2, 12)],
        texts=("Duck is the common name for numerous species of waterfowl", "Kingdom: | Animalia"),
    ),
    "json/dots_simple.json": Facts({"text": 1}, warnings=["invalid_json"], texts=("ACM ISBN 978-1-4503-9385-0",)),
    "json/gas_disposition.layout.json": Facts({"json": 28}, texts=("name: GD-PR-DISTRICT\nsize: 2",)),
    "msg/msg_with_attachment.msg": Facts(
        {"text": 2}, "Email with Attachment", warnings=["attachment"], texts=("This email contains an attachment.",)
    ),
    "ods/special_cells.ods": Facts({"sheet": 1}, texts=("Value With 3 spaces",)),
    "odt/text_document_01.odt": Facts({"text": 17}, "heading level 1.0", texts=("    - bullet list 2.2.1",)),
    "pdf/2305.03393v1-pg9.pdf": Facts(
        {"page": 1, "table": 1},
        None,
        [(8, 4)],
        texts=("5.1 Hyper Parameter Optimization", "OTSL HTML | 0.965 0.969 | 0.934 0.927 | 0.955 0.955"),
    ),
    "pdf/90ms_rksj_h_sample.pdf": Facts({"page": 1}, "Hello ASCII", texts=("日本語テスト",)),
    "pdf/ArabicCIDTrueType.pdf": Facts({"page": 1}, texts=("انواع الخطوط العربية",)),
    "pdf/RECEIPT-2024-TXN-98765_retail_purchase.pdf": Facts(
        {"page": 1}, "TECHMART ELECTRONICS", texts=("USB-C Hub 7-in-1 Adapter",)
    ),
    "pdf/SPARSE-2024-INV-1234_borderless_table.pdf": Facts(
        {"page": 2, "table": 1},
        "INVENTORY RECONCILIATION REPORT",
        [(6, 10)],
        texts=("SKU-7728 | Accessories | $15.75 | $14,726.25 | 2024-11-01", "Total Variance Cost: $4,287.50"),
    ),
    "pdf/SimFang-variant.pdf": Facts({"page": 1}, texts=("全 世 界 无 产 者",)),
    "pdf/attachment.pdf": Facts({"page": 1}, "The Crazy Ones October 14, 1998", texts=("Heres to the crazy ones.",)),
    "pdf/background-checks.pdf": Facts(
        {"page": 1, "table": 1}, None, [(25, 56)], texts=("Connecticut | 9,631 | 11,594 | 5,072", "DISCLAIMERS:")
    ),
    "pdf/code_and_formula.pdf": Facts({"page": 2}, "JavaScript Code Example", texts=("Lorem ipsum dolor sit amet",)),
    "pdf/crazyones-encrypted-256.pdf": "encrypted",
    "pdf/crazyones.pdf": Facts(
        {"page": 1}, "The Crazy Ones October 14, 1998", texts=("The misfits. The rebels. The troublemakers.",)
    ),
    "pdf/empty.pdf": "empty",
    "pdf/helloworld-bad.pdf": Facts({"page": 1}, texts=("Hello, world!",)),
    "pdf/invisible_text_layer.pdf": Facts({"page": 1}, texts=("Visible heading line\nInvisible OCR text layer",)),
    "pdf/korean-text-with-tables.pdf": Facts({"page": 1}, texts=("빅포인트의 유효기간은 5년으로",)),
    "pdf/malformed-from-issue-932.pdf": Facts({"page": 1}, texts=("2021 3 31",)),
    "pdf/multi-column-2p.pdf": Facts(
        {"page": 2},
        _DPR,
        texts=(
            "using only\npairs of questions and passages",
            "questions using a large collection",
            "dualencoder framework",
        ),
    ),
    "pdf/multi_page.pdf": Facts({"page": 5}, texts=("The Evolution of the Word Processor",)),
    "pdf/multilang.pdf": Facts({"page": 1}, "你好世界", texts=("مرحبا بالعالم", "Привет, мир", "สวัสดีชาวโลก")),
    "pdf/ocr_test.pdf": Facts({"page": 1}, warnings=["empty", "needs_ocr"]),
    "pdf/pdflatex-outline.pdf": Facts({"page": 4}, "Contents", texts=("Hello, here is some text without a meaning.",)),
    "pdf/r6-owner-password.pdf": Facts({"page": 1}, texts=("pdf encryption test",)),
    "pdf/r6-user-password.pdf": "encrypted",
    "pdf/right_to_left_01.pdf": Facts({"page": 1}, texts=("تحسين",)),
    "pdf/scotus-transcript-p1.pdf": Facts({"page": 1}, texts=("IN THE SUPREME COURT OF THE UNITED STATES",)),
    "pdf/senate-expenditures.pdf": Facts({"page": 1}, texts=("SMITH, ALVARO R LEGISLATIVE CORRESPONDENT 21,000.00",)),
    "pdf/skipped_1page.pdf": Facts({"page": 3}, texts=("미래 국가 정보보안 기술 발전 방향 83",)),
    "pdf/two-different-pages.pdf": Facts({"page": 2}, texts=("1\n\n2",)),
    "pptx/fake-power-point-malformed.pptx": Facts({"page": 1}, "Test Slide"),
    "pptx/no-slides.pptx": Facts({}, "Empty Default White PowerPoint Presentation", warnings=["empty"]),
    "pptx/powerpoint_comments.pptx": Facts(
        {"page": 3, "text": 4}, "Test Slide With Comments", texts=("This is a sample reviewer comment",)
    ),
    "pptx/powerpoint_sample.pptx": Facts(
        {"page": 3, "table": 1, "text": 2},
        "Test Table Slide",
        [(7, 8)],
        texts=("R1 | True | False |  | False | True | True", "Some notes on the second slide."),
    ),
    "pptx/prs-notes.pptx": Facts({"page": 1, "text": 1}, "Presentation", texts=("Notes",)),
    "rtf/testRTFJapanese.rtf": Facts(
        {"text": 15, "table": 1}, None, [(2, 1)], texts=("２人は４１年１０月に逮捕され、", "(10/17 15:53)")
    ),
    "rtf/testRTFVarious.rtf": Facts(
        {"text": 25, "table": 1}, None, [(3, 1)], texts=("Row 2 Col 1 | Row 2 Col 2 | Row 2 Col 3", "𐌲𐌿𐍄𐌹𐍃𐌺")
    ),
    "xls/date_1904.xls": Facts({"sheet": 1, "table": 1}, None, [(0, 3)], texts=("2021-01-01 | 15",)),
    "xls/merge_cells.xls": Facts({"sheet": 1, "table": 1}, None, [(0, 4)], texts=("Row Merge |  | Not Merged",)),
    "xlsx/date_1904.xlsx": Facts({"sheet": 1, "table": 1}, None, [(0, 3)], texts=("10 days, 15:10:10 | 17",)),
    "xlsx/errors.xlsx": Facts({"sheet": 3}, texts=("#DIV/0!\n#NAME?\n#VALUE!\n#NULL!\n#REF!\n#NUM!\n#N/A",)),
    "xlsx/merged_range.xlsx": Facts({"sheet": 2, "table": 2}, None, [(8, 2), (0, 4)], texts=("A4 | B4 | C4 |  | E4",)),
    "xlsx/pass_protected.xlsx": "encrypted",
    "xlsx/pivots.xlsx": Facts(
        {"sheet": 6, "table": 7},
        None,
        [(6, 2), (0, 9), (3, 4), (2, 3), (2, 3), (10, 10), (10, 10)],
        texts=("Date | (Multiple Items)", "1 | a | blue | 10 | 1.78 | 2024-11-01"),
    ),
    "xlsx/temperature-table.xlsx": Facts(
        {"sheet": 2, "table": 2}, None, [(2, 2), (2, 2)], texts=("celsius | 22.2222",)
    ),
    "xlsx/testEXCEL_phonetic.xlsx": Facts({"sheet": 3, "table": 1}, None, [(4, 17)], texts=("1 | 豊田 | 豊田車会社",)),
    "xlsx/xlsx_01.xlsx": Facts(
        {"sheet": 4, "table": 6},
        None,
        [(3, 6), (4, 8), (3, 4), (3, 4), (3, 5), (3, 5)],
        ["hidden_sheet"],
        ("first | header second | third", "4 | 2 | 0"),
    ),
    "xml/elife-56337.xml": Facts(
        {"text": 339, "table": 2},
        _KRAB,
        [(5, 8), (5, 30)],
        texts=("aff: 2 School of Life Sciences, École Polytechnique Fédérale de Lausanne (EPFL) Lausanne",),
    ),
}


def read(name: str) -> Document:
    path = shared(f"files/{name}")
    return Reading(isolate=False).document(path.read_bytes(), source_id=name, name=path.name)


def test_every_sample_file_has_its_facts() -> None:
    root = shared("files")
    found = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert found == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_sample_file_reads_as_expected(name: str) -> None:
    expected = EXPECTED[name]
    if isinstance(expected, str):
        with pytest.raises(ReadError) as failure:
            read(name)
        assert failure.value.code == expected
        return
    document = read(name)
    assert dict(Counter(part.kind for part in document.parts)) == expected.parts
    assert document.title == expected.title
    if expected.tables:
        assert [
            (len(part.columns), len(part.rows)) for part in document.parts if part.kind == "table"
        ] == expected.tables
    assert sorted({warning.code for warning in document.warnings}) == expected.warnings
    for text in expected.texts:
        assert text in document.content


@pytest.mark.parametrize("name", [name for name, facts in EXPECTED.items() if isinstance(facts, Facts)])
def test_the_spans_of_a_sample_file_slice_back(name: str) -> None:
    document = read(name)
    assert len({part.part_id for part in document.parts}) == len(document.parts)
    for part in document.parts:
        assert document.content[part.span.start : part.span.end] == part.text
        assert len(part.row_spans) in (0, len(part.rows))
        for row, span in zip(part.rows, part.row_spans, strict=False):
            assert part.span.start <= span.start <= span.end <= part.span.end
            assert all(cell in document.content[span.start : span.end] for cell in row if part.kind != "text")
        for block in part.blocks:
            if block.span is not None:
                assert document.content[block.span.start : block.span.end] == block.text
            if block.bbox is not None:
                x0, y0, x1, y1 = block.bbox
                assert 0 <= x0 <= x1 <= 1
                assert 0 <= y0 <= y1 <= 1


def test_pages_lines_and_cells_know_where_they_are() -> None:
    paper = read("pdf/2305.03393v1-pg9.pdf")
    page, table = paper.parts
    assert (page.page, table.page) == (1, 1)
    heading = next(block for block in page.blocks if block.text.startswith("5.1 Hyper"))
    assert heading.bbox == pytest.approx((0.22, 0.213, 0.52, 0.223), abs=0.02)
    assert page.heading_path == ("Optimized Table Tokenization for Table Structure Recognition",)
    assert [block.kind for block in table.blocks] == ["row"] * 4
    first, last = table.blocks[0].bbox, table.blocks[-1].bbox
    assert first is not None
    assert last is not None
    assert first[3] <= last[1]
    rotated = read("pdf/senate-expenditures.pdf").parts[0].blocks
    title = next(block for block in rotated if block.text.startswith("DOCUMENT NO."))
    assert title.bbox is not None
    assert title.bbox[2] - title.bbox[0] > 0.7  # a line across the page as shown, not as stored
    book = read("xlsx/xlsx_01.xlsx")
    places = [(part.sheet, part.cell_range) for part in book.parts if part.kind == "table"]
    assert places[:3] == [("Sheet1", "A1:C7"), ("Sheet2", "A1:D9"), ("Sheet2", "G5:I9")]
    slides = read("pptx/powerpoint_sample.pptx")
    assert [part.page for part in slides.parts] == [1, 1, 2, 2, 3, 3]


def test_headings_lead_to_what_stands_below_them() -> None:
    duck = read("html/wiki_duck.html")
    heraldry = next(part for part in duck.parts if "coat of arms of Föglö" in part.text)
    assert heraldry.heading_path == ("Duck", "Relationship with humans", "Heraldry")
    outline = read("pdf/pdflatex-outline.pdf")
    assert {part.heading_path for part in outline.parts} == {()}, "sections change within every page"
    rules = read_bytes((ROOT / "examples/handbook/workshop/finishing-room-safety.pdf").read_bytes(), name="rules.pdf")
    assert {part.page: part.heading_path for part in rules.parts} == {1: (), 2: (), 3: ("8 Checks",)}
