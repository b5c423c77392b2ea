"""The server store: exact dense plans."""

from __future__ import annotations

from typing import Any, ClassVar

from benchmarks.stores.data import Corpus
from benchmarks.stores.engines import served
from benchmarks.stores.engines.ours import Ours

from florilege.stores import PostgresStore


class Engine(Ours):
    schema: ClassVar[str] = "bench_ours"
    ann: ClassVar[bool] = False

    def make(self) -> Any:
        return PostgresStore(served.URL, schema=self.schema)

    def load(self, corpus: Corpus) -> None:
        served.run(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")
        super().load(corpus)
        served.run(f"SET search_path TO {self.schema}, public", "ANALYZE")
        if self.ann:
            self.store.apply(ann=True)

    def disk(self) -> float:
        return served.size(self.schema)

    def server(self) -> list[int]:
        return served.server()

    def versions(self) -> str:
        return f"florilege, {served.versions()}"
