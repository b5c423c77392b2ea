"""The demo as a person runs it: a whole process over the example handbook."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.model


def test_demo_finds_and_cites_the_answers() -> None:
    command = [sys.executable, str(ROOT / "examples" / "demo.py")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    first, *asked, filtered, last = done.stdout.split("\n== ")[1:]
    files = sum(path.is_file() for path in (ROOT / "examples" / "handbook").rglob("*"))

    assert f"{files} sources: {files} added, 0 changed, 0 failed" in first
    refund, gauge, price = ([line for line in text.splitlines() if re.match(r"  \d", line)] for text in asked)
    assert {line.split()[1] for line in refund} >= {
        "customers/refund-policy-2023.md",
        "customers/refund-policy-2025.md",
    }
    assert "Returning an instrument" in refund[0]
    assert "workshop/finishing-room-safety.pdf" in gauge[0]
    assert "page 2" in gauge[0]
    assert "customers/price-list-2026.xlsx" in price[0]
    assert "sheet Instruments; cells A4:H12" in price[0]
    assert all("«" in text for text in [*asked, filtered])
    assert all(" people/" in line for line in filtered.splitlines() if re.match(r"  \d", line))
    assert f"{files} sources: all unchanged, 0 embedded" in last
