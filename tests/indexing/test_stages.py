"""The stage cache and streaming transforms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

import florilege
from florilege import Chunk, Document, Part, Span
from florilege.corpus import Corpus
from florilege.indexing.stages import StageCache


def doc(source_id: str, content: str, **fields: object) -> Document:
    return Document(source_id=source_id, content=content, **fields)  # type: ignore[arg-type]


class Counted:
    """A pipeline whose stages count how often they run."""

    def __init__(self, version: str = "1", reads: tuple[str, ...] = ("content", "metadata")) -> None:
        self.runs: list[str] = []

        @florilege.document_transform(version=version, name="upper", reads=reads)  # type: ignore[arg-type]
        def upper(document: Document) -> Document:
            self.runs.append(f"document {document.source_id}")
            return replace(document, content=document.content.upper())

        @florilege.chunk_transform(version="1", name="tag")
        def tag(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
            self.runs.append(f"chunks {chunks[0].source_id}")
            when = datetime(2026, 1, 2, tzinfo=UTC)
            return [replace(chunk, metadata={**chunk.metadata, "when": when}) for chunk in chunks]

        self.pipeline = florilege.Pipeline(documents=[upper], chunks=[tag])


def uses(result: florilege.SyncResult) -> list[str | None]:
    return [stage.cache for stage in result.sources[0].stages if stage.kind != "embedding"]


def test_the_cache_spares_every_stage(opened: Callable[..., Corpus]) -> None:
    counted = Counted()
    text = "One paragraph.\n\nAnother paragraph."
    part = Part(part_id="p", kind="text", text=text, span=Span(0, len(text)), heading_path=("H",))
    corpus = opened(cache=True, pipeline=counted.pipeline)
    first = corpus.sync([doc("a", text, parts=(part,), metadata={"k": [1, 2.5, None]})])
    assert uses(first) == ["write", "write", "write"]
    chunks = corpus.chunks("a")
    corpus.delete_source("a")
    again = corpus.sync([doc("a", text, parts=(part,), metadata={"k": [1, 2.5, None]})])
    assert uses(again) == ["hit", "hit", "hit"]
    assert counted.runs == ["document a", "chunks a"]
    same = [replace(chunk, generation_id=0, created_at=None) for chunk in corpus.chunks("a")]
    assert same == [replace(chunk, generation_id=0, created_at=None) for chunk in chunks]


def test_modes(opened: Callable[..., Corpus]) -> None:
    counted = Counted()
    corpus = opened(pipeline=counted.pipeline)
    assert uses(corpus.sync([doc("a", "words")])) == [None, None, None]
    corpus.delete_source("a")
    assert uses(corpus.sync([doc("a", "words")], cache="use")) == ["write"] * 3
    corpus.delete_source("a")
    assert uses(corpus.sync([doc("a", "words")], cache="refresh")) == ["refresh"] * 3
    corpus.delete_source("a")
    assert uses(corpus.sync([doc("a", "words")], cache="bypass")) == ["bypass"] * 3
    assert len(counted.runs) == 8
    with pytest.raises(florilege.ConfigError, match="cache"):
        corpus.sync([doc("a", "words")], cache="sometimes")  # type: ignore[arg-type]


def test_version_and_metadata_decide(opened: Callable[..., Corpus]) -> None:
    one, two, content_only = Counted("1"), Counted("2"), Counted("3", reads=("content",))
    for counted, metadata, runs in (
        (one, {"m": 1}, 1),
        (one, {"m": 2}, 2),
        (two, {"m": 2}, 1),
        (content_only, {"m": 1}, 1),
        (content_only, {"m": 2}, 1),
    ):
        corpus = opened(cache=True, pipeline=counted.pipeline)
        corpus.sync([doc("a", "words", metadata=metadata)])
        assert sum(run.startswith("document") for run in counted.runs) == runs
        assert corpus.chunks("a")[0].metadata["m"] == metadata["m"]


def test_a_damaged_value_is_a_miss(opened: Callable[..., Corpus]) -> None:
    counted = Counted()
    corpus = opened(cache=True, pipeline=counted.pipeline)
    corpus.sync([doc("a", "words")])
    keys: list[bytes] = []
    store = corpus.data

    class Spoiled:
        def get_cached(self, wanted: Sequence[bytes]) -> dict[bytes, bytes]:
            keys.extend(wanted)
            return {key: value[:-1] + b"?" for key, value in store.get_cached(wanted).items()}

        def put_cached(self, items: object) -> None:
            raise florilege.StoreError("the disk is full", code="disk_full")

    cache = StageCache(Spoiled())  # type: ignore[arg-type]
    from florilege.indexing.execution import Execution

    prepared = Execution(counted.pipeline, "default", cache).run(doc("a", "words"))
    assert keys
    assert [chunk.content for chunk in prepared.chunks] == ["WORDS"]


def test_dry_run_reads_the_cache_and_writes_nothing(opened: Callable[..., Corpus]) -> None:
    counted = Counted()
    corpus = opened(cache=True, pipeline=counted.pipeline)
    corpus.sync([doc("a", "words")], dry_run=True)
    corpus.sync([doc("a", "words")], dry_run=True)
    assert counted.runs.count("document a") == 2
    corpus.sync([doc("a", "words")])
    corpus.delete_source("a")
    corpus.sync([doc("a", "words")], dry_run=True)
    assert counted.runs.count("document a") == 3


def test_streaming_transforms_see_many_documents(opened: Callable[..., Corpus]) -> None:
    batches: list[int] = []

    @florilege.document_transform(version="1", streaming=True)
    def shout(documents: Iterable[Document]) -> Iterator[Document]:
        waiting = list(documents)
        batches.append(len(waiting))
        for document in waiting:
            yield replace(document, content=document.content.upper())

    @florilege.chunk_transform(version="1", streaming=True)
    def number(sources: Iterable[Sequence[Chunk]]) -> Iterator[Sequence[Chunk]]:
        for index, chunks in enumerate(sources):
            yield [replace(chunk, metadata={"n": index}) for chunk in chunks]

    corpus = opened(pipeline=florilege.Pipeline(documents=[shout], chunks=[number]))
    result = corpus.sync([doc(f"d{n}", f"text {n}") for n in range(10)])
    assert (result.added, batches) == (10, [10])
    assert [chunk.content for chunk in corpus.chunks("d3")] == ["TEXT 3"]
    assert corpus.chunks("d3")[0].metadata["n"] == 3


@pytest.mark.parametrize("streaming", [False, True])
def test_one_bad_document_fails_alone(opened: Callable[..., Corpus], streaming: bool) -> None:
    def one(document: Document) -> Document:
        if "bad" in document.content:
            raise ValueError("cannot")
        return replace(document, content=document.content.upper())

    def many(documents: Iterable[Document]) -> Iterator[Document]:
        return map(one, documents)

    step = florilege.transform.document(name="t", version="1", run=many if streaming else one, streaming=streaming)
    corpus = opened(pipeline=florilege.Pipeline(documents=[step]))
    result = corpus.sync([doc(f"d{n}", "bad" if n == 4 else f"text {n}") for n in range(9)])
    assert [source.source_id for source in result.sources if source.action == "failed"] == ["d4"]
    assert [chunk.content for chunk in corpus.chunks("d8")] == ["TEXT 8"]
    assert result.sources[4].error == {
        "code": "transform",
        "message": "document transform 't' failed on 'd4': ValueError: cannot",
    }


def test_a_stream_that_ends_early_fails_what_it_did_not_answer(opened: Callable[..., Corpus]) -> None:
    @florilege.document_transform(version="1", streaming=True)
    def drops(documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            if document.source_id != "d2":
                yield document

    result = opened(pipeline=florilege.Pipeline(documents=[drops])).sync([doc(f"d{n}", f"t {n}") for n in range(4)])
    assert result.failed >= 1
    assert "d2" in {source.source_id for source in result.sources if source.action == "failed"}
