"""How well, and how fast, the legs and their fusion find what judges marked: nDCG@10 and recall@100.

    python benchmarks/retrieval/run.py scifact xquad-zh              # these sets
    python benchmarks/retrieval/run.py --lexical                     # every set, words only
    python benchmarks/retrieval/run.py --store /tmp/judged scifact   # keep the stores: vectors are made once
    python benchmarks/retrieval/run.py --peer /tmp/peers/bin/python scifact   # bm25s beside ours

Everything goes through the public interface: one corpus a set, each document one chunk with its title before it. With
``--peer`` (an interpreter that has bm25s) the same terms are also ranked by bm25s. ``A@B`` asks the queries of set A
over the documents of set B.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from judged import JudgedSet, load, names
from metrics import ndcg, recall

import florilege
from florilege import Chunk, Chunking, Corpus, Document, Pipeline
from florilege.model.hashing import fingerprint
from florilege.text.lexical import Analyzer

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "eval"
DEPTH = 100


class Whole:
    """Each document is one chunk, its title the context."""

    name = "whole"
    version = "1"

    def fingerprint(self) -> str:
        return fingerprint(self.name, self.version)

    def chunk_document(self, document: Document) -> Chunking:
        chunk = Chunk(
            source_id=document.source_id,
            content=document.content,
            context=document.title or "",
            metadata=document.metadata,
        )
        return Chunking((chunk,))


def documents(judged: JudgedSet) -> list[Document]:
    """The set's documents; the title is metadata as well, for the queries that filter by it."""
    return [
        Document(
            source_id=row["id"],
            content=row["text"],
            title=row.get("title") or None,
            metadata={"title": row.get("title") or ""},
        )
        for row in judged.documents
    ]


def ours(corpus: Corpus, judged: JudgedSet, mode: Any) -> tuple[list[list[str]], float]:
    """Rankings of all queries, and the median milliseconds of one."""
    rankings, times = [], []
    for query in judged.queries:
        started = time.perf_counter()
        hits = corpus.retrieve(query["text"], limit=DEPTH, mode=mode, filter=query.get("filter"))
        times.append(time.perf_counter() - started)
        rankings.append(list(dict.fromkeys(hit.source_id for hit in hits)))
    return rankings, 1000 * statistics.median(times)


def bm25s(python: str, judged: JudgedSet) -> tuple[list[list[str]], str]:
    """The rankings of bm25s over our terms, and its version."""
    analyzer = Analyzer()
    titles = [row.get("title") or "" for row in judged.documents]
    texts = [f"{title}\n\n{row['text']}" for title, row in zip(titles, judged.documents, strict=True)]
    asked = {
        "documents": [analyzer.analyze(text) for text in texts],
        "queries": [analyzer.query_terms(query["text"]) for query in judged.queries],
        "allowed": [
            [place for place, title in enumerate(titles) if title == query["filter"]["title"]]
            if "filter" in query
            else None
            for query in judged.queries
        ],
        "k": DEPTH,
    }
    peer = Path(__file__).with_name("peer_bm25s.py")
    run = subprocess.run([python, str(peer)], input=json.dumps(asked), capture_output=True, text=True, check=True)
    answer = json.loads(run.stdout)
    ids = [row["id"] for row in judged.documents]
    return [[ids[place] for place in ranking] for ranking in answer["rankings"]], answer["version"]


def mean(measure: Callable[..., float], judged: JudgedSet, rankings: list[list[str]], k: int) -> float:
    """The measure, averaged over the queries."""
    pairs = zip(judged.queries, rankings, strict=True)
    return statistics.fmean(measure(ranked, judged.grades[query["id"]], k) for query, ranked in pairs)


def report(name: str, root: Path, options: argparse.Namespace) -> None:
    """Index one set, ask its queries in every mode, print its lines."""
    judged = load(options.data, name)
    with florilege.open(
        root / judged.corpus, dense=None if options.lexical else "default", pipeline=Pipeline(chunker=Whole())
    ) as corpus:
        started, cpu = time.perf_counter(), time.process_time()
        result = corpus.sync(documents(judged))
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        if result.failed:
            raise SystemExit(f"{name}: {result.failed} documents failed: {result.sources[0].error}")
        embedded = f"{result.embedded} embedded ({result.usage.windowed} windowed), " if not options.lexical else ""
        print(
            f"\n{name}: {len(judged.documents)} documents, {len(judged.queries)} queries; "
            f"{embedded}sync {seconds:.1f} s ({cpu:.1f} CPU)"
        )
        print(f"  {'':10}{'nDCG@10':>9}{'recall@100':>12}{'ms/query':>10}")
        for mode in ("lexical",) if options.lexical else ("lexical", "dense", "hybrid"):
            rankings, median = ours(corpus, judged, mode)
            print(_line(mode, judged, rankings) + f"{median:10.2f}", flush=True)
    if options.peer:
        rankings, version = bm25s(options.peer, judged)
        print(_line("bm25s", judged, rankings) + f"   version {version}, our terms", flush=True)


def _line(label: str, judged: JudgedSet, rankings: list[list[str]]) -> str:
    return f"  {label:10}{mean(ndcg, judged, rankings, 10):9.4f}{mean(recall, judged, rankings, 100):12.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="names of sets, or QUERIES@CORPUS (default: all)")
    parser.add_argument(
        "--data", type=Path, default=DATA, help=f"folder of judged sets (default: {DATA.name} beside the checkout)"
    )
    parser.add_argument("--store", type=Path, help="folder to keep the stores in (default: a temporary one)")
    parser.add_argument("--lexical", action="store_true", help="words only: no vectors, minutes become seconds")
    parser.add_argument("--peer", metavar="PYTHON", help="interpreter with bm25s, to rank the same terms")
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"no folder {options.data}: give one with --data")
    print(f"florilege {florilege.__version__}, Python {platform.python_version()}, {sys.platform}")
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.sets or names(options.data):
            report(name, options.store or Path(scratch), options)


if __name__ == "__main__":
    main()
