"""The PostgreSQL server of a benchmark: the one FLORILEGE_BENCH_POSTGRES names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psycopg

URL = os.environ.get("FLORILEGE_BENCH_POSTGRES", "")


def one(query: str, *values: Any) -> Any:
    """The first column of a query's first row."""
    with psycopg.connect(URL, autocommit=True) as connection:
        row = connection.execute(query, values).fetchone()
        return row[0] if row else None


def run(*statements: str) -> None:
    """Statements, one after the other."""
    with psycopg.connect(URL, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def server() -> list[int]:
    """The process ids of the server's side of connections; its housekeeping is left out."""
    postmaster = int(os.environ["FLORILEGE_BENCH_POSTMASTER"])
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return [int(pid) for pid in children if _serves(pid)]


def _serves(pid: str) -> bool:
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"[local]" in title or b"(" in title  # a client by socket, or by its address and port


def versions() -> str:
    """The server's and pgvector's."""
    number = one("SHOW server_version")
    vector = one("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'")
    return f"PostgreSQL {number.split()[0]}, pgvector {vector}"


def size(schema: str) -> float:
    """What a schema takes on disk, in MiB."""
    found = one(
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = %s::regnamespace",
        schema,
    )
    return float(found) / 2**20
