"""A process that syncs one version of a small corpus after another until it is killed.

    python -m tests.crash.writer STORE FIRST_VERSION [COUNT]

``documents(version)`` and ``expected(version)`` are what the tests hold readers and reruns against: every chunk names
its version, its source and how many chunks its generation has.
"""

from __future__ import annotations

import sys

import florilege
from florilege.testing import CountingEmbedder

SOURCES = 24
CHUNKING = {"max_chars": 80, "overlap_chars": 0}


def size(version: int, number: int) -> int:
    """How many chunks source ``number`` has at ``version``; 0: it is not in the set."""
    return 0 if (version + number) % 7 == 0 else 1 + (version * 5 + number * 3) % 12


def texts(version: int, number: int) -> list[str]:
    """The chunks of a source at a version. Every third stays the same from version to version."""
    count = size(version, number)
    return [
        f"Steady passage {index} of source {number} never changes at all"
        if index % 3 == 2
        else f"Version {version} of source {number} holds passage {index} of {count}"
        for index in range(count)
    ]


def documents(version: int) -> list[florilege.Document]:
    """The complete set at a version; each passage under its own heading, so each is one chunk."""
    return [
        florilege.Document(
            source_id=f"s{number:02}",
            content="\n\n".join(texts(version, number)),
            metadata={"version": version, "count": size(version, number)},
            parts=tuple(_parts(version, number)),
        )
        for number in range(SOURCES)
        if size(version, number)
    ]


def _parts(version: int, number: int) -> list[florilege.Part]:
    parts, at = [], 0
    for index, text in enumerate(texts(version, number)):
        span = florilege.Span(at, at + len(text))
        parts.append(
            florilege.Part(part_id=f"p{index}", kind="text", text=text, span=span, heading_path=(f"H{index}",))
        )
        at += len(text) + 2
    return parts


def sync(corpus: florilege.Corpus, version: int) -> florilege.SyncResult:
    """Bring the corpus to a version."""
    return corpus.sync(
        documents(version),
        source_set="complete",
        stale="delete",
        allow_mass_delete=True,
        chunking=CHUNKING,
        embed="after" if version % 2 else "before",
    )


def main(store: str, first: int, count: int) -> None:
    """Sync ``count`` versions from ``first`` on, telling each that was acknowledged."""
    with florilege.open(store, dense=CountingEmbedder(dimensions=16)) as corpus:
        for version in range(first, first + count):
            sync(corpus, version)
            print(version, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000)
