"""The page executor: who is asked, what counts, what is minted."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from florilege import chunkers
from florilege.chunkers.paged.lines import Line, in_lines, in_reading_order
from florilege.interfaces import ChunkPiece, PageChunks, PageOutput
from florilege.model.chunk import PageBox
from florilege.model.document import Block, Document
from florilege.model.errors import ConfigError
from tests.chunkers.build import document, heading, part, table
from tests.chunkers.fakes import Answers, claim
from tests.support import shared

OUTPUTS = (PageOutput(page=1, text="one"), PageOutput(page=2, text="two"), PageOutput(page=3, text=" "))


class ParagraphChunker:
    """The worked example of the plugin guide."""

    def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> tuple[PageChunks, ...]:
        if media_type != "text/plain":
            return ()
        return tuple(
            PageChunks(
                page=output.page,
                pieces=tuple(ChunkPiece(text=text) for text in output.text.split("\n\n") if text.strip()),
            )
            for output in outputs
            if output.text
        )


def test_a_plugin_of_the_guide_cuts_a_text_file() -> None:
    made = Document(source_id="a.txt", content="One.\n\nTwo.\n\nTwo.", media_type="text/plain", metadata={"k": 1})
    chunks = chunkers.pages([ParagraphChunker()]).chunk_document(made).chunks
    assert [chunk.content for chunk in chunks] == ["One.", "Two.", "Two."]
    assert [chunk.provenance.piece_id for chunk in chunks] == ["page:1/chunk:0", "page:1/chunk:1", "page:1/chunk:2"]
    assert {chunk.provenance.chunker for chunk in chunks} == {f"{__name__}.ParagraphChunker"}
    assert [chunk.provenance.source_spans[0].start for chunk in chunks] == [0, 6, 12]
    assert [chunk.ordinal for chunk in chunks] == [0, 1, 2]
    assert chunks[0].metadata == {"k": 1}


def test_another_media_type_falls_to_the_floor() -> None:
    made = Document(source_id="a.html", content="One.\n\nTwo.", media_type="text/html")
    (chunk,) = chunkers.pages([ParagraphChunker()]).chunk_document(made).chunks
    assert chunk.content == "One.\n\nTwo."
    assert chunk.provenance.chunker == "florilege.chunkers.paged.asking.PageFloor"


def test_answers_merge_page_by_page_and_the_first_in_order_wins() -> None:
    first = Answers((claim(2, "a", "b"),), name="first")
    second = Answers((claim(2, "c"), claim(1, "d")), name="second")
    result = chunkers.pages([first, second]).cut(b"", "x/y", OUTPUTS)
    assert [(claimed.page, claimed.chunker, [piece.text for piece in claimed.pieces]) for claimed in result.claims] == [
        (1, "second", ["d"]),
        (2, "first", ["a", "b"]),
    ]
    assert result.empty == (3,)
    assert result.refused == ()


def test_a_page_claimed_with_nothing_is_unclaimed() -> None:
    result = chunkers.pages([Answers((PageChunks(page=1, pieces=()),))]).cut(b"", "x/y", OUTPUTS)
    assert [claimed.chunker.rsplit(".")[-1] for claimed in result.claims] == ["PageFloor", "PageFloor"]


@pytest.mark.parametrize(
    "answer",
    [
        (claim(1, "fine"), claim(9, "no such page")),
        (claim(1, "fine"), claim(1, "again")),
        (claim(1, "fine", "  "),),
        (claim(1, "fine"), claim(2, "box", bbox=(0, 0, 1.2, 1))),
        (claim(1, "fine"), claim(2, "box", bbox=(0.5, 0, 0.1, 1))),
        (claim(1, "fine"), claim(2, "box", bbox=(0, 0, 1))),
        (claim(1, "fine"), "page"),
        (PageChunks(page=1, pieces=("text",)),),  # type: ignore[arg-type]
        (PageChunks(page=1, pieces=(ChunkPiece(text=7),)),),  # type: ignore[arg-type]
        None,
        ValueError("mine, and broken"),
    ],
)
def test_one_fault_voids_the_whole_answer_and_the_next_is_asked(answer: Any) -> None:
    result = chunkers.pages([Answers(answer, name="broken"), Answers((claim(1, "ok"),), name="next")]).cut(
        b"", "x/y", OUTPUTS
    )
    assert [(claimed.page, claimed.chunker.rsplit(".")[-1]) for claimed in result.claims] == [
        (1, "next"),
        (2, "PageFloor"),
    ]
    assert [refused.chunker for refused in result.refused] == ["broken"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, asyncio.CancelledError])
@pytest.mark.parametrize("limit", [None, 5.0])
def test_cancellation_is_no_verdict(error: type[BaseException], limit: float | None) -> None:
    with pytest.raises(error):
        chunkers.pages([Answers(error())], time_limit=limit).cut(b"", "x/y", OUTPUTS)


def test_taking_too_long_counts_as_broken() -> None:
    release = threading.Event()

    class Slow:
        def chunk(self, content: bytes, media_type: str, outputs: Any) -> Any:
            release.wait(20)
            return (claim(1, "late"),)

    result = chunkers.pages([Slow()], time_limit=0.05).cut(b"", "x/y", OUTPUTS)
    release.set()
    assert [refused.reason for refused in result.refused] == ["TimeoutError: took longer than 0.05 s"]
    assert {claimed.chunker.rsplit(".")[-1] for claimed in result.claims} == {"PageFloor"}


def test_fallbacks_are_asked_last_and_nobody_when_every_page_has_an_answer() -> None:
    last = Answers((claim(1, "fallback"), claim(2, "fallback")), name="last", fallback=True)
    first = Answers((claim(1, "first"),), name="first")
    result = chunkers.pages([last, first]).cut(b"", "x/y", OUTPUTS)
    assert [claimed.chunker for claimed in result.claims] == ["first", "last"]
    whole = Answers((claim(1, "a"), claim(2, "b")))
    spare = Answers(())
    chunkers.pages([whole, spare]).cut(b"", "x/y", OUTPUTS)
    assert spare.asked == 0


def test_pages_of_a_document_keep_their_numbers_and_a_blank_one_has_none() -> None:
    made = document(part("page", "First page.", page=4), part("page", "", page=5), part("page", "Third.", page=6))
    seen: list[tuple[PageOutput, ...]] = []

    class Looks:
        def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> Any:
            seen.append(outputs)
            return ()

    chunks = chunkers.pages([Looks()]).chunk_document(made).chunks
    assert [(output.page, output.text) for output in seen[0]] == [(4, "First page."), (5, None), (6, "Third.")]
    assert [chunk.provenance.pages for chunk in chunks] == [(4,), (6,)]
    assert [chunk.provenance.piece_id for chunk in chunks] == ["page:4/chunk:0", "page:6/chunk:0"]


def test_the_rest_is_cut_by_the_document_chunker_with_true_spans() -> None:
    made = document(
        heading("# A", 1, "A"),
        part("text", "Words before.", heading_path=("A",)),
        part("page", "Page one. It has words.", page=1),
        part("page", "Page two.", page=2),
        table(["k"], [["v"]], page=3),
    )
    mine = Answers((claim(1, "Page one.", "It has words."),), name="mine")
    chunker = chunkers.pages([mine], rest=chunkers.structured())
    chunks = chunker.chunk_document(made).chunks
    assert [(chunk.content, chunk.provenance.chunker) for chunk in chunks] == [
        ("# A\n\nWords before.", None),
        ("Page one.", "mine"),
        ("It has words.", "mine"),
        ("Page two.", None),
        ("k\nv", None),
    ]
    assert [chunk.ordinal for chunk in chunks] == [0, 1, 2, 3, 4]
    for chunk in chunks:
        (span,) = chunk.provenance.source_spans
        assert made.content[span.start : span.end] == chunk.content
    untouched = chunkers.pages([Answers(())], rest=chunkers.structured()).chunk_document(made)
    assert untouched == chunkers.structured().chunk_document(made)
    assert chunker.fingerprint() != chunkers.pages([mine]).fingerprint()
    with pytest.raises(ConfigError, match="rest: a str has no chunk_document"):
        chunkers.pages(rest="x")  # type: ignore[arg-type]


def test_a_piece_that_is_not_in_the_page_is_derived_from_it() -> None:
    made = document(part("page", "Seen text.", page=1))
    box = (0.0, 0.0, 1.0, 0.5)
    answers = Answers((PageChunks(page=1, pieces=(ChunkPiece(text="A summary", bbox=box),)),))
    (chunk,) = chunkers.pages([answers]).chunk_document(made).chunks
    assert chunk.provenance.confidence == "derived"
    assert chunk.provenance.bboxes == (PageBox(1, box),)


def test_lines_of_a_pdf_become_pieces_that_stay_in_their_column() -> None:
    lines = [("left one", 0.1, 0.1), ("left two", 0.1, 0.13), ("right one", 0.55, 0.1), ("right two", 0.55, 0.13)]
    blocks = tuple(Block(text=text, bbox=(x, y, x + 0.35, y + 0.02)) for text, x, y in lines)
    text = "\n".join(line for line, _, _ in lines)
    made = document(part("page", text, page=1, blocks=blocks), media_type="application/pdf")
    made = Document(**{**_fields(made), "opener": lambda: b"%PDF-1.7"})
    chunks = chunkers.pages().chunk_document(made).chunks
    assert [chunk.content for chunk in chunks] == ["left one\nleft two", "right one\nright two"]
    assert {chunk.provenance.chunker for chunk in chunks} == {"pdf_lines"}
    assert all(chunk.provenance.confidence == "exact" for chunk in chunks)
    assert chunks[1].provenance.bboxes[0].bbox == pytest.approx((0.55, 0.1, 0.9, 0.15))


def test_a_pdf_is_opened_for_lines_the_reader_did_not_give() -> None:
    file = next(iter(sorted(shared("files/pdf").glob("*.pdf"))), None)
    if file is None:
        pytest.skip("no PDF among the shared files")
    content = file.read_bytes()
    result = chunkers.pages(max_chars=300).cut(content, "application/pdf", (PageOutput(page=1, text="some text"),))
    (claimed,) = result.claims
    assert claimed.chunker == "pdf_lines"
    assert all(piece.bbox is not None and len(piece.text) <= 300 for piece in claimed.pieces)


def test_bytes_that_are_no_pdf_are_left_to_the_floor() -> None:
    outputs = (PageOutput(page=1, text="text"),)
    for content in (b"%PDF-1.4 broken", b"", b"PK\x03\x04"):
        result = chunkers.pages().cut(content, "application/pdf", outputs)
        assert [claimed.chunker.rsplit(".")[-1] for claimed in result.claims] == ["PageFloor"]
        assert result.refused == ()


def test_runs_make_lines_and_columns_are_read_one_after_the_other() -> None:
    title = Line("Title across", (0.1, 0.02, 0.9, 0.05))
    left = [Line(f"l{n}", (0.1, 0.1 + n / 20, 0.45, 0.13 + n / 20)) for n in range(4)]
    right = [Line(f"r{n}", (0.55, 0.1 + n / 20, 0.9, 0.13 + n / 20)) for n in range(4)]
    mixed = [line for pair in zip(right, left, strict=True) for line in pair]
    assert [line.text for line in in_reading_order([*mixed, title])] == [
        "Title across",
        *(f"l{n}" for n in range(4)),
        *(f"r{n}" for n in range(4)),
    ]
    runs = [
        Line("two", (0.1, 0.1, 0.2, 0.12)),
        Line("runs", (0.21, 0.1, 0.3, 0.12)),
        Line("next", (0.1, 0.2, 0.2, 0.22)),
    ]
    assert [line.text for line in in_lines(runs)] == ["two runs", "next"]


def test_options_and_identity() -> None:
    with pytest.raises(ConfigError, match="chunkers: a str has no chunk"):
        chunkers.pages(["x"])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="time_limit"):
        chunkers.pages(time_limit=0)
    with pytest.raises(ConfigError, match="max_chars"):
        chunkers.pages(max_chars=0)
    assert chunkers.pages([ParagraphChunker()]).fingerprint() != chunkers.pages().fingerprint()
    assert chunkers.pages([ParagraphChunker()]).fingerprint() == chunkers.pages([ParagraphChunker()]).fingerprint()


def _fields(made: Document) -> dict[str, Any]:
    return {name: getattr(made, name) for name in ("source_id", "content", "parts", "media_type")}
