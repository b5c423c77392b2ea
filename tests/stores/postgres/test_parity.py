"""Both stores rank alike: the same rows in every leg, scores within 1e-6, order where scores differ by more."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import Candidate, ChunkVectors, SearchRequest, Snapshot, SourceWrite
from florilege.model.chunk import Chunk
from florilege.model.filters import F
from florilege.model.hashing import digest
from florilege.model.ledger import SourceRecord
from florilege.stores import SQLiteStore
from florilege.stores.postgres import PostgresStore
from florilege.stores.postgres.reading import matching, search
from florilege.testing.stores import NS

SPACE = EmbeddingSpace(name="parity", dimensions=24)
SPARSE = EmbeddingSpace(name="weights", dimensions=500, metric="dot")
SOURCES = 120
FILTERS = (None, F("n") < 6, F("lang") == "de", (F("n") >= 30) & ~(F("lang") == "en"), F("n") == 999)


def writes() -> Iterator[tuple[SourceWrite, Any, list[dict[int, float]]]]:
    """Sources with vectors and weights: words by rank, vectors in clusters, some texts twice, some without either."""
    choice, made = random.Random(3), np.random.default_rng(3)
    words = [f"w{number}" for number in range(400)]
    centres = made.normal(size=(12, SPACE.dimensions))
    for number in range(SOURCES):
        texts = [
            " ".join(choice.choices(words, weights=[1 / (rank + 1) for rank in range(len(words))], k=30))
            for _ in range(choice.randint(1, 7))
        ]
        if number % 10 == 0:
            texts[0] = "the same text everywhere w1 w2"
        chunks = [
            Chunk(
                source_id=f"s{number:03}",
                chunk_id=f"c{place}",
                content=text,
                metadata={"n": number, "lang": choice.choice(["en", "de"])},
            )
            for place, text in enumerate(texts)
        ]
        vectors = centres[made.integers(12, size=len(texts))] + made.normal(size=(len(texts), SPACE.dimensions))
        weights = [{int(id): float(made.random()) + 0.01 for id in made.integers(500, size=20)} for _ in texts]
        keys = [digest(text) for text in texts]
        wanted = [None if place % 5 == 4 else key for place, key in enumerate(keys)]
        yield (
            SourceWrite(
                record=SourceRecord(namespace=NS, source_id=f"s{number:03}"),
                chunks=chunks,
                vectors=ChunkVectors(SPACE, wanted),
                sparse=ChunkVectors(SPARSE, wanted),
            ),
            vectors,
            weights,
        )


def fill(store: Any) -> None:
    for write, vectors, weights in writes():
        keys = [digest(chunk.content) for chunk in write.chunks]
        store.put_vectors(SPACE, keys, vectors)
        store.put_sparse(SPARSE, keys, weights)
        store.replace(NS, [write])
    store.delete_sources(NS, {f"s{number:03}": None for number in range(0, SOURCES, 7)})


@pytest.fixture(scope="module")
def snapshots(dsn_of: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Snapshot, Snapshot]]:
    folder: Path = tmp_path_factory.mktemp("parity")
    with SQLiteStore(folder / "embedded") as embedded, PostgresStore(dsn_of(folder / "server")) as server:
        fill(embedded)
        fill(server)
        server.apply(ann=True)
        with embedded.snapshot(NS) as one, server.snapshot(NS) as two:
            yield one, two


def requests() -> Iterator[SearchRequest]:
    choice, made = random.Random(5), np.random.default_rng(5)
    for number in range(12):
        yield SearchRequest(
            text=" ".join(f"w{choice.randint(0, 60 if number % 2 else 399)}" for _ in range(1 + number % 8)),
            vector=made.normal(size=SPACE.dimensions),
            space=SPACE,
            sparse={int(id): float(made.random()) + 0.01 for id in made.integers(500, size=15)},
            sparse_space=SPARSE,
            depth=choice.choice([1, 3, 20, 500]),
        )


def same(one: list[Candidate], two: list[Candidate]) -> None:
    np.testing.assert_allclose([item.score for item in one], [item.score for item in two], atol=1e-6)
    for place, (left, right) in enumerate(zip(one, two, strict=True)):
        near = [item for item in one if abs(item.score - left.score) <= 1e-6]
        if len(near) == 1 and place < len(one) - 1:
            assert (left.source_id, left.chunk_id) == (right.source_id, right.chunk_id)
    known = {(item.source_id, item.chunk_id): (item.has_vector, item.has_sparse) for item in two}
    for item in one:
        told = known.get((item.source_id, item.chunk_id))
        assert told is None or told == (item.has_vector, item.has_sparse)


@pytest.mark.parametrize("number", range(len(FILTERS)))
@pytest.mark.parametrize("few", [20_000, 0])
def test_legs_agree(
    snapshots: tuple[Snapshot, Snapshot], number: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "FEW_ROWS", few)  # 0: every row is tested where it is found
    monkeypatch.setattr(search, "FEW_ROWS", 20_000)  # and none by the approximate index
    for request in requests():
        asked = replace(request, filter=FILTERS[number])
        one, two = (snapshot.search(asked) for snapshot in snapshots)
        assert one.coverage == pytest.approx(two.coverage)
        for name in ("rows", "visible_rows", "undeclared_fields", "terms", "known_terms", "sparse_coverage"):
            assert one.facts.get(name) == two.facts.get(name), name
        for leg in ("lexical", "dense", "sparse"):
            same(list(one.legs[leg]), list(two.legs[leg]))


def test_the_index_finds_nearly_all(snapshots: tuple[Snapshot, Snapshot], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "FEW_ROWS", 0)
    monkeypatch.setattr(matching, "FEW_ROWS", 0)
    found = wanted = 0
    for request in requests():
        one, two = (snapshot.search(request).legs["dense"] for snapshot in snapshots)
        assert len(one) == len(two)
        wanted += len(one)
        found += len({item[1:3] for item in one} & {item[1:3] for item in two})
    assert found >= 0.98 * wanted
