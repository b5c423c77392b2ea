"""pgvector as its documentation has it: one table, HNSW on halfvec, a generated tsvector with GIN."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from benchmarks.stores.data import PER_SOURCE, Corpus, metadata
from benchmarks.stores.engines import served

_COLUMNS = "id, source, percent, part, lang, year, content, e"


class Engine:
    lexical_calls = 6

    def __init__(self, folder: Path) -> None:
        pass

    def open(self) -> None:
        self.db = psycopg.connect(served.URL, autocommit=True)
        self.db.execute("SET search_path TO bench_plain, public")
        self.db.execute("SET hnsw.iterative_scan = strict_order")
        self.db.execute("SET hnsw.ef_search = 100")

    def close(self) -> None:
        self.db.close()

    def load(self, corpus: Corpus) -> None:
        self.db = psycopg.connect(served.URL, autocommit=True)
        self.db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        self.db.execute("DROP SCHEMA IF EXISTS bench_plain CASCADE")
        self.db.execute("CREATE SCHEMA bench_plain")
        self.db.execute("SET search_path TO bench_plain, public")
        self.db.execute(
            "CREATE TABLE chunk (id bigint PRIMARY KEY, source int, percent int, part int, lang text, year int,"
            f" content text, e halfvec({corpus.vectors.shape[1]}),"
            " ts tsvector GENERATED ALWAYS AS (to_tsvector('simple', content)) STORED)"
        )
        with self.db.cursor().copy(f"COPY chunk ({_COLUMNS}) FROM STDIN") as stream:
            for source in range(corpus.sources):
                part = slice(source * PER_SOURCE, (source + 1) * PER_SOURCE)
                for row in _rows(source, corpus.texts[part], corpus.vectors[part]):
                    stream.write_row(row)
        self.db.execute("SET maintenance_work_mem = '1GB'")
        self.db.execute("CREATE INDEX ON chunk USING hnsw (e halfvec_ip_ops) WITH (m = 16, ef_construction = 64)")
        self.db.execute("CREATE INDEX ON chunk USING gin (ts)")
        for column in ("source", "percent", "part"):
            self.db.execute(f"CREATE INDEX ON chunk ({column})")
        self.db.execute("VACUUM ANALYZE chunk")

    def dense(self, query: Any, k: int, where: Any) -> list[int]:
        text, value = _where(where)
        rows = self.db.execute(
            f"SELECT id FROM chunk WHERE {text} ORDER BY e <#> %s::halfvec LIMIT %s", (*value, _literal(query), k)
        )
        return [row for (row,) in rows]

    def lexical(self, text: str, k: int, where: Any) -> list[int]:
        which, value = _where(where)
        asked = " | ".join(dict.fromkeys(text.split()))
        rows = self.db.execute(
            f"SELECT id FROM chunk WHERE {which} AND ts @@ to_tsquery('simple', %s)"
            " ORDER BY ts_rank_cd(ts, to_tsquery('simple', %s)) DESC LIMIT %s",
            (*value, asked, asked, k),
        )
        return [row for (row,) in rows]

    def hybrid(self, text: str, query: Any, k: int, where: Any) -> list[int]:
        legs = [self.dense(query, 50, where), self.lexical(text, 50, where)]
        scores: dict[int, float] = {}
        for leg in legs:
            for rank, number in enumerate(leg):
                scores[number] = scores.get(number, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda number: -scores[number])[:k]

    def replace(self, source: int, texts: list[str], vectors: Any) -> None:
        with self.db.transaction():
            self.db.execute("DELETE FROM chunk WHERE source = %s", (source,))
            self.db.cursor().executemany(
                f"INSERT INTO chunk ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s::halfvec)",
                list(_rows(source, texts, vectors)),
            )

    def disk(self) -> float:
        return served.size("bench_plain")

    def server(self) -> list[int]:
        return served.server()

    def versions(self) -> str:
        return served.versions()


def _rows(source: int, texts: list[str], vectors: Any) -> Any:
    facts = metadata(source)
    for at, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        yield (
            source * PER_SOURCE + at, source, facts["percent"], facts["part"], facts["lang"], facts["year"], text,
            _literal(vector),
        )  # fmt: skip


def _literal(vector: Any) -> str:
    return "[" + ",".join(map(repr, np.asarray(vector, dtype=np.float32).tolist())) + "]"


def _where(where: tuple[str, int] | None) -> tuple[str, tuple[int, ...]]:
    return ("true", ()) if where is None else (f"{where[0]} = %s", (where[1],))
