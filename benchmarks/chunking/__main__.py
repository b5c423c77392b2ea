"""``python benchmarks/chunking``: how fast splitters are, beside those of other packages. See README.md."""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import platform
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import corpora
import cutters
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
# The name under which tiktoken keeps the ranks of cl100k_base in its cache folder.
RANKS = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
BARS = {"text": 8, "sentence": 20, "recursive": 10, "markdown": 20, "markdown-chars": 3}
OURS = "florilege"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=os.environ.get("FLORILEGE_PEERS", ""), help="Python of the peers' venv")
    parser.add_argument("--megabytes", type=float, default=1.5, help="size of each corpus")
    parser.add_argument("--largest", type=float, default=100, help="largest document of the growth table, in MB")
    parser.add_argument("--only", choices=("speed", "growth", "hostile"), help="print one table")
    parser.add_argument("--task", choices=cutters.LIBRARIES[OURS][2], help="measure the speed of one task only")
    options = parser.parse_args()
    console = Console(width=132)
    console.print(f"Python {platform.python_version()}, one core, CPU seconds, {_processor()}")
    with tempfile.TemporaryDirectory() as folder:
        _write_ranks(Path(folder, RANKS))
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        if options.only in (None, "speed"):
            tasks = (options.task,) if options.task else cutters.LIBRARIES[OURS][2]
            speed(console, options.peers, options.megabytes, tasks)
        if options.only in (None, "growth"):
            growth(console, options.largest)
        if options.only in (None, "hostile"):
            hostile(console)


def speed(console: Console, peers: str, megabytes: float, tasks_measured: Sequence[str]) -> None:
    """Each task on each corpus, the documents being the same for all."""
    names = (corpora.ENGLISH, corpora.MARKDOWN, corpora.MULTILINGUAL)
    samples = {}
    for name in names:
        documents = corpora.corpus(name, megabytes * 4)
        measured = documents[::4]
        samples[name] = [text for number, text in enumerate(documents) if number % 4], measured
        console.print(f"corpus {name}: {len(samples[name][1])} documents, {corpora.size(samples[name][1]):.2f} MB")
    for task in tasks_measured:
        tested = [name for name in names if not task.startswith("markdown") or name == corpora.MARKDOWN]
        table = Table(title=f"{task}: MB/s (pieces; what is wrong)", title_justify="left")
        for heading in ("", *tested):
            table.add_column(heading, justify="left" if not heading else "right")
        rates: dict[tuple[str, str], dict[str, Any]] = {}
        for library, (_, _, tasks) in cutters.LIBRARIES.items():
            if task not in tasks or (library != OURS and not peers):
                continue
            cells = []
            for name in tested:
                warm, documents = samples[name]
                answer = run(
                    peers if library != OURS else sys.executable,
                    {"kind": "speed", "library": library, "task": task, "warm": warm, "documents": documents},
                )
                rates[library, name] = answer
                cells.append(_cell(answer))
                title = answer.get("version", library)
            table.add_row(title, *cells)
        table.add_section()
        peers_of = {library for library, _ in rates if library != OURS}
        table.add_row("ratio to the best correct peer", *(_ratio(rates, name, peers_of) for name in tested))
        if task.startswith("markdown"):
            readers = peers_of & cutters.READS_MARKDOWN
            table.add_row("... that reads Markdown", *(_ratio(rates, name, readers) for name in tested))
        table.add_row("asked for", *(f"{BARS[task]} x" if task in BARS else "" for _ in tested))
        console.print(table)


def growth(console: Console, largest: float) -> None:
    """One document growing, and the memory taken beyond the text and the pieces."""
    sizes = [size for size in (0.01, 0.1, 1, 10, 100) if size <= largest]
    table = Table(title="One document growing: CPU seconds", title_justify="left")
    for heading in ("", *(f"{size:g} MB" for size in sizes), "exponent", "memory beyond text and pieces"):
        table.add_column(heading, justify="right" if heading else "left")
    for name in (corpora.ENGLISH, corpora.MARKDOWN, corpora.MULTILINGUAL):
        documents = corpora.corpus(name, 4)
        for task in cutters.LIBRARIES[OURS][2]:
            if task.startswith("markdown") != (name == corpora.MARKDOWN):
                continue
            answers = [
                run(
                    sys.executable,
                    {"kind": "growth", "library": OURS, "task": task, "text": corpora.grown(documents, size)},
                )
                for size in sizes
            ]
            last = answers[-1]
            table.add_row(
                f"{task} {name}",
                *(f"{answer['seconds']:.4f}" for answer in answers),
                f"{_exponent(answers):.2f}",
                f"{last['peak']:.0f} MB (text {last['text']:.0f} MB)",
            )
    console.print(table)


def hostile(console: Console) -> None:
    """Seconds a megabyte for inputs made to be slow."""
    inputs = {name: make(1_000_000) for name, make in corpora.HOSTILE.items()}
    tasks = cutters.LIBRARIES[OURS][2]
    answers = {
        task: run(sys.executable, {"kind": "hostile", "library": OURS, "task": task, "inputs": inputs})
        for task in tasks
    }
    table = Table(title="Hostile input: CPU seconds a megabyte", title_justify="left")
    for heading in ("", *tasks):
        table.add_column(heading, justify="right" if heading else "left")
    for name in inputs:
        table.add_row(name, *(f"{answers[task]['seconds'][name]:.3f}" for task in tasks))
    table.add_section()
    table.add_row("worst", *(f"{max(answers[task]['seconds'].values()):.3f}" for task in tasks))
    console.print(table)


def run(python: str, job: dict[str, Any]) -> dict[str, Any]:
    """The answer of a child process; a child that fails answers with its error."""
    done = subprocess.run(
        [python, str(HERE / "child.py")], input=pickle.dumps(job, protocol=4), capture_output=True, check=False
    )
    if done.returncode:
        return {"error": done.stderr.decode(errors="replace").strip().splitlines()[-1][:60]}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _cell(answer: dict[str, Any]) -> str:
    if "error" in answer:
        return str(answer["error"])
    faults = [f"{count} {kind}" if kind != "slow" else kind for kind, count in answer["faults"].items() if count]
    return f"{answer['rate']:.1f} ({answer['pieces']}{'; ' if faults else ''}{', '.join(faults)})"


def _ratio(rates: dict[tuple[str, str], dict[str, Any]], name: str, libraries: Collection[str]) -> str:
    right = {
        library: answer["rate"]
        for (library, corpus), answer in rates.items()
        if corpus == name and library in libraries and "rate" in answer and not any(answer["faults"].values())
    }
    ours = rates[OURS, name].get("rate")
    if not right or ours is None:
        return "-"
    best = max(right, key=lambda library: right[library])
    return f"{ours / right[best]:.1f} x {best}"


def _exponent(answers: list[dict[str, Any]]) -> float:
    """The slope of log seconds over log size, from 1 MB on."""
    points = [(math.log(a["megabytes"]), math.log(a["seconds"])) for a in answers if a["megabytes"] > 0.5]
    if len(points) < 2:
        return float("nan")
    middle_x, middle_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / sum((x - middle_x) ** 2 for x, _ in points)


def _write_ranks(path: Path) -> None:
    """The ranks of cl100k_base as tiktoken wants them, so that the peers need no network."""
    import quicktok

    encoding = quicktok.get_encoding("cl100k_base")
    count = len(encoding.token_byte_values())
    tokens = (encoding.decode_single_token_bytes(number) for number in range(count))
    path.write_bytes(b"".join(b64encode(token) + b" %d\n" % number for number, token in enumerate(tokens)))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


if __name__ == "__main__":
    main()
