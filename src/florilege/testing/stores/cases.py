"""What the store suites share: small sources, their vectors, stores opened in a folder of the test's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import (
    ChunkVectors,
    DataStore,
    SearchRequest,
    Snapshot,
    SourceWrite,
)
from florilege.model.chunk import Chunk
from florilege.model.document import Document
from florilege.model.hashing import digest, mint_ids
from florilege.model.ledger import SourceRecord, Version
from florilege.testing.fakes import CountingEmbedder

NS = "library"
SPACE = EmbeddingSpace(name="test", dimensions=16)
SPARSE = EmbeddingSpace(name="test", dimensions=1 << 20, metric="dot")
_embedder = CountingEmbedder(dimensions=16)


def key_of(text: str, space: EmbeddingSpace = SPACE) -> bytes:
    """The vector key these tests give a text."""
    return digest(space.identity, text)


def vectors_of(texts: Sequence[str]) -> Any:
    """The vectors these tests give texts."""
    return _embedder.embed_many(texts).vectors


def sparse_of(texts: Sequence[str]) -> list[dict[int, float]]:
    """The sparse vectors these tests give texts: an id a word, weighing how often it stands there and a little more."""
    return [
        {int.from_bytes(digest(word)[:2], "big") << 4: count + 0.25 for word, count in Counter(text.split()).items()}
        for text in texts
    ]


def write_of(
    source_id: str,
    texts: Sequence[str],
    *,
    expected: Version | None = None,
    metadata: dict[str, Any] | None = None,
    vectors: bool = False,
    sparse: bool = False,
    swapped: bool = False,
    **options: Any,
) -> SourceWrite:
    """A source of one chunk a text, ids minted from the texts; ``swapped``: with the legs' spaces exchanged."""
    record = options.pop("record", {})
    ids = mint_ids(source_id, [(text, "") for text in texts])
    chunks = [
        Chunk(source_id=source_id, chunk_id=chunk_id, content=text, ordinal=ordinal, metadata=metadata or {})
        for ordinal, (chunk_id, text) in enumerate(zip(ids, texts, strict=True))
    ]
    fields = {"title": source_id.upper(), "metadata": metadata or {}, "corpus_id": "shelf", **record}
    return SourceWrite(
        record=SourceRecord(namespace=options.pop("namespace", NS), source_id=source_id, **fields),
        chunks=chunks,
        document=options.pop("document", Document(source_id=source_id, content="\n\n".join(texts))),
        vectors=_keys(SPARSE if swapped else SPACE, texts) if vectors else None,
        sparse=_keys(SPACE if swapped else SPARSE, texts) if sparse else None,
        expected=expected,
        **options,
    )


def _keys(space: EmbeddingSpace, texts: Sequence[str]) -> ChunkVectors:
    return ChunkVectors(space, [key_of(text, space) for text in texts])


def contents(snapshot: Snapshot, source_id: str) -> list[str]:
    """The texts of a source's chunks."""
    return [chunk.content for chunk in snapshot.chunks(source_id)]


def found(snapshot: Snapshot, **request: Any) -> dict[str, list[tuple[str, str]]]:
    """Source ids and texts a search finds, by leg."""
    result = snapshot.search(SearchRequest(**request))
    return {
        leg: [(chunk.source_id, chunk.content) for chunk in snapshot.hydrate([item.row for item in candidates])]
        for leg, candidates in result.legs.items()
    }


class Suite:
    """Opens stores in a folder of the test's and closes them after it."""

    def open(self, path: Path) -> DataStore:
        """The store at ``path``."""
        raise AssertionError("a suite needs its open(path)")

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Callable[[], DataStore]]:
        """Opens further handles of the one store."""
        stores: list[DataStore] = []

        def another() -> DataStore:
            stores.append(self.open(tmp_path / "store"))
            return stores[-1]

        yield another
        for store in stores:
            store.close()

    @pytest.fixture
    def store(self, opened: Callable[[], DataStore]) -> DataStore:
        """An empty store."""
        return opened()
