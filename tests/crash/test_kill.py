"""Kill -9 at any moment of a sync: readers saw whole generations, and running it again ends as if nothing happened."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest

import florilege
from florilege.interfaces.stores import SearchRequest
from florilege.stores import open_store
from florilege.testing import CountingEmbedder
from tests.crash import writer
from tests.support import ROOT

KILLS = 200 if os.environ.get("FLORILEGE_SOAK") else 20
FAILPOINTS = ("publish.before", "publish.after", "delete", "fill", "vectors")


class Watcher(threading.Thread):
    """Reads the store all the time; any source that is not exactly one whole generation is a fault."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path = path
        self.stopping = threading.Event()
        self.reads = 0
        self.faults: list[str] = []

    def run(self) -> None:
        store = open_store(self.path)
        try:
            while not self.stopping.is_set():
                with store.snapshot("default") as snapshot:
                    self.look(snapshot)
                self.reads += 1
                time.sleep(0.01)
        except Exception as error:
            self.faults.append(f"the reader failed: {error!r}")
        finally:
            store.close()

    def look(self, snapshot) -> None:  # type: ignore[no-untyped-def]
        result = snapshot.search(SearchRequest(text="passage", depth=1000))
        candidates = result.legs["lexical"]
        chunks = snapshot.hydrate([candidate.row for candidate in candidates])
        by_source = defaultdict(list)
        for chunk in chunks:
            by_source[chunk.source_id].append(chunk)
        for source_id, found in by_source.items():
            versions = {chunk.metadata["version"] for chunk in found}
            if len(versions) != 1:
                self.faults.append(f"{source_id} shows versions {versions}")
                continue
            expected = writer.texts(versions.pop(), int(source_id[1:]))
            if sorted(chunk.content for chunk in found) != sorted(expected):
                self.faults.append(f"{source_id} shows {len(found)} chunks of {len(expected)}")
            listed = [chunk.content for chunk in snapshot.chunks(source_id)]
            if listed != expected:
                self.faults.append(f"{source_id} lists {len(listed)} chunks of {len(expected)}")


def start(store: Path, version: int, failpoint: str | None = None) -> subprocess.Popen[str]:
    env = {key: value for key, value in os.environ.items() if key != "FLORILEGE_FAILPOINT"}
    if failpoint:
        env["FLORILEGE_FAILPOINT"] = failpoint
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.writer", str(store), str(version)],
        stdout=subprocess.PIPE,
        text=True,
        env=env,
        cwd=ROOT,
    )


def kill_once(store: Path, version: int, seed: int) -> None:
    chance = random.Random(seed)
    if seed % 2:
        process = start(store, version, f"{chance.choice(FAILPOINTS)}:{chance.randint(1, 6)}")
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()  # a failpoint this run never reached
    else:
        process = start(store, version)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.4))
        process.kill()
    process.wait()
    assert process.returncode == -9, f"seed {seed}: the writer ended by itself with {process.returncode}"
    if process.stdout is not None:
        process.stdout.close()


def contents(corpus: florilege.Corpus) -> dict[str, list[tuple[str | None, str, object]]]:
    rows, _ = corpus.list_sources(limit=1000)
    return {
        row.source_id: [(c.chunk_id, c.content, dict(c.metadata)) for c in corpus.chunks(row.source_id)] for row in rows
    }


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_kills_lose_nothing_and_tear_nothing(tmp_path: Path) -> None:
    store, clean = tmp_path / "store", tmp_path / "clean"
    embedder = CountingEmbedder(dimensions=16)
    with florilege.open(store, dense=embedder) as corpus:
        writer.sync(corpus, 1)
    watcher = Watcher(store)
    watcher.start()
    for number in range(KILLS):
        first = 2 + number * 3
        kill_once(store, first, seed=number)
        target = first + 1
        with florilege.open(store, dense=embedder) as corpus, florilege.open(clean, dense=embedder) as fresh:
            result = writer.sync(corpus, target)
            writer.sync(fresh, target)
            assert (result.failed, result.pending) == (0, 0), f"seed {number}: {result}"
            assert contents(corpus) == contents(fresh), f"seed {number}"
            for mode in ("lexical", "dense"):
                found = corpus.retrieve("passage of source", limit=1000, mode=mode)  # type: ignore[arg-type]
                again = fresh.retrieve("passage of source", limit=1000, mode=mode)  # type: ignore[arg-type]
                assert [(h.chunk_id, h.score) for h in found] == [(h.chunk_id, h.score) for h in again], (
                    f"seed {number}"
                )
    watcher.stopping.set()
    watcher.join()
    assert watcher.faults == []
    assert watcher.reads > KILLS
    with sqlite3.connect(store / "store.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
