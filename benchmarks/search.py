"""How long `florilege search` takes as a whole process over 10,000 chunks, and where the time goes.

    python benchmarks/search.py [--chunks 10000] [--runs 7]

The store is built in a temporary folder from generated text (a Zipfian vocabulary, 120 words a chunk) with vectors
that lie in the shipped model's space but are drawn at random: a search costs the same, and building takes seconds.
"""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import florilege
from florilege import Document
from florilege.embed import minilm
from florilege.interfaces import Embeddings
from florilege.model.ledger import Usage

QUERY = "how does word12 relate to word340 and the word5 of word1777"
STAGES = """
import sys, time
t = [time.perf_counter()]
def lap(name):
    t.append(time.perf_counter()); print(f"{name} {t[-1] - t[-2]:.4f}")
import florilege.opening, florilege.retrieval, florilege.stores, florilege.embed
lap("import")
corpus = florilege.open(sys.argv[1], dense="default" if sys.argv[2] == "hybrid" else None, create=False)
lap("open")
if sys.argv[2] == "hybrid":
    corpus.indexer.dense.embed_many(["warm"], "query")
    lap("model")
corpus.retrieve(sys.argv[3], mode=sys.argv[2])
lap("first search")
corpus.retrieve("another " + sys.argv[3], mode=sys.argv[2])
lap("next search")
"""


class RandomVectors:
    """Stands in for the shipped model while the store is built: its space, drawn vectors."""

    def __init__(self) -> None:
        model = minilm()
        self.space, self.scripts = model.space, model.scripts
        self.max_input_tokens, self.max_batch = None, 1024
        self._draw = np.random.default_rng(7)

    def embed_many(self, texts: list[str], task: str = "document") -> Embeddings:
        """Draw one unit vector a text."""
        vectors = self._draw.standard_normal((len(texts), self.space.dimensions), dtype=np.float32)
        return Embeddings(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), Usage(texts=len(texts)))


def build(path: Path, chunks: int) -> None:
    """Fill a store: 20 chunks a source."""
    draw = random.Random(7)
    words = [f"word{rank}" for rank in range(60_000)]
    weights = [1 / (rank + 3) for rank in range(60_000)]
    with florilege.open(path, dense=RandomVectors()) as corpus:
        corpus.sync(
            Document(
                source_id=f"source-{number:05}.md",
                content="\n\n".join(
                    f"# Heading {part}\n\n{' '.join(draw.choices(words, weights, k=120))}." for part in range(20)
                ),
            )
            for number in range(chunks // 20)
        )
        print(f"{corpus.stats()['chunks']} chunks in the store")


def main() -> None:
    """Build, run, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    print(f"python {platform.python_version()}, florilege {florilege.__version__}, numpy {np.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        build(store, args.chunks)
        command = [sys.executable, "-m", "florilege", "--store", str(store), "search", QUERY, "--mode"]
        print(
            f"\n{'whole process':<14} {'min':>7} {'median':>7} {'max':>7}   seconds, {args.runs} runs after one to warm"
        )
        for mode in ("lexical", "hybrid"):
            times = []
            for _ in range(args.runs + 1):
                started = time.perf_counter()
                subprocess.run([*command, mode], check=True, stdout=subprocess.DEVNULL)
                times.append(time.perf_counter() - started)
            times = times[1:]
            print(f"{mode:<14} {min(times):7.3f} {statistics.median(times):7.3f} {max(times):7.3f}")
        for mode in ("lexical", "hybrid"):
            split(store, mode, args.runs)


def split(store: Path, mode: str, runs: int) -> None:
    """Print the median of each stage inside the process."""
    laps: dict[str, list[float]] = {}
    for _ in range(runs):
        done = subprocess.run(
            [sys.executable, "-c", STAGES, str(store), mode, QUERY], check=True, capture_output=True, text=True
        )
        for line in done.stdout.splitlines():
            name, _, seconds = line.rpartition(" ")
            laps.setdefault(name, []).append(float(seconds))
    print(f"\n{mode}, stages (median ms)")
    for name, times in laps.items():
        print(f"  {name:<14} {statistics.median(times) * 1000:8.1f}")


if __name__ == "__main__":
    main()
