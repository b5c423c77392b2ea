"""Kill -9 while a store is migrated or collected: it is in one space or the other, whole, and goes on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import florilege
from tests.crash import migrator
from tests.support import ROOT

KILLS = 50 if os.environ.get("FLORILEGE_SOAK") else 5
FAILPOINTS = {"migrate": ("enqueue", "vectors", "fill", "switch"), "collect": ("collect", "publish.before")}


def killed(store: Path, what: str, seed: int) -> None:
    """Start the process and kill it: odd seeds at a failpoint, even ones at a random moment."""
    chance = random.Random(seed)
    env = {key: value for key, value in os.environ.items() if key != "FLORILEGE_FAILPOINT"}
    if seed % 2:
        env["FLORILEGE_FAILPOINT"] = f"{chance.choice(FAILPOINTS[what])}:{chance.randint(1, 3)}"
    command = [sys.executable, "-m", "tests.crash.migrator", str(store), what]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT)
    if not seed % 2:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.3))
        process.kill()
    process.wait(timeout=60)
    assert process.returncode == -9, f"seed {seed}"
    if process.stdout is not None:
        process.stdout.close()


@pytest.mark.crash
@pytest.mark.timeout(1800)
def test_a_killed_migration_leaves_one_whole_space(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with florilege.open(store, dense=migrator.embedder("one")) as corpus:
        corpus.sync([florilege.Document(source_id=f"s{n}", content=f"text number {n}") for n in range(20)])
    for seed in range(KILLS):
        killed(store, "migrate", seed)
        with migrator.opened(str(store)) as corpus:
            assert len(corpus.retrieve("text", mode="dense", limit=100)) == 20, f"seed {seed}"
            done = corpus.migrate_embeddings(migrator.other(corpus))
            assert done.switched
            assert len(corpus.retrieve("text", mode="dense", limit=100)) == 20, f"seed {seed}"


@pytest.mark.crash
@pytest.mark.timeout(1800)
def test_a_killed_collection_loses_nothing_anybody_can_ask_for(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for seed in range(KILLS):
        killed(store, "collect", seed)
        with migrator.opened(str(store)) as corpus:
            hits = corpus.retrieve("text", mode="lexical", limit=100)
            assert len(hits) in (0, 20), f"seed {seed}"
            for row in corpus.list_sources()[0]:
                assert len(corpus.chunks(row.source_id)) == row.chunk_count
            corpus.data.collect("default", keep_generations=1, retention=0.0)
            assert corpus.data.check().problems == []  # type: ignore[attr-defined]
