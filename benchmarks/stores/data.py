"""The corpus all stores are given: clustered vectors, Zipfian text, five metadata fields, twenty chunks a source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PER_SOURCE = 20
TOKENS = 78
QUERIES = 64
REPLACED = 30


class Corpus(NamedTuple):
    """``vectors`` has a row for every text, then one for every text of ``fresh``, which replaces the first sources."""

    texts: list[str]
    vectors: Any
    fresh: list[str]
    queries: Any
    asked: list[str]

    @property
    def sources(self) -> int:
        return len(self.texts) // PER_SOURCE


def metadata(source: int) -> dict[str, Any]:
    """``percent`` picks 1 % of the sources, ``part`` 9 %."""
    return {
        "year": 1990 + source % 35,
        "lang": ("en", "de", "fr", "es")[source % 4],
        "percent": source % 100,
        "part": source % 11,
        "tags": ["a", "b"][: source % 3],
    }


def make(folder: Path, chunks: int, dimensions: int) -> None:
    """Write the corpus to a folder. ``dimensions`` 0: words alone."""
    rng = np.random.default_rng(11)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, size)) for size in rng.integers(3, 11, 60_000)]
    weights = 1 / np.arange(1, len(words) + 1) ** 1.05
    weights /= weights.sum()

    def texts(count: int, tokens: int) -> list[str]:
        made: list[str] = []
        for start in range(0, count, 20_000):
            picks = rng.choice(len(words), (min(20_000, count - start), tokens), p=weights)
            made += [" ".join(map(words.__getitem__, row)) for row in picks.tolist()]
        return made

    fresh = REPLACED * PER_SOURCE
    record = {"texts": texts(chunks, TOKENS), "fresh": texts(fresh, TOKENS), "asked": texts(QUERIES, 8)}
    (folder / "texts.json").write_text(json.dumps(record))
    if dimensions:
        centres = rng.standard_normal((2000, dimensions)).astype(np.float32)
        latent = rng.standard_normal((48, dimensions)).astype(np.float32)
        total = chunks + fresh + QUERIES
        vectors = centres[rng.integers(0, len(centres), total)]
        vectors += 0.1 * rng.standard_normal((total, 48)).astype(np.float32) @ latent
        vectors += 0.5 * rng.standard_normal(vectors.shape).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        np.save(folder / "vectors.npy", vectors)


def read(folder: Path) -> Corpus:
    """The corpus in a folder."""
    record = json.loads((folder / "texts.json").read_text())
    path = folder / "vectors.npy"
    vectors = np.load(path, mmap_mode="r") if path.exists() else None
    held = None if vectors is None else vectors[:-QUERIES]
    queries = None if vectors is None else np.array(vectors[-QUERIES:])
    return Corpus(record["texts"], held, record["fresh"], queries, record["asked"])
