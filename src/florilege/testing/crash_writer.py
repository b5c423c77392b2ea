"""A process that replaces, deletes, fills and collects until it is killed, telling what was acknowledged.

    python -m florilege.testing.crash_writer OPENER LOCATION FIRST SEED
    python -m florilege.testing.crash_writer OPENER LOCATION compete NUMBER
    python -m florilege.testing.crash_writer OPENER LOCATION watch NUMBER

OPENER is ``module:function``, which opens the store at a location: ``function(location, batch_chunks=)``. Each line
says a source and the version it has been brought to (0: deleted); competitors say how often they won,
watchers how often they looked at all sources.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from florilege.interfaces.stores import SearchRequest
from florilege.testing.stores import NS, SPACE, contents, vectors_of, write_of

SOURCES = tuple(f"s{number}" for number in range(6))


def texts(source_id: str, version: int) -> list[str]:
    """The chunks of a source at a version: some stay, most tell their version and how many there are."""
    count = 2 + (version * 7 + len(source_id)) % 11
    return [
        f"steady {index} of {source_id}" if index % 4 == 3 else f"version {version} of {source_id}: {index} of {count}"
        for index in range(count)
    ]


def opener(name: str) -> Callable[..., Any]:
    """The function called ``module:function``."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def write_for_ever(store: Any, first: int, seed: int) -> None:
    """Bring sources to version after version."""
    choice = random.Random(seed)
    for version in range(first, first + 100_000):
        source_id = choice.choice(SOURCES)
        record = store.get_sources(NS, [source_id]).get(source_id)
        expected = record.version if record else None
        if version % 9 == 0:
            store.delete_sources(NS, {source_id: expected})
            _tell(source_id, 0)
            continue
        (outcome,) = store.replace(
            NS, [write_of(source_id, texts(source_id, version), expected=expected, vectors=True)]
        )
        assert outcome.conflict is None
        _tell(source_id, version)
        if version % 3 == 0:
            pending = store.pending_vectors(NS, SPACE)
            store.fill_vectors(NS, SPACE, pending, vectors_of([item.text for item in pending]))
        if version % 5 == 0:
            store.collect(NS, retention=0)


def compete(store: Any, number: int) -> None:
    """Bring any source to the next version whenever it is still at the one that was read."""
    choice = random.Random(number)
    published = 0
    while True:
        source_id = choice.choice(SOURCES)
        record = store.get_sources(NS, [source_id])[source_id]
        version = record.version.generation + 1
        write = write_of(source_id, texts(source_id, version), expected=record.version, vectors=True)
        (outcome,) = store.replace(NS, [write])
        if outcome.conflict is None:
            published += 1
            _tell(published)
        pending = store.pending_vectors(NS, SPACE, limit=8)
        store.fill_vectors(NS, SPACE, pending, vectors_of([item.text for item in pending]))
        if published % 20 == 0:
            store.collect(NS)


def version_of(store: Any, source_id: str) -> int:
    """The version a source is at, told by its chunks (0: there are none); a mixture fails."""
    with store.snapshot(NS) as snapshot:
        found = contents(snapshot, source_id)
        if not found:
            return 0
        version = int(found[0].split()[1])
        assert found == texts(source_id, version)
        hits = snapshot.search(SearchRequest(text="version", depth=1000)).legs["lexical"]
        told = [text for text in found if text.startswith("version")]
        assert sum(hit.source_id == source_id for hit in hits) == len(told)
    return version


def see_whole(store: Any) -> None:
    """Look at every source, by record and by each leg; anything but one whole generation fails."""
    for source_id in SOURCES:
        assert version_of(store, source_id) >= 1
    with store.snapshot(NS) as snapshot:
        result = snapshot.search(SearchRequest(vector=vectors_of(["version"])[0], space=SPACE, depth=500))
        chunks = snapshot.hydrate([item.row for item in result.legs["dense"]])
        for source_id in SOURCES:
            mine = [chunk.content for chunk in chunks if chunk.source_id == source_id]
            assert set(mine) <= set(contents(snapshot, source_id))


def watch(store: Any) -> None:
    """Look again and again."""
    for count in itertools.count(1):
        see_whole(store)
        _tell(count)


def _tell(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(open_store: str, location: str, *rest: str) -> None:
    """Open the store and write, or read, until killed."""
    role = rest[0]
    batch = 2000 if role == "compete" and rest[1] == "0" else 5
    with opener(open_store)(location, batch_chunks=batch) as store:
        if role == "compete":
            compete(store, int(rest[1]))
        elif role == "watch":
            watch(store)
        else:
            write_for_ever(store, int(rest[0]), int(rest[1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
