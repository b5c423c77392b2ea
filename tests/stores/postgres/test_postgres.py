"""The server store under the published suites."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from florilege.stores.postgres import PostgresStore
from florilege.testing.stores import DataStoreTests, FilterTests, SparseTests, VectorStoreTests


class TestPostgres(DataStoreTests, VectorStoreTests, SparseTests, FilterTests):
    url: ClassVar[Callable[[Path], str]]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _server(cls, dsn_of: Callable[[Path], str]) -> None:
        cls.url = staticmethod(dsn_of)

    def open(self, path: Path) -> PostgresStore:
        return PostgresStore(self.url(path))
