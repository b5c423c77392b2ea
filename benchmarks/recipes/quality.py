"""What a recipe gains over its legs: nDCG@10 and recall@100 of words, vectors, both, and both with the reranker that
needs no model.

    python benchmarks/recipes/quality.py                          # every set, and questions across languages
    python benchmarks/recipes/quality.py --store /tmp/judged scifact   # keep the stores: vectors are made once

The sets, the chunks (one a document, its title before it) and the measures are those of ``benchmarks/retrieval``.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "retrieval"))

from judged import JudgedSet, load, names
from metrics import ndcg, recall
from run import DATA, DEPTH, Whole, documents, mean

import florilege
from florilege import Corpus, Pipeline, Query, Recipe
from florilege.retrieval import rerank, rerankers, retrieve
from florilege.text import scripts

COLUMNS = ("lexical", "dense", "hybrid", "hybrid+rerank")
OTHERS = ("de", "es", "tr", "zh", "ar", "th")
ACROSS = (
    *(f"xquad-{code}@xquad-en" for code in OTHERS),
    *(f"xquad-en@xquad-{code}" for code in OTHERS),
)
"""Questions in one language over documents in another."""


def ranked(corpus: Corpus, judged: JudgedSet) -> dict[str, list[list[str]]]:
    """The rankings of every query by column. A query is embedded once, and that vector used where its own would be."""
    dense = corpus.indexer.dense
    assert dense is not None
    found: dict[str, list[list[str]]] = {column: [] for column in COLUMNS}
    steps = [retrieve(limit=DEPTH), rerank(engine=rerankers.lexical())]
    reranked = Recipe(id="reranked", retriever=corpus.retriever(), steps=steps)
    for row in judged.queries:
        text = row["text"]
        vector = dense.embed_many([text], "query").vectors[0]
        covered = vector if scripts.covers(dense.scripts, text) else None
        options: dict[str, Any] = {"limit": DEPTH, "filter": row.get("filter")}
        answers = {
            "lexical": corpus.retrieve(Query(text=text, mode="lexical"), **options),
            "dense": corpus.retrieve(Query(text=text, vector=vector, mode="dense"), **options),
            "hybrid": corpus.retrieve(Query(text=text, vector=covered, mode="hybrid"), **options),
            "hybrid+rerank": reranked.retrieve(Query(text=text, vector=covered, mode="hybrid"), **options),
        }
        for column, hits in answers.items():
            found[column].append(list(dict.fromkeys(hit.source_id for hit in hits)))
    return found


def report(name: str, root: Path, data: Path, most: int | None) -> dict[str, tuple[float, float]]:
    """Index one set, ask it, print its line; the measures by column."""
    judged = load(data, name)
    judged = replace(judged, queries=judged.queries[:most])
    with florilege.open(root / judged.corpus, pipeline=Pipeline(chunker=Whole())) as corpus:
        result = corpus.sync(documents(judged))
        if result.failed:
            raise SystemExit(f"{name}: {result.failed} documents failed: {result.sources[0].error}")
        found = ranked(corpus, judged)
    measured = {
        column: (mean(ndcg, judged, rankings, 10), mean(recall, judged, rankings, 100))
        for column, rankings in found.items()
    }
    told = "  ".join(f"{gain:.3f} {reached:.3f}" for gain, reached in measured.values())
    print(f"{name:22} {len(judged.queries):5}  {told}", flush=True)
    return measured


def averages(rows: Sequence[dict[str, tuple[float, float]]]) -> str:
    """The mean of each column over the sets."""
    keys = rows[0].keys()
    return "  ".join(
        f"{statistics.fmean(row[key][0] for row in rows):.3f} {statistics.fmean(row[key][1] for row in rows):.3f}"
        for key in keys
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="names of sets, or QUERIES@CORPUS (default: all)")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of judged sets (default: beside the checkout)")
    parser.add_argument("--store", type=Path, help="folder to keep the stores in (default: a temporary one)")
    parser.add_argument("--most", type=int, metavar="N", help="ask only the first N queries of each set (default: all)")
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"no folder {options.data}: give one with --data")
    print(f"florilege {florilege.__version__}, Python {platform.python_version()}, {sys.platform}")
    print("nDCG@10 and recall@100 of each\n")
    print(f"{'set':22} {'asked':>5}  {'lexical':11}  {'dense':11}  {'hybrid':11}  {'hybrid+rerank':13}")
    with tempfile.TemporaryDirectory() as scratch:
        root = options.store or Path(scratch)
        own = options.sets or [*names(options.data), *ACROSS]
        rows = {name: report(name, root, options.data, options.most) for name in own}
    within = [row for name, row in rows.items() if "@" not in name]
    if len(within) > 1:
        print(f"{'mean within a language':22} {len(within):5}  {averages(within)}")


if __name__ == "__main__":
    main()
