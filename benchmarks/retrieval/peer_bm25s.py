"""Ranks with bm25s, in an environment of its own. Reads one JSON object from standard input, writes one.

In: ``{"documents": [[term, ...], ...], "queries": [[term, ...], ...], "allowed": [null | [position, ...], ...], "k":
100}``. Out: ``{"version": ..., "rankings": [[position, ...], ...]}``, zero scores dropped, ties by position.
"""

from __future__ import annotations

import json
import sys

import bm25s
import numpy as np


def main() -> None:
    asked = json.load(sys.stdin)
    index = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
    index.index(asked["documents"], show_progress=False)
    rankings = []
    for terms, allowed in zip(asked["queries"], asked["allowed"], strict=True):
        known = [term for term in terms if term in index.vocab_dict]
        scores = index.get_scores(known) if known else np.zeros(len(asked["documents"]))
        if allowed is not None:
            scores = np.where(np.isin(np.arange(len(scores)), allowed), scores, 0)
        best = np.argsort(-scores, kind="stable")[: asked["k"]]
        rankings.append([int(position) for position in best if scores[position] > 0])
    json.dump({"version": bm25s.__version__, "rankings": rankings}, sys.stdout)


if __name__ == "__main__":
    main()
