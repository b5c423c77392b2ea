"""How fast the embedded store is on this machine: load, open, search, replace.

    python -m benchmarks.stores_smoke [CHUNKS] [--dimensions 384]

Texts have about 78 tokens of a Zipf vocabulary, vectors lie in clusters, a source has 20 chunks with five metadata
fields. CPU is this process's time; medians of repeated calls.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import ChunkVectors, SearchRequest, SourceWrite
from florilege.model.chunk import Chunk
from florilege.model.filters import F, Filter
from florilege.model.hashing import mint_ids
from florilege.model.ledger import SourceRecord, Version
from florilege.stores import SQLiteStore

NS = "bench"
PER_SOURCE = 20
TOKENS = 78


def main() -> None:
    """Build a store, time it, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chunks", nargs="?", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=384)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, numpy {np.__version__}")
    print(f"{options.chunks:,} chunks of {TOKENS} tokens, {options.dimensions} dimensions")
    folder = Path(tempfile.mkdtemp(prefix="florilege-bench-"))
    try:
        Bench(folder / "store", options.chunks, options.dimensions).run()
    finally:
        shutil.rmtree(folder)


class Bench:
    """One store and what is measured on it."""

    def __init__(self, path: Path, chunks: int, dimensions: int) -> None:
        self.path = path
        self.count = chunks
        self.space = EmbeddingSpace(name="bench", dimensions=dimensions)
        self.rng = np.random.default_rng(7)
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
        self.words = ["".join(self.rng.choice(letters, size)) for size in self.rng.integers(3, 11, 60_000)]
        self.weights = 1 / np.arange(1, len(self.words) + 1) ** 1.05
        self.weights /= self.weights.sum()
        self.centres = self.rng.standard_normal((2000, dimensions)).astype(np.float32)

    def texts(self, count: int) -> list[str]:
        picks = self.rng.choice(len(self.words), (count, TOKENS), p=self.weights)
        return [" ".join(self.words[pick] for pick in row) for row in picks]

    def vectors(self, count: int) -> Any:
        near = self.centres[self.rng.integers(0, len(self.centres), count)]
        return near + 0.7 * self.rng.standard_normal(near.shape).astype(np.float32)

    def write(self, number: int, texts: list[str], keys: list[bytes], expected: Version | None = None) -> SourceWrite:
        source_id = f"source-{number:06}"
        metadata = {
            "year": 1990 + number % 35,
            "lang": ("en", "de", "fr", "es")[number % 4],
            "percent": number % 100,
            "group": number % 11,
            "tags": ["a", "b"][: number % 3],
        }
        ids = mint_ids(source_id, [(text, "") for text in texts])
        chunks = [
            Chunk(source_id=source_id, chunk_id=chunk_id, content=text, ordinal=ordinal, metadata=metadata)
            for ordinal, (chunk_id, text) in enumerate(zip(ids, texts, strict=True))
        ]
        record = SourceRecord(namespace=NS, source_id=source_id, title=f"Source {number}", metadata=metadata)
        return SourceWrite(record=record, chunks=chunks, vectors=ChunkVectors(self.space, keys), expected=expected)

    def run(self) -> None:
        self.load()
        self.open_in_new_process()
        self.search()
        self.replace()
        print(
            f"{'peak memory of this process':44}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:10.0f} MiB"
        )

    def load(self) -> None:
        spent = vectors_spent = 0.0
        with SQLiteStore(self.path) as store:
            for start in range(0, self.count, 2000):
                size = min(2000, self.count - start)
                texts, vectors = self.texts(size), self.vectors(size)
                keys = [number.to_bytes(16, "big") for number in range(start, start + size)]
                before = time.process_time()
                store.put_vectors(self.space, keys, vectors)
                vectors_spent += time.process_time() - before
                before = time.process_time()
                writes = [
                    self.write((start + at) // PER_SOURCE, texts[at : at + PER_SOURCE], keys[at : at + PER_SOURCE])
                    for at in range(0, size, PER_SOURCE)
                ]
                store.replace(NS, writes)
                spent += time.process_time() - before
            before = time.process_time()
        closing = time.process_time() - before
        print(f"{'load, words and records':44}{self.count / spent:10,.0f} chunks a CPU second")
        print(f"{'load, with vectors':44}{self.count / (spent + vectors_spent + closing):10,.0f} chunks a CPU second")
        size = sum(file.stat().st_size for file in self.path.iterdir())
        print(f"{'on disk':44}{size / self.count:10,.0f} bytes a chunk")

    def open_in_new_process(self) -> None:
        for legs, vector in (("lexical", "None"), ("hybrid", "[1.0] * space.dimensions")):
            script = (
                "import time; t = time.perf_counter(); from florilege.stores import SQLiteStore;"
                "from florilege.interfaces.stores import SearchRequest;"
                "from florilege.interfaces.embedding import EmbeddingSpace;"
                f"store = SQLiteStore({str(self.path)!r}, create=False);"
                f"space = EmbeddingSpace(name='bench', dimensions={self.space.dimensions});"
                f"text = {' '.join(self.words[10:18])!r}\n"
                f"with store.snapshot({NS!r}) as s:\n"
                f"    r = s.search(SearchRequest(text=text, vector={vector}, space=space if {vector} else None))\n"
                "    s.hydrate([c.row for c in r.legs['lexical'][:10]])\n"
                "print(time.perf_counter() - t)"
            )
            took = [
                float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
                for _ in range(3)
            ]
            print(f"{f'import, open and first {legs} answer':44}{min(took) * 1e3:10.0f} ms wall (best of 3)")

    def search(self) -> None:
        store = SQLiteStore(self.path)
        queries = self.vectors(64)
        texts = [" ".join(text.split()[:8]) for text in self.texts(64)]
        with store.snapshot(NS) as snapshot:
            snapshot.search(SearchRequest(text=texts[0], vector=queries[0], space=self.space))
            for text in texts[:40]:
                snapshot.search(SearchRequest(text=text))

            def ask(
                *, text: bool = False, vector: bool = False, filter: Filter | None = None, depth: int = 10
            ) -> Callable[[int], Any]:
                return lambda at: snapshot.search(
                    SearchRequest(
                        text=texts[at] if text else None,
                        vector=queries[at] if vector else None,
                        space=self.space if vector else None,
                        filter=filter,
                        depth=depth,
                    )
                )

            one, nine = F("percent") == 3, F("group") == 3
            self.time("BM25, eight words, top 10", ask(text=True))
            self.time("BM25, eight words, top 200", ask(text=True, depth=200))
            self.time("BM25, 9 % filter, top 10", ask(text=True, filter=nine))
            self.time("dense, top 10", ask(vector=True))
            self.time("dense, top 200", ask(vector=True, depth=200))
            self.time("dense, 1 % filter, top 10", ask(vector=True, filter=one))
            self.time("dense, 9 % filter, top 10", ask(vector=True, filter=nine))
            self.time("hybrid, 9 % filter, top 10", ask(text=True, vector=True, filter=nine))
            self.recall(snapshot, queries)
            rows = [item.row for item in ask(text=True)(0).legs["lexical"]]
            self.time("hydrate 10", lambda at: snapshot.hydrate(rows))
        self.time("take a snapshot", lambda at: store.snapshot(NS).__enter__())
        store.close()

    def recall(self, snapshot: Any, queries: Any) -> None:
        """Against a float64 scan of the stored vectors."""
        import florilege.stores.codecs as codecs

        with sqlite3.connect(f"file:{self.path / 'store.db'}?mode=ro", uri=True) as connection:
            found = connection.execute(
                "SELECT v.row, x.data FROM row_vector v JOIN vector x ON x.pk = v.vector ORDER BY v.row"
            ).fetchall()
        rows = np.array([row for row, _ in found])
        every = codecs.decode_vectors([data for _, data in found], self.space.dimensions).astype(np.float32)
        hits = 0
        for query in queries:
            true = set(rows[np.argsort(-(every @ query))[:10]].tolist())
            got = snapshot.search(SearchRequest(vector=query, space=self.space, depth=10)).legs["dense"]
            hits += len(true & {item.row for item in got})
        print(f"{'dense recall at 10':44}{hits / (10 * len(queries)):10.4f}")

    def replace(self) -> None:
        store = SQLiteStore(self.path)
        with store.snapshot(NS) as snapshot:
            snapshot.search(SearchRequest(text=self.words[50], vector=self.vectors(1)[0], space=self.space))
        replaced, found = [], []
        for number in range(40):
            texts, vectors = self.texts(PER_SOURCE), self.vectors(PER_SOURCE)
            keys = [os.urandom(16) for _ in range(PER_SOURCE)]
            write = self.write(number, texts, keys, Version(1, 1))
            before = time.process_time()
            store.put_vectors(self.space, keys, vectors)
            (outcome,) = store.replace(NS, [write])
            replaced.append(time.process_time() - before)
            assert outcome.conflict is None
            before = time.process_time()
            with store.snapshot(NS) as snapshot:
                snapshot.search(SearchRequest(text=self.words[50], vector=vectors[0], space=self.space, depth=10))
            found.append(time.process_time() - before)
        self.show("replace a source of 20 chunks", replaced)
        self.show("first hybrid search after it", found)
        store.close()

    def time(self, what: str, act: Callable[[int], Any]) -> None:
        spent = []
        for at in range(64):
            before = time.process_time()
            act(at)
            spent.append(time.process_time() - before)
        self.show(what, spent)

    @staticmethod
    def show(what: str, spent: list[float]) -> None:
        slow = sorted(spent)[int(len(spent) * 0.9)]
        print(f"{what:44}{statistics.median(spent) * 1e3:10.2f} ms CPU median {slow * 1e3:8.2f} p90")


if __name__ == "__main__":
    main()
