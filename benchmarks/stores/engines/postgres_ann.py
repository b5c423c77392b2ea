"""The server store with ``apply(ann=True)``."""

from __future__ import annotations

from benchmarks.stores.engines.postgres_ours import Engine as Exact


class Engine(Exact):
    schema = "bench_ann"
    ann = True
