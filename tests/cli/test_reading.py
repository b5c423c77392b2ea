"""``florilege read`` and ``florilege plugins``."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from florilege.apps.cli import main
from tests.ingest.build import pdf, text_at, zipped


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def test_read_shows_parts_and_where_they_are(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "read", "docs/refunds.md")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("docs/refunds.md  text/markdown, read by markdown/1, ")
    assert "    title: Refunds" in lines
    assert "    year: 2025" in lines
    assert any("heading, level 2, Refunds > Exceptions" in line for line in lines)
    assert "      Gift cards are never refunded." in lines
    assert not (project / ".florilege").exists()


def test_read_json_is_the_document(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "docs/both.zip").write_bytes(zipped({"a.txt": b"alpha", "b.png": b"\x89PNG\r\n\x1a\n"}))
    code, out, err = run(capsys, "read", "docs/both.zip", "--json")
    assert code == 1
    archive, inner, failed = json.loads(out)
    assert archive["metadata"] == {"children": 2}
    assert inner["content"] == "alpha"
    (part,) = inner["parts"]
    assert inner["content"][part["span"]["start"] : part["span"]["end"]] == part["text"]
    assert failed["error"]["code"] == "unsupported_format"
    assert "unsupported_format" in err


def test_read_renders_pages_with_boxes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "a.pdf").write_bytes(pdf(text_at(100, 700, "a line of words", 20), "", size=(360, 720)))
    code, out, _ = run(capsys, "read", "a.pdf", "--render", "out", "--json")
    assert code == 0
    (document,) = json.loads(out)
    assert document["images"] == ["out/page-0001.png", "out/page-0002.png"]
    image = (project / "out/page-0001.png").read_bytes()
    width, height = (int.from_bytes(image[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (500, 1000)
    start = image.index(b"IDAT") + 4
    raw = zlib.decompress(image[start : start + int.from_bytes(image[start - 8 : start - 4], "big")])
    stride = 1 + 3 * width
    x0, y0, x1, y1 = document["parts"][0]["blocks"][0]["bbox"]
    for x, y in ((x0, y0), (x1, y1), (x0, y1)):
        at = int(y * (height - 1)) * stride + 1 + 3 * int(x * (width - 1))
        assert tuple(raw[at : at + 3]) == (31, 119, 180)
    assert tuple(raw[stride * 5 + 1 : stride * 5 + 4]) == (255, 255, 255)
    assert run(capsys, "read", "docs/refunds.md", "--render", "out")[0] == 3


def test_plugins_lists_what_comes_with_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "plugins")
    assert code == 0
    assert "    reader pdf/1  application/pdf" in out.splitlines()
    assert "    page chunker florilege.chunkers.paged.lines.PdfLineChunker" in out.splitlines()
    code, out, _ = run(capsys, "plugins", "--json")
    first = json.loads(out)["providers"][0]
    assert (first["distribution"], first["error"]) == ("florilege", None)
