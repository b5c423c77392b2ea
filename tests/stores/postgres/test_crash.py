"""Writers of the server store that die, and processes side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from florilege.testing.crash import SOAK, ConcurrencyTests, CrashTests
from tests.stores.postgres.server import Server


class TestPostgresProcesses(CrashTests, ConcurrencyTests):
    opener = "florilege.stores.postgres:PostgresStore"
    kills = 200 if SOAK else 9
    failpoints = ("stage", "publish.before", "publish.after", "delete", "fill", "collect", "merge", "")
    server: ClassVar[Server]
    url: ClassVar[Callable[[Path], str]]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _server(cls, server: Server, dsn_of: Callable[[Path], str]) -> None:
        cls.server = server
        cls.url = staticmethod(dsn_of)

    def location(self, path: Path) -> str:
        return self.url(path / "store")

    def opened(self, place: str) -> Any:
        """The store, once the server has seen that a killed writer is gone: it may be committing its last write."""
        give_up = time.monotonic() + 30
        while self.server.clients() and time.monotonic() < give_up:
            time.sleep(0.01)
        return super().opened(place)
