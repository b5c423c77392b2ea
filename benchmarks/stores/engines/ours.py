"""What both of our stores are asked."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.stores.data import PER_SOURCE, Corpus, metadata

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import ChunkVectors, SearchRequest, SourceWrite
from florilege.model.chunk import Chunk
from florilege.model.filters import F
from florilege.model.ledger import SourceRecord

NS = "bench"
BATCH = 100


class Ours:
    """A store of ours; chunk ids are the chunks' numbers."""

    lexical_calls = 64

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store: Any = None

    def make(self) -> Any:
        raise NotImplementedError

    def open(self) -> None:
        self.store = self.make()
        self.space = None
        identity = self.store.bound_space(NS)
        if identity is not None:
            self.space = EmbeddingSpace(name="bench", dimensions=int(identity.split("/")[1]))

    def close(self) -> None:
        self.store.close()

    def load(self, corpus: Corpus) -> None:
        self.store = self.make()
        self.space = None
        if corpus.vectors is not None:
            self.space = EmbeddingSpace(name="bench", dimensions=corpus.vectors.shape[1])
            self.store.bind_space(NS, self.space)
        for first in range(0, corpus.sources, BATCH):
            writes = []
            for source in range(first, min(first + BATCH, corpus.sources)):
                part = slice(source * PER_SOURCE, (source + 1) * PER_SOURCE)
                writes.append(self.write(source, corpus.texts[part]))
            if corpus.vectors is not None:
                part = slice(first * PER_SOURCE, (first + len(writes)) * PER_SOURCE)
                keys = [key for write in writes for key in write.vectors.keys]
                self.store.put_vectors(self.space, keys, np.asarray(corpus.vectors[part]))
            self.store.replace(NS, writes)

    def write(self, source: int, texts: list[str], fresh: bool = False) -> SourceWrite:
        source_id, facts = f"source-{source:06}", metadata(source)
        numbers = range(source * PER_SOURCE, source * PER_SOURCE + len(texts))
        chunks = [
            Chunk(source_id=source_id, chunk_id=str(number), content=text, ordinal=ordinal, metadata=facts)
            for ordinal, (number, text) in enumerate(zip(numbers, texts, strict=True))
        ]
        keys = [(number + (1 << 40) * fresh).to_bytes(16, "big") for number in numbers]
        version = self.store.get_sources(NS, [source_id])[source_id].version if fresh else None
        return SourceWrite(
            record=SourceRecord(namespace=NS, source_id=source_id, title=f"Source {source}", metadata=facts),
            chunks=chunks,
            vectors=None if self.space is None else ChunkVectors(self.space, keys),
            expected=version,
        )

    def ask(self, **asked: Any) -> dict[str, list[int]]:
        name, value = asked.pop("where") or (None, None)
        filter = None if name is None else F(name) == value
        space = self.space if "vector" in asked else None
        with self.store.snapshot(NS) as snapshot:
            legs = snapshot.search(SearchRequest(filter=filter, space=space, **asked)).legs
            return {leg: [int(item.chunk_id) for item in found] for leg, found in legs.items()}

    def dense(self, query: Any, k: int, where: Any) -> list[int]:
        return self.ask(vector=query, depth=k, where=where)["dense"]

    def lexical(self, text: str, k: int, where: Any) -> list[int]:
        return self.ask(text=text, depth=k, where=where)["lexical"]

    def hybrid(self, text: str, query: Any, k: int, where: Any) -> list[int]:
        return fused(list(self.ask(text=text, vector=query, depth=50, where=where).values()), k)

    def replace(self, source: int, texts: list[str], vectors: Any) -> None:
        write = self.write(source, texts, fresh=True)
        assert write.vectors is not None
        self.store.put_vectors(self.space, write.vectors.keys, vectors)
        (outcome,) = self.store.replace(NS, [write])
        assert outcome.conflict is None


def fused(legs: list[list[int]], k: int) -> list[int]:
    """Reciprocal rank fusion."""
    scores: dict[int, list[float]] = defaultdict(list)
    for leg in legs:
        for rank, number in enumerate(leg):
            scores[number].append(1 / (60 + rank))
    return sorted(scores, key=lambda number: -math.fsum(scores[number]))[:k]
