"""A real server for the tests: any by FLORILEGE_TEST_POSTGRES, else one from a package, started once a run."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stores.postgres.server import Server, started


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The server all tests share."""
    url = os.environ.get("FLORILEGE_TEST_POSTGRES")
    if url:
        yield Server(url)
        return
    with started() as own:
        server = Server(own.get_uri())
        # Nothing here outlives the run, and no test cuts the power: do not wait for the disk.
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            server.run(f"ALTER SYSTEM SET {setting} = off")
        server.run("SELECT pg_reload_conf()")
        yield server


@pytest.fixture(scope="session")
def dsn_of(server: Server) -> Iterator[Callable[[Path], str]]:
    """URLs of stores by path: each in a schema of its own, dropped at the end from a server that stays."""
    schemas: dict[Path, str] = {}

    def url(path: Path) -> str:
        schema = schemas.setdefault(path, f"t{uuid.uuid4().hex[:12]}")
        return server.store_url(schema)

    yield url
    if os.environ.get("FLORILEGE_TEST_POSTGRES"):
        server.drop(schemas.values())


@pytest.fixture
def dsn(dsn_of: Callable[[Path], str], tmp_path: Path) -> str:
    """The URL of this test's own store."""
    return dsn_of(tmp_path / "store")
