"""What recipes cost beyond their stores and models: a five-step recipe with its trace, and federation.

    python benchmarks/recipes/overhead.py

The sources answer from memory, models and rerankers at once, so that what is measured is the steps, the fusion and the
trace. Sources and models are timed too and taken off. Federation waits for four sources that take 20 ms each.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import florilege
from florilege import Hit, ParentChunk, ParentRef, Provenance, Query, Recipe, Retriever, Span
from florilege.interfaces import Generation, Reranking, Scored
from florilege.model.hit import HitProvenance
from florilege.retrieval import compress_to_budget, expand_parents, fanout, rerank, retrieve

WORDS = "The harp of order {0} may be returned within {1} days of delivery in its transit case. "


def parent(number: int) -> str:
    """A passage of 3,000 characters, unlike the others, in words that others have too."""
    return "".join(WORDS.format((7 * number + line) % 997, number // 997 + line) for line in range(40))[:3000]


class Clock:
    """Seconds spent in what the recipe calls."""

    def __init__(self) -> None:
        self.spent = 0.0

    def timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            started = time.perf_counter()
            try:
                return call(*args)
            finally:
                self.spent += time.perf_counter() - started

        return run


def hits(count: int, first: int = 0) -> list[Hit]:
    """Hits of 900 characters, each with a parent of 3,000; other numbers are other texts."""
    found = []
    for place, number in enumerate(range(first, first + count)):
        reference = ParentRef(parent_id=f"p{number}", key=f"key{number}", title="Returns")
        spans = (Span(600, 1500),)
        found.append(
            Hit(
                namespace="default",
                source_id=f"docs/{number}.md",
                chunk_id=f"chunk_{number:032x}",
                content=parent(number)[600:1500],
                score=1.0 / (place + 1),
                title="Returns",
                provenance=HitProvenance(headings=("Returns", "Harps"), source_spans=spans, parent=reference),
                parent=reference,
            )
        )
    return found


class Judge:
    """Scores by length, at once."""

    name = "length"

    def __init__(self, clock: Clock) -> None:
        self.rerank = clock.timed(self._rerank)

    def _rerank(self, query: str, passages: Sequence[str]) -> Reranking:
        return Reranking(scores=[Scored(place, float(place % 7)) for place in range(len(passages))])


def five_steps(clock: Clock, budget: int, first: int = 0) -> Recipe:
    """The recipe of the guide: fan out, retrieve, expand, rerank, compress."""
    found = hits(30, first)
    parents = {
        f"key{number}": ParentChunk(
            source_id=f"docs/{number}.md",
            parent_id=f"p{number}",
            key=f"key{number}",
            content=parent(number),
            provenance=Provenance(source_spans=(Span(0, 3000),)),
        )
        for number in range(first, first + 30)
    }
    answer = Generation(text="", parsed={"queries": ["returning a harp", "harp refund", "send a harp back"]})
    return Recipe(
        id="five-steps",
        retriever=Retriever.from_function(id="docs", fn=clock.timed(lambda query: found)),
        model=clock.timed(lambda messages: answer),
        steps=[
            fanout(max_queries=4),
            retrieve(limit=30),
            expand_parents(parents, max_parent_chars=4000),
            rerank(engine=Judge(clock), top_k=8),
            compress_to_budget(budget),
        ],
    )


def overhead(budget: int, rounds: int, *, unseen: bool = False) -> list[tuple[float, float]]:
    """Milliseconds of each run, by the clock and of CPU, less what its source, model and reranker took.

    ``unseen``: no run finds passages that an earlier one has found.
    """
    clock = Clock()
    question = "How long may a harp be returned?"
    recipe = five_steps(clock, budget)
    recipe.retrieve_with_trace(question)
    times = []
    for place in range(1, rounds + 1):
        recipe = five_steps(clock, budget, 30 * place) if unseen else recipe
        clock.spent = 0.0
        started, cpu = time.perf_counter(), time.process_time()
        recipe.retrieve_with_trace(question)
        cpu = time.process_time() - cpu
        times.append((1000 * (time.perf_counter() - started - clock.spent), 1000 * cpu))
    return times


def federation(rounds: int) -> list[tuple[float, float]]:
    """Milliseconds of one query over four sources of 20 ms."""
    found = hits(30)

    def slow(query: str) -> list[Hit]:
        time.sleep(0.02)
        return found

    sources = [Retriever.from_function(id=f"source-{number}", fn=slow) for number in range(4)]
    recipe = Recipe(id="federated", retriever=sources, steps=[retrieve(limit=30)])
    times = []
    for _ in range(rounds):
        started, cpu = time.perf_counter(), time.process_time()
        recipe.retrieve(Query(text="harp"))
        times.append((1000 * (time.perf_counter() - started), 1000 * (time.process_time() - cpu)))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="runs of each (default: 200)")
    options = parser.parse_args()
    print(f"florilege {florilege.__version__}, Python {platform.python_version()}, {options.rounds} runs each\n")
    rows = {
        "five steps, everything fits the budget": overhead(20_000, options.rounds),
        "five steps, 3,500 tokens: cut to sentences": overhead(3_500, options.rounds),
        "the same, passages never found before": overhead(3_500, options.rounds, unseen=True),
        "federation, four sources of 20 ms": federation(options.rounds),
    }
    print(f"{'':46}{'median ms':>10}{'p95 ms':>9}{'median CPU ms':>15}")
    for name, times in rows.items():
        wall = sorted(pair[0] for pair in times)
        cpu = statistics.median(pair[1] for pair in times)
        print(f"{name:46}{statistics.median(wall):10.2f}{wall[int(0.95 * len(wall))]:9.2f}{cpu:15.2f}")


if __name__ == "__main__":
    main()
