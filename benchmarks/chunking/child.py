"""One library measured in a process of its own, pinned to one core: a job from standard input, an answer in JSON."""

from __future__ import annotations

import json
import os
import pickle
import sys
from statistics import median
from time import process_time
from typing import Any

import cutters

_ROUNDS = 3


def main() -> None:
    job = pickle.load(sys.stdin.buffer)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    answer = {"speed": _speed, "growth": _growth, "hostile": _hostile}[job["kind"]](job)
    answer["version"] = cutters.versions(job["library"])
    json.dump(answer, sys.stdout)


def _speed(job: dict[str, Any]) -> dict[str, Any]:
    """Megabytes a CPU second, after other documents have warmed the caches, and how lawful the pieces are."""
    cut = cutters.cutter(job["library"], job["task"])
    documents: list[str] = job["documents"]
    for text in job["warm"]:
        cut(text)
    rates = []
    for part in (documents[number::_ROUNDS] for number in range(_ROUNDS)):
        start = process_time()
        for text in part:
            cut(text)
        rates.append(sum(len(text.encode()) for text in part) / 1e6 / (process_time() - start))
    count, limit = cutters.measure(job["library"], job["task"]), cutters.limit(job["task"])
    faults = {"wrong": 0, "over": 0, "lost": 0, "slow": _slows(cut, documents)}
    pieces = 0
    for text in documents:
        covered = 0
        for start_index, end_index, piece in cut(text):
            pieces += 1
            faults["wrong"] += text[start_index:end_index] != piece
            faults["over"] += count(piece) > limit
            faults["lost"] += bool(text[covered:start_index].strip())
            covered = max(covered, end_index)
        faults["lost"] += bool(text[covered:].strip())
    return {"rate": median(rates), "pieces": pieces, "faults": faults}


def _slows(cut: cutters.Cut, documents: list[str]) -> int:
    """1 when a document four times as long takes more than eight times as long."""
    body = "\n\n".join(documents)[:100_000]
    seconds = []
    for text in (body, body * 4):
        tries = []
        for _ in range(2):
            start = process_time()
            cut(text)
            tries.append(process_time() - start)
        seconds.append(max(min(tries), 0.002))
    return int(seconds[1] > 8 * seconds[0])


def _growth(job: dict[str, Any]) -> dict[str, Any]:
    """Seconds for one document, and the memory it took beyond the text and the pieces."""
    cut = cutters.cutter(job["library"], job["task"])
    cut(job["text"][:100_000])
    text = job.pop("text")
    _reset_peak()
    before = _status("VmRSS")
    start = process_time()
    pieces = cut(text)
    seconds = process_time() - start
    held = sum(sys.getsizeof(piece) + sys.getsizeof(piece[2]) for piece in pieces) / 2**20
    return {
        "seconds": seconds,
        "megabytes": len(text.encode()) / 1e6,
        "text": sys.getsizeof(text) / 2**20,
        "peak": _status("VmHWM") - before - held,
    }


def _hostile(job: dict[str, Any]) -> dict[str, Any]:
    """Seconds a megabyte for each input."""
    cut = cutters.cutter(job["library"], job["task"])
    cut("warm up. " * 1000)
    seconds = {}
    for name, text in job["inputs"].items():
        start = process_time()
        cut(text)
        seconds[name] = (process_time() - start) / (len(text.encode()) / 1e6)
    return {"seconds": seconds}


def _status(name: str) -> float:
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))
    except OSError:
        return 0.0


def _reset_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return


if __name__ == "__main__":
    main()
