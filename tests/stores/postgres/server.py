"""The test server, and what tests do to it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import sql


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

    def kill_backends(self, but: int | None = None) -> int:
        """End every other client's connection; returns how many there were."""
        killed = self.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND pid IS DISTINCT FROM %s",
            (but,),
        )
        return len(killed)


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
