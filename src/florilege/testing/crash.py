"""What must hold when writers die at any moment, and when processes write and read side by side.

    class TestMyStore(CrashTests, ConcurrencyTests):
        opener = "my_stores:open_at"
        def location(self, path): return str(path / "store")

``opener`` names a function that opens a store at a location: ``open_at(location, batch_chunks=2000)``. Real processes,
SIGKILL, half of them at named failpoints. FLORILEGE_SOAK=1 raises the counts to 200 kills, 60 s and four readers.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from florilege.testing.crash_writer import SOURCES, opener, see_whole, texts, version_of
from florilege.testing.stores import NS, write_of

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
        """A process that writes, or reads."""
        return subprocess.Popen(
            [sys.executable, "-m", "florilege.testing.crash_writer", self.opener, *map(str, values)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )


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
                states = {source_id: version_of(store, source_id) for source_id in SOURCES}
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
    """Processes write and read side by side: every read sees exactly one generation of every source."""

    writers: ClassVar[int] = 2
    readers: ClassVar[int] = 4 if SOAK else 2

    @pytest.mark.crash
    @pytest.mark.timeout(600)
    def test_writers_and_readers_see_whole_generations(
        self, place: str, record_property: Callable[[str, object], None]
    ) -> None:
        """Readers end with an error when one sees anything else; so does this process, which is one of them."""
        with self.opened(place) as store:
            store.replace(NS, [write_of(source_id, texts(source_id, 1), vectors=True) for source_id in SOURCES])
            writers = [self.start(place, "compete", number) for number in range(self.writers)]
            others = [self.start(place, "watch", number) for number in range(1, self.readers)]
            try:
                for process in (*writers, *others):
                    assert process.stdout is not None
                    process.stdout.readline()
                reads = 0
                end = time.monotonic() + self.seconds
                while time.monotonic() < end:
                    see_whole(store)
                    reads += 1
            finally:
                for process in (*writers, *others):
                    process.terminate()
                told = [process.communicate()[0].split() for process in (*writers, *others)]
            assert [process.returncode for process in (*writers, *others)] == [-signal.SIGTERM] * len(told)
            counts = [int(words[-1]) if words else 0 for words in told]
            record_property("written", counts[: self.writers])
            record_property("looked at all sources", [reads, *counts[self.writers :]])
            assert min(reads, *counts) > 3
            assert store.check().problems == []
