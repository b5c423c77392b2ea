"""One engine measured in a process of its own; prints JSON.

python -m benchmarks.stores.measure ENGINE DATA FOLDER [load|read]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.stores.data import PER_SOURCE, REPLACED, Corpus, metadata, read

FILTERS: dict[str, tuple[str, int] | None] = {"none": None, "1 %": ("percent", 3), "9 %": ("part", 3)}


class Clock:
    """CPU seconds of this process and of the server's, where there is one."""

    def __init__(self, server: Callable[[], list[int]] | None) -> None:
        self._server = server

    def cpu(self) -> float:
        return time.process_time() + sum(map(_spent, self._server() if self._server else ()))


def _spent(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0


def memory() -> float:
    """This process's resident memory in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def timed(clock: Clock, count: int, act: Callable[[int], Any]) -> dict[str, float]:
    """CPU milliseconds a call (mean: a server's share is only told in sums) and the median wall milliseconds."""
    for at in range(min(8, count)):
        act(at)
    walls = []
    before = clock.cpu()
    for at in range(count):
        start = time.perf_counter()
        act(at)
        walls.append(time.perf_counter() - start)
    return {"cpu": (clock.cpu() - before) / count * 1e3, "wall": statistics.median(walls) * 1e3}


def truth(corpus: Corpus, filter: tuple[str, int] | None, k: int = 10) -> list[set[int]]:
    """The ``k`` nearest chunks of every query, by number."""
    count = len(corpus.texts)
    every = np.asarray(corpus.vectors[:count], dtype=np.float32)
    matching = np.arange(count)
    if filter is not None:
        name, value = filter
        keep = [source for source in range(corpus.sources) if metadata(source)[name] == value]
        matching = np.concatenate([np.arange(s * PER_SOURCE, (s + 1) * PER_SOURCE) for s in keep])
    return [set(matching[np.argsort(-(every[matching] @ query))[:k]].tolist()) for query in corpus.queries]


def load(engine: Any, corpus: Corpus, clock: Clock) -> dict[str, Any]:
    """Load everything, build what there is to build."""
    start, before = time.perf_counter(), clock.cpu()
    engine.load(corpus)
    spent, took = clock.cpu() - before, time.perf_counter() - start
    engine.close()
    return {"load": {"cpu": spent * 1e3, "wall": took * 1e3}, "disk": engine.disk()}


def search(engine: Any, corpus: Corpus, clock: Clock) -> dict[str, Any]:
    """Searches by every leg, then replacements, then searches again."""
    found: dict[str, Any] = {}
    count = len(corpus.asked)
    if corpus.queries is not None:
        for name, filter in FILTERS.items():
            found[f"dense {name}"] = timed(clock, count, lambda at, f=filter: engine.dense(corpus.queries[at], 10, f))
            right = truth(corpus, filter)
            hits = [
                len(set(engine.dense(query, 10, filter)) & wanted)
                for query, wanted in zip(corpus.queries, right, strict=True)
            ]
            found[f"recall {name}"] = sum(hits) / sum(map(len, right))
    few = min(count, engine.lexical_calls)
    for name in ("none", "9 %"):
        filter = FILTERS[name]
        found[f"lexical {name}"] = timed(clock, few, lambda at, f=filter: engine.lexical(corpus.asked[at], 10, f))
    if corpus.queries is not None:
        found["hybrid 9 %"] = timed(
            clock, few, lambda at: engine.hybrid(corpus.asked[at], corpus.queries[at], 10, FILTERS["9 %"])
        )
        walls, before = [], clock.cpu()
        for source in range(REPLACED):
            part = slice(source * PER_SOURCE, (source + 1) * PER_SOURCE)
            vectors = np.asarray(corpus.vectors[len(corpus.texts) :][part])
            start = time.perf_counter()
            engine.replace(source, corpus.fresh[part], vectors)
            walls.append(time.perf_counter() - start)
        spent = (clock.cpu() - before) / REPLACED
        found["replace"] = {"cpu": spent * 1e3, "wall": statistics.median(walls) * 1e3}
        found["dense after"] = timed(clock, count, lambda at: engine.dense(corpus.queries[at], 10, None))
        fresh = [
            bool(
                engine.dense(corpus.vectors[len(corpus.texts) + source * PER_SOURCE], 1, None)[0] // PER_SOURCE
                == source
            )
            for source in range(REPLACED)
        ]
        found["fresh"] = sum(fresh) / REPLACED
    return found


def first_answer(name: str, data: str, folder: str) -> dict[str, float]:
    """What a new process takes, from its start, to open the store and answer; and its memory then."""
    script = (
        "import time; start = time.perf_counter()\n"
        "from importlib import import_module\nfrom benchmarks.stores import data, measure\n"
        f"corpus = data.read(data.Path({data!r}))\n"
        "read = time.perf_counter()\n"
        f"engine = import_module('benchmarks.stores.engines.{name}').Engine(data.Path({folder!r}))\n"
        "engine.open()\n"
        "engine.dense(corpus.queries[0], 10, None) if corpus.queries is not None else engine.lexical("
        "corpus.asked[0], 10, None)\n"
        "print(time.perf_counter() - read)\n"
        "del corpus\n"
        "print(measure.memory())"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    return {"open": float(out[0]) * 1e3, "memory": float(out[1])}


def main() -> None:
    """Measure."""
    name, data, folder = sys.argv[1:4]
    corpus = read(Path(data))
    engine = import_module(f"benchmarks.stores.engines.{name}").Engine(Path(folder))
    clock = Clock(getattr(engine, "server", None))
    results: dict[str, Any] = {"versions": engine.versions()}
    results |= load(engine, corpus, clock)
    results |= first_answer(name, data, folder)
    engine.open()
    results |= search(engine, corpus, clock)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
