"""The semantic chunker: similarity, functions of yours, fallbacks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege import chunkers
from florilege.chunkers import Boundary
from florilege.model.document import Document
from florilege.model.errors import ChunkingError, ConfigError
from florilege.testing.chunkers import check_chunking
from florilege.testing.documents import documents
from florilege.text.tokens import tokenizer as tokenizer_of
from tests.chunkers.build import document, heading, part, table
from tests.chunkers.fakes import HashEmbedder

CATS = "Cats sleep all day. Cats hunt at night. "
CARS = "Cars need fuel. Cars have wheels."


def by_word(text: str) -> Sequence[float]:
    return [float("Cat" in text), float("Car" in text), 0.01]


def test_a_passage_ends_where_the_subject_changes() -> None:
    embedder = HashEmbedder(by_word)
    made = Document(source_id="a", content=CATS + CARS)
    cats, cars = chunkers.semantic(dense=embedder, min_chars=0).chunk_document(made).chunks
    assert (cats.content, cars.content) == (CATS.strip(), CARS)
    assert (cats.metadata["semantic_reason"], cars.metadata["semantic_reason"]) == ("start", "similarity")
    assert len(embedder.calls) == 1
    assert len(embedder.calls[0]) == 4


def test_the_least_size_holds_boundaries_back_and_the_cap_is_hard() -> None:
    made = Document(source_id="a", content=CATS + CARS)
    assert len(chunkers.semantic(dense=HashEmbedder(by_word), min_chars=60).chunk_document(made).chunks) == 1
    small = chunkers.semantic(dense=HashEmbedder(by_word), min_chars=0, max_chars=25).chunk_document(made).chunks
    assert [chunk.content for chunk in small] == [
        "Cats sleep all day.",
        "Cats hunt at night.",
        "Cars need fuel.",
        "Cars have wheels.",
    ]
    listing = Document(source_id="b", content="src/module/file_name.py\n" * 400)
    long = chunkers.semantic(dense=HashEmbedder(lambda text: [1.0, 0.0]), max_chars=300).chunk_document(listing).chunks
    assert all(len(chunk.content) <= 300 for chunk in long)


def test_percentile_takes_the_greatest_distances_of_the_document() -> None:
    made = Document(source_id="a", content=(CATS * 2 + CARS + " ") * 2)
    chunker = chunkers.semantic(dense=HashEmbedder(by_word), min_chars=0, threshold="percentile", percentile=70)
    contents = [chunk.content for chunk in chunker.chunk_document(made).chunks]
    assert contents == [(CATS * 2).strip(), CARS] * 2


def test_headings_go_with_what_follows_and_tables_are_tables() -> None:
    made = document(
        heading("# Pets", 1, "Pets"),
        part("text", CATS + CARS, heading_path=("Pets",)),
        table(["a"], [["1"]], heading_path=("Pets",)),
        title="Doc",
    )
    chunks = chunkers.semantic(dense=HashEmbedder(by_word), min_chars=0).chunk_document(made).chunks
    assert [chunk.content for chunk in chunks] == ["# Pets\n\n" + CATS.strip(), CARS, "a\n1"]
    assert {chunk.context for chunk in chunks} == {"Doc > Pets"}
    assert chunks[2].provenance.tables == ("table 1",)


def by_half(given: Any, ctx: Any) -> list[dict[str, Any]]:
    middle = len(given.segments) // 2
    return [
        {"start": given.segments[0].start, "end": given.segments[middle - 1].end, "reason": "half", "confidence": 0.9},
        {"start": given.segments[middle].start, "end": given.segments[-1].end},
    ]


@pytest.mark.parametrize("strategy", ["custom", "model", "hybrid"])
def test_a_function_says_where(strategy: Any) -> None:
    made = Document(source_id="a", content=CATS + CARS)
    chunker = chunkers.semantic(strategy, segment=by_half, dense=HashEmbedder(by_word))
    first, second = chunker.chunk_document(made).chunks
    assert (first.content, second.content) == (CATS.strip(), CARS)
    assert first.metadata["semantic_reason"] == "half"
    assert first.metadata["semantic_confidence"] == 0.9
    assert second.metadata["semantic_reason"] == strategy
    assert "semantic_confidence" not in second.metadata


def test_an_async_function_of_one_argument_works_inside_a_running_loop() -> None:
    import asyncio

    async def segment(given: Any) -> list[Boundary]:
        await asyncio.sleep(0)
        return [Boundary(given.segments[0].start, given.segments[0].end, "first")]

    async def inside() -> list[str]:
        chunker = chunkers.semantic("custom", segment=segment, min_chars=0)
        return [chunk.content for chunk in chunker.chunk_document(Document(source_id="a", content=CATS)).chunks]

    assert asyncio.run(inside()) == ["Cats sleep all day.", "Cats hunt at night."]


def test_text_a_function_leaves_out_becomes_chunks_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    made = document(part("text", CATS), table(["a"], [["1"], ["2"]]), part("text", CARS))
    chunker = chunkers.semantic("custom", segment=lambda given: [Boundary(0, 19)], min_chars=0)
    with caplog.at_level(logging.WARNING, "florilege"):
        chunks = chunker.chunk_document(made).chunks
    assert [chunk.content for chunk in chunks] == ["Cats sleep all day.", "Cats hunt at night.", "a\n1\n2", CARS]
    assert [chunk.metadata["semantic_reason"] for chunk in chunks][1:] == ["unassigned"] * 3
    assert "left out" in caplog.text


def test_hybrid_falls_back_to_embeddings_when_nothing_is_returned() -> None:
    made = Document(source_id="a", content=CATS + CARS)
    chunker = chunkers.semantic("hybrid", segment=lambda given, ctx: [], dense=HashEmbedder(by_word), min_chars=0)
    assert [chunk.metadata["semantic_reason"] for chunk in chunker.chunk_document(made).chunks] == [
        "start",
        "similarity",
    ]


@pytest.mark.parametrize(
    "answer", [[Boundary(5, 5)], [Boundary(-1, 4)], [Boundary(0, 10**6)], [Boundary(0, 9), Boundary(4, 12)], ["x"], 3]
)
def test_boundaries_that_are_none_are_refused(answer: Any) -> None:
    chunker = chunkers.semantic("custom", segment=lambda given: answer)
    with pytest.raises(ChunkingError, match="segment function"):
        chunker.chunk_document(Document(source_id="a", content=CATS))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "strategy='embedding' needs dense="),
        ({"strategy": "hybrid", "segment": by_half}, "needs dense="),
        ({"strategy": "custom"}, "needs segment="),
        ({"strategy": "model", "dense": HashEmbedder()}, "needs segment="),
        ({"strategy": "other"}, "strategy must be one of embedding, model, custom, hybrid"),
        ({"dense": HashEmbedder(), "threshold": "soft"}, "threshold"),
        ({"dense": HashEmbedder(), "similarity_threshold": float("nan")}, "similarity_threshold"),
        ({"dense": HashEmbedder(), "min_chars": 1201}, "min_chars=1201"),
        ({"dense": HashEmbedder(), "percentile": 101}, "percentile"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chunkers.semantic(**options)


def test_the_fingerprint_knows_the_space_and_the_function() -> None:
    other = HashEmbedder()
    other.space = type(other.space)(name="other", dimensions=8)
    prints = {
        chunkers.semantic(dense=HashEmbedder()).fingerprint(),
        chunkers.semantic(dense=other).fingerprint(),
        chunkers.semantic("custom", segment=by_half).fingerprint(),
        chunkers.semantic("custom", segment=by_half, segment_version="2").fingerprint(),
        chunkers.semantic("custom", segment=by_word).fingerprint(),
    }
    assert len(prints) == 5
    assert chunkers.semantic(dense=HashEmbedder()).fingerprint() in prints


@given(documents(), st.integers(4, 60), st.sampled_from(["cl100k_base", "byte"]))
def test_tokens_are_a_hard_limit_whatever_the_strategy(document: Document, size: int, tokenizer: str) -> None:
    count = tokenizer_of(tokenizer).count
    for chunker in (
        chunkers.semantic(dense=HashEmbedder(), min_chars=10, max_tokens=size, tokenizer=tokenizer),
        chunkers.semantic(
            "custom", segment=lambda given: _halves(given.document), max_tokens=size, tokenizer=tokenizer
        ),
    ):
        chunking = chunker.chunk_document(document)
        check_chunking(document, chunking, None)
        for chunk in chunking.chunks:
            assert count(chunk.full_text) <= size or len(chunk.content) == 1


def _halves(document: Document) -> list[Boundary]:
    middle = len(document.content) // 2
    return [Boundary(0, middle)] if middle else []


def test_the_tokens_of_the_embedder_are_counted_and_named() -> None:
    with pytest.raises(ConfigError, match="max_tokens needs tokenizer="):
        chunkers.semantic("custom", segment=lambda given: [], max_tokens=10)
    with pytest.raises(ConfigError, match="max_tokens must be a whole number of at least 1, not 0"):
        chunkers.semantic(dense=HashEmbedder(), max_tokens=0, tokenizer="byte")
    made = {
        chunkers.semantic(dense=HashEmbedder(), max_tokens=most, tokenizer=name).fingerprint()
        for most, name in ((None, None), (10, "byte"), (11, "byte"), (10, "character"))
    }
    assert len(made) == 4
