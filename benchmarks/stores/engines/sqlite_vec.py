"""sqlite-vec beside FTS5: a vec0 table with metadata columns, a full-text table, one transaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pysqlite3 as sqlite3
import sqlite_vec
from benchmarks.stores.data import PER_SOURCE, Corpus, metadata


class Engine:
    lexical_calls = 12

    def __init__(self, folder: Path) -> None:
        self.path = folder / "vec.db"

    def open(self) -> None:
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.enable_load_extension(True)
        sqlite_vec.load(self.db)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        self.db.close()

    def load(self, corpus: Corpus) -> None:
        self.open()
        self.db.execute("CREATE TABLE chunk (id INTEGER PRIMARY KEY, source INT, percent INT, part INT, content TEXT)")
        self.db.execute("CREATE INDEX chunk_source ON chunk (source)")
        self.db.execute("CREATE INDEX chunk_percent ON chunk (percent)")
        self.db.execute("CREATE INDEX chunk_part ON chunk (part)")
        self.db.execute(
            f"CREATE VIRTUAL TABLE vec USING vec0 (id INTEGER PRIMARY KEY, e float[{corpus.vectors.shape[1]}]"
            " distance_metric=cosine, percent INTEGER, part INTEGER)"
        )
        self.db.execute("CREATE VIRTUAL TABLE fts USING fts5 (content, detail=none, content='')")
        for first in range(0, corpus.sources, 100):
            self.db.execute("BEGIN")
            for source in range(first, min(first + 100, corpus.sources)):
                part = slice(source * PER_SOURCE, (source + 1) * PER_SOURCE)
                self._insert(source, corpus.texts[part], corpus.vectors[part])
            self.db.execute("COMMIT")

    def _insert(self, source: int, texts: list[str], vectors: Any) -> None:
        facts = metadata(source)
        percent, part = facts["percent"], facts["part"]
        numbers = range(source * PER_SOURCE, source * PER_SOURCE + len(texts))
        self.db.executemany(
            "INSERT INTO chunk VALUES (?, ?, ?, ?, ?)",
            [(number, source, percent, part, text) for number, text in zip(numbers, texts, strict=True)],
        )
        self.db.executemany(
            "INSERT INTO vec (id, e, percent, part) VALUES (?, ?, ?, ?)",
            [
                (number, np.asarray(vector, dtype=np.float32).tobytes(), percent, part)
                for number, vector in zip(numbers, vectors, strict=True)
            ],
        )
        self.db.executemany("INSERT INTO fts (rowid, content) VALUES (?, ?)", list(zip(numbers, texts, strict=True)))

    def dense(self, query: Any, k: int, where: Any) -> list[int]:
        which, values = ("", ()) if where is None else (f" AND {where[0]} = ?", (where[1],))
        rows = self.db.execute(
            f"SELECT id FROM vec WHERE e MATCH ? AND k = ?{which} ORDER BY distance",
            (np.asarray(query, dtype=np.float32).tobytes(), k, *values),
        )
        return [row for (row,) in rows]

    def lexical(self, text: str, k: int, where: Any) -> list[int]:
        asked = " OR ".join(f'"{word}"' for word in dict.fromkeys(text.split()))
        if where is None:
            rows = self.db.execute("SELECT rowid FROM fts WHERE fts MATCH ? ORDER BY rank LIMIT ?", (asked, k))
        else:
            rows = self.db.execute(
                "SELECT f.rowid FROM fts f CROSS JOIN chunk c ON c.id = f.rowid WHERE f.fts MATCH ?"
                f" AND c.{where[0]} = ? ORDER BY f.rank LIMIT ?",
                (asked, where[1], k),
            )
        return [row for (row,) in rows]

    def hybrid(self, text: str, query: Any, k: int, where: Any) -> list[int]:
        scores: dict[int, float] = {}
        for leg in (self.dense(query, 50, where), self.lexical(text, 50, where)):
            for rank, number in enumerate(leg):
                scores[number] = scores.get(number, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda number: -scores[number])[:k]

    def replace(self, source: int, texts: list[str], vectors: Any) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        old = self.db.execute("SELECT id, content FROM chunk WHERE source = ?", (source,)).fetchall()
        self.db.executemany("INSERT INTO fts (fts, rowid, content) VALUES ('delete', ?, ?)", old)
        self.db.executemany("DELETE FROM vec WHERE id = ?", [(number,) for number, _ in old])
        self.db.execute("DELETE FROM chunk WHERE source = ?", (source,))
        self._insert(source, texts, vectors)
        self.db.execute("COMMIT")

    def disk(self) -> float:
        return sum(file.stat().st_size for file in self.path.parent.glob("vec.db*")) / 2**20

    def versions(self) -> str:
        return f"sqlite-vec {sqlite_vec.__version__}, SQLite {sqlite3.sqlite_version}"
