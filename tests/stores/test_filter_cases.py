"""The embedded store lets through exactly the rows the published filter cases name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import florilege
from florilege import Chunk, Chunking, Corpus, Document, Pipeline, Provenance
from florilege.filters import filter_json
from florilege.testing.filters import CASES, ROWS


class OneChunk:
    """A chunk with the row's page."""

    name = "one"
    version = "1"

    def fingerprint(self) -> str:
        return "one"

    def chunk_document(self, document: Document) -> Chunking:
        page = ROWS[document.source_id].page
        provenance = Provenance(pages=() if page is None else (page,))
        chunk = Chunk(
            source_id=document.source_id,
            content=document.content,
            metadata=document.metadata,
            provenance=provenance,
        )
        return Chunking((chunk,))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    path: Path = tmp_path_factory.mktemp("filters") / "store"
    with florilege.open(path, dense=None, pipeline=Pipeline(chunker=OneChunk())) as corpus:
        result = corpus.sync(
            Document(source_id=name, content="word", title=row.title, metadata=row.metadata, media_type=row.media_type)
            for name, row in ROWS.items()
        )
        assert result.added == len(ROWS)
        yield corpus


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(filter_json(case.filter))[:80])
def test_case(corpus: Corpus, case: Any) -> None:
    assert {hit.source_id for hit in corpus.retrieve("word", limit=100, filter=case.filter)} == case.expected
    assert {hit.source_id for hit in corpus.retrieve("word", limit=100, filter=filter_json(case.filter))} == (
        case.expected
    )
