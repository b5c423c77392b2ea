"""The server store under the published suites."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from florilege.stores.postgres import PostgresStore
from florilege.stores.postgres.reading import matching, search
from florilege.testing.stores import NS, SPACE, FilterTests, MomentTests, StoreTests


class _Served:
    url: ClassVar[Callable[[Path], str]]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _server(cls, dsn_of: Callable[[Path], str]) -> None:
        cls.url = staticmethod(dsn_of)


class TestPostgres(_Served, StoreTests):
    def open(self, path: Path) -> PostgresStore:
        return PostgresStore(self.url(path))


class _Many(_Served):
    """As if more rows matched than are read first: conditions are tested where rows are found."""

    few: ClassVar[int] = 0

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _read_first(cls) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for module in (matching, search):
                patch.setattr(module, "FEW_ROWS", cls.few)
            yield


class TestPostgresBeyondFewRows(_Many, MomentTests, FilterTests):
    def open(self, path: Path) -> PostgresStore:
        return PostgresStore(self.url(path))


class TestPostgresManyRowsOfFewFacets(_Many, MomentTests):
    few = 1

    def open(self, path: Path) -> PostgresStore:
        return PostgresStore(self.url(path))


class TestPostgresByIndex(_Many, MomentTests):
    def open(self, path: Path) -> PostgresStore:
        store = PostgresStore(self.url(path))
        store.bind_space(NS, SPACE)
        store.apply(ann=True)
        return store
