"""A project folder to run commands in."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a folder of three small files and one that cannot be read."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "refunds.md").write_text(
        "---\nyear: 2025\nlang: en\n---\n\n# Refunds\n\nRefunds are paid within fourteen days.\n\n"
        "## Exceptions\n\nGift cards are never refunded.\n",
        encoding="utf-8",
    )
    (docs / "shipping.txt").write_text("Parcels leave the warehouse on Tuesdays.\n", encoding="utf-8")
    (docs / "prices.csv").write_text("item,price\nharp,4200\nstool,180\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path
