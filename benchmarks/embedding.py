"""What the shipped embedder costs: starting it, and chunks a second by size of text, alone and sixteen at a time.

    python benchmarks/embedding.py [--texts 96]

Chunks are words of a fixed list, so the figures compare between machines and versions. "Drift" is the lowest cosine
between a text's vector alone and among others.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import subprocess
import sys
import time

STEPS = """
import json, sys, time
laps, last = {}, time.perf_counter()
def lap(name):
    global last
    now = time.perf_counter()
    laps[name], last = 1000 * (now - last), now
import numpy; lap("import numpy")
import onnxruntime; lap("import onnxruntime")
import tokenizers; lap("import tokenizers")
from florilege.embed import minilm; lap("import florilege.embed")
embedder = minilm(); lap("construct")
embedder.count_tokens("x"); lap("read, hash and load the files")
embedder.embed_many(["how do refunds work"], "query"); lap("first query")
embedder.embed_many(["how do refunds work"], "query"); lap("next query")
print(json.dumps(laps))
"""

WORDS = tuple(
    """refund policy customer order delivery returns within fourteen days of purchase the warranty covers every part and
    repairs are free unless damage was caused by water heat or use against instructions in this manual""".split()  # noqa: SIM905
)


def prose(words: int, seed: int) -> str:
    """A text of so many words, the same for the same seed."""
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def starting(runs: int) -> None:
    """Print the median milliseconds of each step of a cold start."""
    laps = [
        json.loads(subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True).stdout)
        for _ in range(runs)
    ]
    print(f"cold start, median of {runs} processes, ms")
    for step in laps[0]:
        print(f"  {step:32}{statistics.median(lap[step] for lap in laps):8.1f}")
    print(f"  {'all up to the first answer':32}{statistics.median(sum(lap.values()) for lap in laps):8.1f}")


def running(count: int) -> None:
    """Print chunks a second for texts of several sizes."""
    from florilege.embed import minilm

    embedder = minilm()
    embedder.embed_many(["warm"])
    print(f"{'words':>7}{'tokens':>8}{'alone/s':>10}{'in 16s/s':>10}{'per CPU s':>11}{'drift':>10}")
    for words in (8, 30, 80, 130, 200, 400):
        texts = [prose(words, seed) for seed in range(count)]
        started = time.perf_counter()
        alone = [embedder.embed_many([text]).vectors[0] for text in texts]
        single = count / (time.perf_counter() - started)
        started, cpu = time.perf_counter(), time.process_time()
        blocks = [embedder.embed_many(texts[at : at + 16]) for at in range(0, count, 16)]
        cpu, seconds = time.process_time() - cpu, time.perf_counter() - started
        together = [row for block in blocks for row in block.vectors]
        drift = min(float(a @ b) for a, b in zip(alone, together, strict=True))
        tokens = sum(block.usage.tokens for block in blocks) / count
        print(f"{words:7}{tokens:8.0f}{single:10.1f}{count / seconds:10.1f}{count / cpu:11.1f}{drift:10.6f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=96, help="texts of each size (default: 96)")
    parser.add_argument("--runs", type=int, default=5, help="cold starts (default: 5)")
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}")
    starting(options.runs)
    running(options.texts)


if __name__ == "__main__":
    main()
