"""What must hold when writers die at any moment, and when processes write and read side by side.

    class TestMyStore(CrashTests, ConcurrencyTests):
        opener = "my_stores:open_at"
        def location(self, path): return str(path / "store")

``opener`` names a function that opens a store at a location: ``open_at(location, batch_chunks=2000)``. Real processes,
SIGKILL, half of them at named failpoints. FLORILEGE_SOAK=1 raises the counts to 200 kills and 60 s.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from florilege.interfaces.stores import SearchRequest
from florilege.testing.crash_writer import SOURCES, opener, texts
from florilege.testing.stores import NS, SPACE, contents, vectors_of, write_of

SOAK = bool(os.environ.get("FLORILEGE_SOAK"))


class _Processes:
    opener: ClassVar[str]
    kills: ClassVar[int] = 200 if SOAK else 14
    seconds: ClassVar[float] = 60.0 if SOAK else 3.0
    failpoints: ClassVar[tuple[str, ...]] = (
        "stage",
        "publish.before",
        "publish.after",
        "delete",
        "fill",
        "collect",
        "",
    )

    def location(self, path: Path) -> str:
        """Where the store of a test is, told to ``opener``."""
        raise AssertionError("a suite needs its location(path)")

    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        """The location of this test's store."""
        return self.location(tmp_path)

    def opened(self, place: str) -> Any:
        """The store, in this process."""
        return opener(self.opener)(place, batch_chunks=2000)

    def start(self, *values: object, **environment: str) -> subprocess.Popen[str]:
        """A writer process."""
        return subprocess.Popen(
            [sys.executable, "-m", "florilege.testing.crash_writer", self.opener, *map(str, values)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    @staticmethod
    def version(store: Any, source_id: str) -> int:
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


class CrashTests(_Processes):
    """Killed writers lose nothing they acknowledged and leave nothing half done."""

    @pytest.mark.crash
    @pytest.mark.timeout(3600)
    def test_killed_writers_lose_nothing_they_acknowledged(self, place: str) -> None:
        """The state after each kill is what was acknowledged last, or the one write that was under way."""
        choice = random.Random(11)
        acknowledged = dict.fromkeys(SOURCES, 0)
        reached = 1
        for kill in range(self.kills):
            name = self.failpoints[kill % len(self.failpoints)]
            armed = {"FLORILEGE_FAILPOINT": f"{name}:{choice.randint(1, 6)}"} if name else {}
            writer = self.start(place, reached, kill, **armed)
            assert writer.stdout is not None
            first = ""
            if not name:
                first = writer.stdout.readline()
                time.sleep(choice.random() * 0.3)
                writer.kill()
            lines = (first + writer.stdout.read()).splitlines()  # not communicate(), which skips what is buffered
            assert writer.wait(timeout=120) == -9
            for line in lines:
                source_id, version = line.split()
                acknowledged[source_id] = int(version)
                reached = max(reached, int(version))
            with self.opened(place) as store:
                states = {source_id: self.version(store, source_id) for source_id in SOURCES}
                differ = {source_id for source_id in SOURCES if states[source_id] != acknowledged[source_id]}
                assert len(differ) <= 1, f"killed at {name or 'random'}: {states} is not {acknowledged}"
                assert all(states[source_id] == 0 or states[source_id] >= reached for source_id in differ), (
                    f"kill {kill} at {name or 'random'} after {lines[-3:]}: {states} is not {acknowledged}, {reached}"
                )
                acknowledged = states
                reached = max([reached, *states.values()]) + 1
                record = store.get_sources(NS, ["sweeper"]).get("sweeper")
                store.replace(NS, [write_of("sweeper", [str(kill)], expected=record.version if record else None)])
                assert store.check().problems == []


class ConcurrencyTests(_Processes):
    """Two processes write and this one reads: every read sees exactly one generation of every source."""

    @pytest.mark.crash
    @pytest.mark.timeout(600)
    def test_writers_and_readers_see_whole_generations(self, place: str) -> None:
        with self.opened(place) as store:
            store.replace(NS, [write_of(source_id, texts(source_id, 1), vectors=True) for source_id in SOURCES])
            writers = [self.start(place, "compete", number) for number in range(2)]
            try:
                for writer in writers:
                    assert writer.stdout is not None
                    writer.stdout.readline()
                reads = 0
                end = time.monotonic() + self.seconds
                while time.monotonic() < end:
                    self._read(store)
                    reads += 1
            finally:
                for writer in writers:
                    writer.terminate()
                wrote = [int((writer.communicate()[0].split() or ["0"])[-1]) for writer in writers]
            assert reads > 3
            assert min(wrote) > 3
            assert store.check().problems == []

    def _read(self, store: Any) -> None:
        for source_id in SOURCES:
            assert self.version(store, source_id) >= 1
        with store.snapshot(NS) as snapshot:
            result = snapshot.search(SearchRequest(vector=vectors_of(["version"])[0], space=SPACE, depth=500))
            chunks = snapshot.hydrate([item.row for item in result.legs["dense"]])
            for source_id in SOURCES:
                mine = [chunk.content for chunk in chunks if chunk.source_id == source_id]
                assert set(mine) <= set(contents(snapshot, source_id))
