"""What a sync costs, and what the same work costs the peers. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from corpus import DIMENSIONS, vector, write_files

import florilege
from florilege import Document, Pipeline, chunkers
from florilege.corpus import Corpus
from florilege.embed import from_function
from florilege.ingest import read_bytes
from florilege.interfaces import Embedder


def embedder() -> Embedder:
    """The free embedder."""
    return from_function(
        name="free",
        dimensions=DIMENSIONS,
        version="1",
        fn=lambda texts: np.array([vector(t) for t in texts]),
        max_batch=512,
    )


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of one call."""
    started, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - cpu


def folder_runs(folder: Path, store: Path, sources: int, peers: str | None) -> None:
    """First and second sync of a folder, ours and the peers'."""
    with florilege.open(store / "ours", dense=embedder()) as corpus:
        laps = [
            timed(lambda: corpus.sync(florilege.load(folder, root=folder), source_set="complete")) for _ in range(2)
        ]
        chunks = corpus.stats()["chunks"]
    print(f"\n{sources} Markdown files; first run and a second one without changes, seconds (CPU seconds)")
    print(f"{'':<24} {'first':>16} {'sources/s':>10} {'second':>16} {'ms a source':>12} {'chunks':>8}")

    def row(name: str, laps: list[tuple[float, float]], chunks: int) -> None:
        (wall, cpu), (again, again_cpu) = laps
        rate, each = sources / wall, again_cpu / sources * 1000
        print(
            f"{name:<24} {wall:8.2f} ({cpu:5.2f}) {rate:10.0f} {again:8.2f} ({again_cpu:5.2f}) {each:12.3f} {chunks:8}"
        )

    row(f"florilege {florilege.__version__}", laps, chunks)
    plain, plain_chunks = plain_texts(folder, store)
    row("  plain texts", plain, plain_chunks)
    for name in ("llamaindex", "langchain", "cocoindex") if peers else ():
        command = [peers or "", str(Path(__file__).parent / "peer.py"), name, str(folder), str(store / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name:<24} failed: {done.stderr.strip().splitlines()[-1]}")
            continue
        told = json.loads(done.stdout.splitlines()[-1])
        theirs = [(lap["wall"], lap["cpu"]) for lap in told["laps"]]
        row(f"{name} {told['version']}", theirs, told["chunks"])
        for label, ours in (("theirs / ours", laps), ("theirs / plain texts", plain)):
            first, second = (their[0] / our[0] for their, our in zip(theirs, ours, strict=True))
            print(f"{'  ' + label:<24} {first:8.1f}x {'':>18} {second:8.1f}x")


def plain_texts(folder: Path, store: Path) -> tuple[list[tuple[float, float]], int]:
    """What the peers are given: files read as plain text and cut by length, no structure looked for."""

    def texts() -> Iterator[Document]:
        for path in sorted(folder.rglob("*.md")):
            yield Document(source_id=str(path.relative_to(folder)), content=path.read_text(encoding="utf-8"))

    pipeline = Pipeline(chunker=chunkers.text(max_chars=1200, overlap_chars=150))
    with florilege.open(store / "texts", dense=embedder(), pipeline=pipeline) as corpus:
        laps = [timed(lambda: corpus.sync(texts(), source_set="complete")) for _ in range(2)]
        return laps, corpus.stats()["chunks"]


def paragraph(draw: random.Random) -> str:
    """About 1,000 characters."""
    return " ".join(f"word{draw.randrange(5000)}" for _ in range(110)).capitalize() + "."


def edits(store: Path, count: int) -> None:
    """Random one-paragraph edits of a 200-chunk document: how many new embeddings each costs."""
    draw = random.Random(3)
    paragraphs = [paragraph(draw) for _ in range(200)]

    def document() -> Document:
        pieces = []
        for index, text in enumerate(paragraphs):
            if index % 12 == 0:
                pieces.append(f"# Heading {index // 12}")
            pieces.append(text)
        return Document(source_id="long.md", content="\n\n".join(pieces), metadata={"owner": "ann"})

    with florilege.open(store / "edits", dense=embedder()) as corpus:
        corpus.sync([_parsed(document())])
        chunks = corpus.stats()["chunks"]
        costs, seconds = [], []
        for _ in range(count):
            paragraphs[draw.randrange(200)] = paragraph(draw)
            changed = _parsed(document())
            results: list[florilege.SyncResult] = []
            wall, _ = timed(lambda changed=changed, results=results: results.append(corpus.sync([changed])))  # type: ignore[misc]
            costs.append(results[0].embedded)
            seconds.append(wall)
        costs.sort()
        print(f"\n{count} random one-paragraph edits of a document of {chunks} chunks, a heading every 12 paragraphs")
        p95 = costs[int(len(costs) * 0.95) - 1]
        print(f"new embeddings: median {statistics.median(costs):.0f}, p95 {p95}, max {costs[-1]}")
        print(f"wall: median {statistics.median(seconds) * 1000:.1f} ms")
        metadata_edit(corpus, _parsed(document()))


def metadata_edit(corpus: Corpus, document: Document) -> None:
    """Correct a tag."""
    results: list[florilege.SyncResult] = []
    changed = replace(document, metadata={"owner": "bob"})
    wall, _ = timed(lambda: results.append(corpus.sync([changed])))
    print(f"metadata edit of the same document: {results[0].embedded} embeddings, {wall * 1000:.1f} ms")


def _parsed(document: Document) -> Document:
    """As the Markdown reader gives it."""
    read = read_bytes(document.content.encode(), name=document.source_id)
    return replace(read, source_id=document.source_id, metadata=document.metadata)


def large(store: Path, megabytes: int) -> None:
    """Stream text through and say how much memory the process came to hold."""
    draw = random.Random(5)
    block = "\n\n".join(paragraph(draw) for _ in range(1000))

    def feed() -> Iterator[Document]:
        size = 0
        number = 0
        while size < megabytes * 1_000_000:
            content = f"# Source {number}\n\n" + block[number % 900 : number % 900 + 1_000_000]
            size += len(content)
            number += 1
            yield Document(source_id=f"big{number}.txt", content=content)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with florilege.open(store / "large", dense=None) as corpus:
        wall, cpu = timed(lambda: corpus.sync(feed()))
        chunks = corpus.stats()["chunks"]
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{megabytes} MB of text in sources of 1 MB, words only: {chunks} chunks in {wall:.1f} s ({cpu:.1f} CPU s)")
    print(f"{chunks / cpu:.0f} chunks a CPU second; peak memory {after:.0f} MB (before: {before:.0f} MB)")


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sources", type=int, default=2000)
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--peers", metavar="PYTHON")
    args = parser.parse_args()
    print(f"python {platform.python_version()}, florilege {florilege.__version__}, numpy {np.__version__}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "docs"
        write_files(folder, args.sources)
        folder_runs(folder, Path(scratch), args.sources, args.peers)
        edits(Path(scratch), args.edits)
        large(Path(scratch), args.megabytes)


if __name__ == "__main__":
    main()
