"""Several processes at one store: two syncs of one corpus, two corpora, a folder that holds its own store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import florilege
from florilege.testing import CountingEmbedder
from tests.support import ROOT

SYNC = """
import sys, florilege
from florilege.testing import CountingEmbedder
store, corpus_id, namespace, rounds = sys.argv[1:5]
with florilege.open(store, namespace, id=corpus_id, dense=CountingEmbedder(dimensions=16)) as corpus:
    conflicts = failed = 0
    for number in range(int(rounds)):
        try:
            texts = {f"{corpus_id}-{n}": f"text {n} round {number}" for n in range(10)}
            texts["shared"] = "the same for everybody"
            docs = [florilege.Document(source_id=name, content=text) for name, text in texts.items()]
            failed += corpus.sync(docs).failed
        except florilege.Conflict:
            conflicts += 1
    print(conflicts, failed)
"""


def start(store: Path, corpus_id: str, namespace: str = "default", rounds: int = 8) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SYNC, str(store), corpus_id, namespace, str(rounds)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env)


def told(process: subprocess.Popen[str]) -> list[int]:
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return [int(word) for word in out.split()]


def test_two_syncs_of_one_corpus_never_double_a_chunk(tmp_path: Path) -> None:
    store = tmp_path / "store"
    processes = [start(store, "same") for _ in range(3)]
    results = [told(process) for process in processes]
    assert all(failed == 0 for _, failed in results)
    with florilege.open(store, id="same", dense=CountingEmbedder(dimensions=16)) as corpus:
        rows, _ = corpus.list_sources()
        assert len(rows) == 11
        for row in rows:
            chunks = corpus.chunks(row.source_id)
            assert len(chunks) == 1
            assert [item.state for item in corpus.history(row.source_id)].count("active") == 1
        assert len(corpus.retrieve("text round", mode="lexical", limit=100)) == 10
        assert corpus.data.check().problems == []  # type: ignore[attr-defined]


def test_two_corpora_write_beside_each_other(tmp_path: Path) -> None:
    store = tmp_path / "store"
    processes = [start(store, "one"), start(store, "two"), start(store, "one", "elsewhere")]
    results = [told(process) for process in processes]
    assert all(conflicts == 0 for conflicts, _ in results)
    owners = []
    for corpus_id, namespace in (("one", "default"), ("two", "default"), ("one", "elsewhere")):
        with florilege.open(store, namespace, id=corpus_id, dense=CountingEmbedder(dimensions=16)) as corpus:
            ids = {row.source_id for row in corpus.list_sources()[0]}
            assert {f"{corpus_id}-{n}" for n in range(10)} <= ids
            owners.append("shared" in ids)
            found = corpus.retrieve("text round 7", mode="lexical", limit=100)
            assert {hit.content for hit in found if hit.source_id == f"{corpus_id}-3"} == {"text 3 round 7"}
    assert owners in ([True, False, True], [False, True, True])


def test_a_folder_that_holds_its_own_store_is_synced_while_another_process_writes(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("A note beside the store.\n", encoding="utf-8")
    store = tmp_path / ".store"
    other = start(store, "other", rounds=20)
    with florilege.open(store, id="mine", dense=None) as corpus:
        for _ in range(20):
            listing = florilege.load(tmp_path, root=tmp_path, hidden=True)
            result = corpus.sync(listing, source_set="complete")
            assert {source.source_id for source in result.sources} == {"note.txt"}
        _, failed = told(other)
        assert failed == 0
        assert corpus.data.check().problems == []  # type: ignore[attr-defined]
        assert len(corpus.retrieve("text round", mode="lexical", limit=100)) == 10
