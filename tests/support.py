"""What tests share: the folder of real files and judged sets that may lie beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared(relative: str = "") -> Path:
    """A path inside the data folder beside the checkout; skips the test where there is none."""
    path = ROOT.parent / "shared" / "data" / relative
    if not path.exists():
        pytest.skip(f"needs ../shared/data/{relative}, which is not beside this checkout")
    return path
