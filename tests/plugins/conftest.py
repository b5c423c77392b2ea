"""Distributions made up of metadata alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from florilege import discovery

Install = Callable[..., None]


def _forget() -> None:
    discovery.offers.cache_clear()
    discovery._entries.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """``install(distribution, target, ...)`` puts a distribution with these entry points on the path."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def install(distribution: str, *targets: str, group: str = discovery.PROVIDERS, version: str = "1.0") -> None:
        folder = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        lines = [f"[{group}]", *(f"entry{number} = {target}" for number, target in enumerate(targets))]
        (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
        _forget()

    _forget()
    yield install
    monkeypatch.undo()
    _forget()
