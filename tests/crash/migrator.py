"""A process that moves a store between two embedding spaces, or collects it, until it is killed.

python -m tests.crash.migrator STORE migrate|collect
"""

from __future__ import annotations

import sys
import time

import florilege
from florilege.testing import CountingEmbedder

SPACES = ("one", "two")


def embedder(name: str) -> CountingEmbedder:
    """The embedder of a space."""
    return CountingEmbedder(dimensions=16, name=name, max_batch=4)


def opened(store: str) -> florilege.Corpus:
    """The corpus with the embedder its namespace is bound to."""
    with florilege.open(store, dense=None) as corpus:
        bound = corpus.data.bound_space("default") or ""
    name = next((name for name in SPACES if bound.startswith(f"{name}/")), SPACES[0])
    return florilege.open(store, dense=embedder(name))


def other(corpus: florilege.Corpus) -> CountingEmbedder:
    """The embedder of the space the corpus is not in."""
    assert corpus.indexer.dense is not None
    return embedder(next(name for name in SPACES if name != corpus.indexer.dense.space.name))


def main(store: str, what: str) -> None:
    """Do it over and over."""
    with opened(store) as corpus:
        version = time.time_ns()
        while True:
            version += 1
            corpus.sync([florilege.Document(source_id=f"s{n}", content=f"text {n} at {version}") for n in range(20)])
            if what == "migrate":
                corpus.migrate_embeddings(other(corpus))
            else:
                corpus.data.collect("default", keep_generations=1, retention=0.0)
            print(what, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
