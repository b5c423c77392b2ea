"""Readers that read when they are asked for by name: the main text of web pages, words in pictures and scans."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from florilege.apps.cli import main
from florilege.ingest import load, read_bytes
from florilege.ingest import reading as readings
from florilege.isolation import WorkerPool
from florilege.model.document import Document, Failed, Loaded
from florilege.model.errors import ConfigError
from tests.support import shared


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    made = WorkerPool(1)
    yield made
    made.close()


def document(what: Path | bytes, pool: WorkerPool, **options: Any) -> Document:
    (found,) = load(what, pool=pool, **options)
    assert isinstance(found, Loaded), found
    return found.document


def test_names_are_checked_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no optional reader 'ocular': article, ocr"):
        load("x.png", readers="ocular")
    with pytest.raises(ConfigError, match="'ocular'"):
        read_bytes(b"", "x.png", readers="ocular")
    monkeypatch.setattr(readings, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"florilege\[ocr\]"):
        read_bytes(b"", "x.png", readers=["ocr"])


def test_pictures_are_unread_unless_asked() -> None:
    (found,) = load(picture("Harps are tuned at noon"), name="sign.png")
    assert isinstance(found, Failed)
    assert found.code == "unsupported_format"
    assert found.message == "the file is image/png, which reader 'ocr' reads when it is named"


def picture(*lines: str, kind: str = "PNG", more: int = 0) -> bytes:
    image = pytest.importorskip("PIL.Image")
    draw, font = pytest.importorskip("PIL.ImageDraw"), pytest.importorskip("PIL.ImageFont")
    frames = []
    for number in range(more + 1):
        frame = image.new("RGB", (900, 120 + 80 * len(lines)), "white")
        for row, words in enumerate(lines):
            text = words if not number else f"{words} {number}"
            draw.Draw(frame).text((60, 60 + 80 * row), text, "black", font.load_default(40))
        frames.append(frame)
    stream = io.BytesIO()
    frames[0].save(stream, kind, **({"save_all": True, "append_images": frames[1:]} if more else {}))
    return stream.getvalue()


@pytest.mark.model
def test_words_in_pictures_are_read_with_their_boxes(pool: WorkerPool) -> None:
    pytest.importorskip("rapidocr")
    found = document(picture("Harps are tuned at noon", "Strings are kept dry"), pool, readers="ocr", time_limit=120.0)
    assert found.content.splitlines() == ["Harps are tuned at noon", "Strings are kept dry"]
    assert (found.reader, found.media_type) == ("ocr/1", "image/png")
    (page,) = found.parts
    assert (page.kind, page.page, page.confidence) == ("page", 1, "derived")
    first, second = (block.bbox for block in page.blocks)
    assert first is not None
    assert second is not None
    assert first == pytest.approx((60 / 900, 65 / 280, 480 / 900, 105 / 280), abs=0.06)
    assert first[3] <= second[1]
    frames = document(picture("Sheet", kind="TIFF", more=2), pool, readers="ocr", time_limit=120.0)
    assert [(part.page, part.text) for part in frames.parts] == [(1, "Sheet"), (2, "Sheet 1"), (3, "Sheet 2")]
    blank = document(picture(), pool, readers="ocr", time_limit=120.0)
    assert [warning.code for warning in blank.warnings] == ["empty"]


@pytest.mark.model
def test_scanned_pages_of_a_pdf_are_recognised(pool: WorkerPool) -> None:
    pytest.importorskip("rapidocr")
    scan = document(shared("files/pdf/ocr_test.pdf"), pool, readers=["ocr"], time_limit=120.0)
    assert "Docling bundles PDF document conversion to" in scan.content
    assert scan.warnings == ()
    assert [(part.page, part.confidence) for part in scan.parts] == [(1, "derived")]
    typed = document(shared("files/pdf/crazyones.pdf"), pool, readers=["ocr"])
    plain = document(shared("files/pdf/crazyones.pdf"), pool)
    assert (typed.content, typed.parts, typed.reader) == (plain.content, plain.parts, "ocr/1")


def test_damaged_and_huge_pictures(pool: WorkerPool) -> None:
    pytest.importorskip("rapidocr")
    image = pytest.importorskip("PIL.Image")
    huge = io.BytesIO()
    image.new("1", (9000, 9000)).save(huge, "PNG")
    size = b"IHDR" + struct.pack(">IIBBBBB", 30_000, 30_000, 1, 0, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n\0\0\0\r" + size + struct.pack(">I", zlib.crc32(size)) + b"\0\0\0\0IDAT5\xaf\x06\x1e"
    for data, code in ((huge.getvalue(), "too_large"), (bomb, "too_large"), (bomb[:8] + b"x" * 50, "damaged")):
        (found,) = load(data, name="x.png", readers="ocr", pool=pool)
        assert isinstance(found, Failed)
        assert found.code == code


PAGE = b"""<html><head><title>News of harps</title></head><body><nav><a href=/>Home</a> <a href=/b>Shop</a></nav>
<div class=teaser><a href=/1>Buy our strings today</a> and save on delivery with the winter offer</div>
<article><h1>A harp is tuned</h1><p>The workshop tunes every harp before it leaves the house, which takes a morning and
needs a quiet room with steady air.</p><p>After a week it is tuned again, because new strings stretch, and once more in
the home of whoever bought it.</p><table><tr><th>String</th><th>Hertz</th></tr><tr><td>A</td><td>440</td></tr></table>
<p>That is all there is to know about the matter, says the master of the house, who has done it for forty years.</p>
</article><div class=comments><p>First! I also like harps very much.</p></div><footer>All rights</footer></body>"""


def test_the_main_text_of_a_page(pool: WorkerPool) -> None:
    pytest.importorskip("trafilatura")
    found = document(PAGE, pool, name="a.html", readers="article")
    assert found.reader == "article/1"
    assert found.title == "News of harps"
    assert "A harp is tuned" in found.content
    assert "String | Hertz" in found.content
    for chrome in ("Buy our strings", "First!", "Home", "All rights"):
        assert chrome not in found.content
    assert found.parts[0].role == "heading"
    assert "Buy our strings" in document(PAGE, pool, name="a.html").content
    bare = document(b"<title>T</title><p>hi</p>", pool, name="b.html", readers="article")
    assert bare.content == "hi"
    deep = load(b"<div>" * 300_000, name="c.html", readers="article", pool=pool)
    assert [item.code for item in deep if isinstance(item, Failed)] == ["too_deep"]


def test_the_command_line_asks_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("trafilatura")
    (tmp_path / "a.html").write_bytes(PAGE)
    assert main(["read", str(tmp_path / "a.html"), "--reader", "article"]) == 0
    assert "article/1" in capsys.readouterr().out
    assert main(["read", str(tmp_path / "a.html"), "--reader", "nobody"]) != 0
    assert "no optional reader 'nobody'" in capsys.readouterr().err
