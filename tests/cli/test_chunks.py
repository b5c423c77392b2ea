"""``florilege chunks``: how files would be cut, without a store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from florilege.apps.cli import main


def test_prints_every_chunk_and_makes_no_store(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["chunks", "docs/refunds.md", "docs/prices.csv"])
    out = capsys.readouterr().out
    assert code == 0
    assert "Refunds > Exceptions" in out
    assert "      Gift cards are never refunded." in out
    assert "docs/prices.csv  1 chunk\n" in out
    assert not (project / ".florilege").exists()


def test_spans_slice_the_file_and_the_limit_holds(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--chunker", "text", "--max-chars", "30", "--overlap-chars", "0", "--json"]
    assert main(["chunks", "docs/shipping.txt", *options]) == 0
    (source,) = json.loads(capsys.readouterr().out)
    text = (project / "docs/shipping.txt").read_text(encoding="utf-8")
    assert source["source_id"] == "docs/shipping.txt"
    assert len(source["chunks"]) == 2
    for chunk in source["chunks"]:
        (span,) = chunk["provenance"]["source_spans"]
        assert text[span["start"] : span["end"]] == chunk["content"]
        assert len(chunk["content"]) <= 30


def test_what_cannot_be_read_or_cut_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "docs/broken.pdf").write_bytes(b"%PDF-1.7 broken")
    assert main(["chunks", "docs/broken.pdf"]) == 1
    assert "docs/broken.pdf  damaged" in capsys.readouterr().err
    assert main(["chunks", "docs/refunds.md", "--max-chars", "0"]) == 3
    assert "max_chars" in capsys.readouterr().err


@pytest.mark.parametrize("chunker", ["parent-child", "pages", "sentence", "recursive", "markdown", "token"])
def test_every_chunker_can_be_looked_at(project: Path, capsys: pytest.CaptureFixture[str], chunker: str) -> None:
    assert main(["chunks", "docs/refunds.md", "--chunker", chunker, "--max-tokens", "64", "--json"]) == 0
    (source,) = json.loads(capsys.readouterr().out)
    assert "Gift cards are never refunded." in " ".join(chunk["content"] for chunk in source["chunks"])
    assert bool(source.get("parents")) == (chunker == "parent-child")


def test_colours_turn_and_what_is_repeated_is_dim(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "docs/long.txt").write_text("alpha beta gamma delta epsilon zeta eta theta", encoding="utf-8")
    monkeypatch.setattr("florilege.apps.cli.view.coloured", lambda stream=None: True)
    assert main(["chunks", "docs/long.txt", "--chunker", "text", "--max-chars", "24", "--overlap-chars", "6"]) == 0
    out = capsys.readouterr().out
    assert "\x1b[36malpha beta gamma delta\x1b[0m" in out
    assert "\x1b[2mdelta\x1b[0m\x1b[33m epsilon zeta" in out
