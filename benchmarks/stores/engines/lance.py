"""LanceDB: IVF_HNSW_SQ, its own full-text index, scalar indexes on the filter columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from benchmarks.stores.data import PER_SOURCE, Corpus, metadata


class Engine:
    lexical_calls = 64

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lance"

    def open(self) -> None:
        self.table = lancedb.connect(self.path).open_table("chunk")

    def close(self) -> None:
        del self.table

    def load(self, corpus: Corpus) -> None:
        database = lancedb.connect(self.path)
        self.table = database.create_table("chunk", schema=_schema(corpus.vectors.shape[1]))
        for first in range(0, corpus.sources, 500):
            sources = range(first, min(first + 500, corpus.sources))
            part = slice(first * PER_SOURCE, (sources[-1] + 1) * PER_SOURCE)
            self.table.add(_rows(sources, corpus.texts[part], corpus.vectors[part]))
        self.table.create_index(metric="dot", vector_column_name="e", index_type="IVF_HNSW_SQ")
        self.table.create_fts_index("content", use_tantivy=False)
        for column in ("percent", "part", "source"):
            self.table.create_scalar_index(column)
        self.table.optimize()

    def dense(self, query: Any, k: int, where: Any) -> list[int]:
        asked = self.table.search(np.asarray(query, dtype=np.float32), vector_column_name="e").distance_type("dot")
        asked = asked.nprobes(20).refine_factor(4).ef(max(100, 4 * k)).select(["id"]).limit(k)
        return self._run(asked, where)

    def lexical(self, text: str, k: int, where: Any) -> list[int]:
        return self._run(self.table.search(text, query_type="fts").select(["id"]).limit(k), where)

    def hybrid(self, text: str, query: Any, k: int, where: Any) -> list[int]:
        scores: dict[int, float] = {}
        for leg in (self.dense(query, 50, where), self.lexical(text, 50, where)):
            for rank, number in enumerate(leg):
                scores[number] = scores.get(number, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda number: -scores[number])[:k]

    def _run(self, asked: Any, where: Any) -> list[int]:
        if where is not None:
            asked = asked.where(f"{where[0]} = {where[1]}", prefilter=True)
        return list(asked.to_arrow()["id"].to_pylist())

    def replace(self, source: int, texts: list[str], vectors: Any) -> None:
        new = _rows(range(source, source + 1), texts, vectors)
        merge = self.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.when_not_matched_by_source_delete(f"source = {source}").execute(new)

    def disk(self) -> float:
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file()) / 2**20

    def versions(self) -> str:
        return f"lancedb {lancedb.__version__}"


def _schema(dimensions: int) -> pa.Schema:
    numbers = [(name, pa.int32()) for name in ("source", "percent", "part", "year")]
    return pa.schema(
        [("id", pa.int64()), *numbers, ("lang", pa.string()), ("content", pa.string()),
         ("e", pa.list_(pa.float32(), dimensions))]
    )  # fmt: skip


def _rows(sources: range, texts: list[str], vectors: Any) -> pa.Table:
    facts = [metadata(source) for source in sources for _ in range(PER_SOURCE)]
    array = np.ascontiguousarray(vectors, dtype=np.float32)
    columns: dict[str, Any] = {
        "id": np.arange(sources[0] * PER_SOURCE, (sources[-1] + 1) * PER_SOURCE, dtype=np.int64),
        "source": np.repeat(np.array(sources, dtype=np.int32), PER_SOURCE),
        **{name: np.array([fact[name] for fact in facts], dtype=np.int32) for name in ("percent", "part", "year")},
        "lang": [fact["lang"] for fact in facts],
        "content": texts,
        "e": pa.FixedSizeListArray.from_arrays(pa.array(array.ravel()), array.shape[1]),
    }
    return pa.table(columns, schema=_schema(array.shape[1]))
