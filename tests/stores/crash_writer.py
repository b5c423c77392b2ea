"""A process that replaces, deletes, fills and collects until it is killed, telling what was acknowledged.

    python -m tests.stores.crash_writer STORE FIRST SEED
    python -m tests.stores.crash_writer STORE compete NUMBER

Each line says a source and the version it has been brought to (0: deleted); competitors say how often they won.
"""

from __future__ import annotations

import random
import sys

from florilege.stores import SQLiteStore
from florilege.testing.stores import NS, SPACE, vectors_of, write_of

SOURCES = [f"s{number}" for number in range(6)]


def texts(source_id: str, version: int) -> list[str]:
    """The chunks of a source at a version: some stay, most tell their version and how many there are."""
    count = 2 + (version * 7 + len(source_id)) % 11
    return [
        f"steady {index} of {source_id}" if index % 4 == 3 else f"version {version} of {source_id}: {index} of {count}"
        for index in range(count)
    ]


def main(path: str, first: int, seed: int) -> None:
    """Write for ever."""
    choice = random.Random(seed)
    with SQLiteStore(path, batch_chunks=5) as store:
        for version in range(first, first + 100_000):
            source_id = choice.choice(SOURCES)
            record = store.get_sources(NS, [source_id]).get(source_id)
            expected = record.version if record else None
            if version % 9 == 0:
                store.delete_sources(NS, {source_id: expected})
                print(source_id, 0, flush=True)
                continue
            write = write_of(source_id, texts(source_id, version), expected=expected, vectors=True)
            (outcome,) = store.replace(NS, [write])
            assert outcome.conflict is None
            print(source_id, version, flush=True)
            if version % 3 == 0:
                pending = store.pending_vectors(NS, SPACE)
                store.fill_vectors(NS, SPACE, pending, vectors_of([item.text for item in pending]))
            if version % 5 == 0:
                store.collect(NS, retention=0)


def compete(path: str, number: int) -> None:
    """Bring any source to the next version whenever it is still at the one that was read."""
    choice = random.Random(number)
    published = 0
    with SQLiteStore(path, batch_chunks=5 if number else 2000) as store:
        while True:
            source_id = choice.choice(SOURCES)
            record = store.get_sources(NS, [source_id])[source_id]
            assert record.version is not None
            version = record.version.generation + 1
            write = write_of(source_id, texts(source_id, version), expected=record.version, vectors=True)
            (outcome,) = store.replace(NS, [write])
            if outcome.conflict is None:
                published += 1
                print(published, flush=True)
            pending = store.pending_vectors(NS, SPACE, limit=8)
            store.fill_vectors(NS, SPACE, pending, vectors_of([item.text for item in pending]))
            if published % 20 == 0:
                store.collect(NS)


if __name__ == "__main__":
    if sys.argv[2] == "compete":
        compete(sys.argv[1], int(sys.argv[3]))
    else:
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
