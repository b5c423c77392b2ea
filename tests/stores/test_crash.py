"""Writers that die at any moment, and processes that write and read side by side."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from florilege.interfaces.stores import SearchRequest
from florilege.model.ledger import Version
from florilege.stores import SQLiteStore
from florilege.testing.stores import NS, SPACE, contents, vectors_of, write_of
from tests.stores.crash_writer import SOURCES, texts
from tests.support import ROOT

KILLS = 200 if os.environ.get("FLORILEGE_SOAK") else 14
SECONDS = 60.0 if os.environ.get("FLORILEGE_SOAK") else 3.0
FAILPOINTS = ("stage", "publish.before", "publish.after", "delete", "fill", "collect", "")


def _start(module: str, *values: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, values)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


def _version(store: SQLiteStore, source_id: str) -> int:
    """The version a source is at, told by its chunks; a mixture fails."""
    with store.snapshot(NS) as snapshot:
        found = contents(snapshot, source_id)
        if not found:
            return 0
        version = int(found[0].split()[1])
        assert found == texts(source_id, version)
        hits = snapshot.search(SearchRequest(text="version", depth=1000)).legs["lexical"]
        told = [text for text in found if text.startswith("version")]
        assert sum(hit.source_id == source_id for hit in hits) == len(told)
    return version


@pytest.mark.crash
def test_killed_writers_lose_nothing_they_acknowledged(tmp_path: Path) -> None:
    """The state after each kill is what was acknowledged last, or the one write that was under way."""
    choice = random.Random(11)
    acknowledged = dict.fromkeys(SOURCES, 0)
    reached = 1
    for kill in range(KILLS):
        name = FAILPOINTS[kill % len(FAILPOINTS)]
        armed = {"FLORILEGE_FAILPOINT": f"{name}:{choice.randint(1, 6)}"} if name else {}
        writer = _start("tests.stores.crash_writer", tmp_path / "store", reached, kill, **armed)
        assert writer.stdout is not None
        if not name:
            writer.stdout.readline()
            time.sleep(choice.random() * 0.3)
            writer.kill()
        lines = writer.communicate(timeout=60)[0].splitlines()
        assert writer.returncode == -9
        for line in lines:
            source_id, version = line.split()
            acknowledged[source_id] = int(version)
            reached = max(reached, int(version))
        with SQLiteStore(tmp_path / "store") as store:
            states = {source_id: _version(store, source_id) for source_id in SOURCES}
            differ = {source_id for source_id in SOURCES if states[source_id] != acknowledged[source_id]}
            assert len(differ) <= 1
            assert all(states[source_id] == 0 or states[source_id] > reached for source_id in differ)
            acknowledged = states
            reached = max([reached, *states.values()]) + 1
            store.replace(NS, [write_of("sweeper", [str(kill)], expected=_expected(store, "sweeper"))])
            assert store.check().problems == []
            with store._database.read() as connection:
                assert connection.execute("SELECT count(*) FROM generation WHERE published_seq IS NULL").fetchone() == (
                    0,
                )


def _expected(store: SQLiteStore, source_id: str) -> Version | None:
    record = store.get_sources(NS, [source_id]).get(source_id)
    return record.version if record else None


@pytest.mark.crash
def test_two_writers_and_readers_see_whole_generations(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "store") as store:
        store.replace(NS, [write_of(source_id, texts(source_id, 1), vectors=True) for source_id in SOURCES])
        writers = [_start("tests.stores.crash_writer", tmp_path / "store", "compete", number) for number in range(2)]
        try:
            for writer in writers:
                assert writer.stdout is not None
                writer.stdout.readline()
            reads = 0
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                for source_id in SOURCES:
                    assert _version(store, source_id) >= 1
                with store.snapshot(NS) as snapshot:
                    result = snapshot.search(SearchRequest(vector=vectors_of(["version"])[0], space=SPACE, depth=500))
                    chunks = snapshot.hydrate([item.row for item in result.legs["dense"]])
                    for source_id in SOURCES:
                        mine = [chunk.content for chunk in chunks if chunk.source_id == source_id]
                        assert set(mine) <= set(contents(snapshot, source_id))
                reads += 1
        finally:
            for writer in writers:
                writer.terminate()
            wrote = [int(writer.communicate()[0].split()[-1]) for writer in writers]
        assert reads > 3
        assert min(wrote) > 3
        assert store.check().problems == []
