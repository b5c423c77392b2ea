"""The indexer's own verbs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

import florilege
from florilege import Chunk, Chunking, Document, ParentChunk, ParentRef, Part, Span
from florilege.corpus import Corpus
from florilege.model.events import Event
from florilege.testing import CountingEmbedder


def doc(source_id: str, content: str, **fields: object) -> Document:
    return Document(source_id=source_id, content=content, **fields)  # type: ignore[arg-type]


class Sections:
    """A chunker of one's own: a chunk a section, its id the section's name."""

    name = "sections"
    version = "1"

    def fingerprint(self) -> str:
        return "sections:1"

    def chunk_document(self, document: Document) -> Chunking:
        chunks = [
            Chunk(source_id=document.source_id, chunk_id=section.split(":")[0], content=section.strip())
            for section in document.content.split("\n\n")
        ]
        return Chunking(tuple(chunks))


def test_chunk_writes_nothing(corpus: Corpus) -> None:
    (chunking,) = corpus.indexer.chunk([doc("a", "alpha beta")])
    assert [chunk.content for chunk in chunking.chunks] == ["alpha beta"]
    assert corpus.retrieve("alpha", mode="lexical") == []


def test_index_documents_replaces(corpus: Corpus) -> None:
    first = corpus.indexer.index_documents([doc("a", "one"), doc("b", "two")])
    assert (first.source_count, first.chunk_count, first.dense_count) == (2, 2, 2)
    second = corpus.indexer.index_documents([doc("a", "uno")])
    assert second.generations == {"a": 2}
    assert [chunk.content for chunk in corpus.chunks("a")] == ["uno"]


def test_a_document_without_chunks_replaces_with_none(corpus: Corpus) -> None:
    corpus.indexer.index_documents([doc("a", "something")])
    corpus.indexer.index_documents([doc("a", "   ")])
    assert corpus.chunks("a") == []
    assert corpus.retrieve("something", mode="lexical") == []


def test_replace_sources_false_adds(corpus: Corpus) -> None:
    corpus.indexer.index_documents([doc("a", "one")])
    corpus.indexer.index_documents([doc("a", "two")], replace_sources=False)
    assert [chunk.content for chunk in corpus.chunks("a")] == ["one", "two"]


def test_index_chunks_stores_every_chunk(corpus: Corpus) -> None:
    chunks = [Chunk(source_id="a", content=f"piece {number}") for number in range(3)]
    result = corpus.indexer.index_chunks(chunks)
    assert result.chunk_count == 3
    assert [chunk.content for chunk in corpus.chunks("a")] == ["piece 0", "piece 1", "piece 2"]
    again = corpus.indexer.index_chunks([replace(corpus.chunks("a")[1], content="changed", generation_id=None)])
    assert again.chunk_count == 3
    assert [chunk.content for chunk in corpus.chunks("a")] == ["piece 0", "changed", "piece 2"]


def test_an_id_twice_in_one_call_is_refused_whole(corpus: Corpus) -> None:
    chunks = [Chunk(source_id="s", chunk_id=name, content=name + str(n)) for n, name in enumerate("aba")]
    with pytest.raises(florilege.ChunkingError, match="'a' appears twice"):
        corpus.indexer.index_chunks(chunks)
    assert corpus.retrieve("a0", mode="lexical") == []


def test_delete_source_is_exact(corpus: Corpus) -> None:
    names = ["O'Brien.md", "x' OR 1=1 --", "https://x", "https://x:8080/", "tenant", "tenant:1", "%"]
    corpus.indexer.index_documents([doc(name, f"text of {number}") for number, name in enumerate(names)])
    for name in names:
        before = {row: len(corpus.chunks(row)) for row in names if row != name}
        assert corpus.indexer.delete_source(name) == 1
        assert corpus.indexer.delete_source(name) == 0
        assert {row: len(corpus.chunks(row)) for row in before} == before
        corpus.indexer.index_documents([doc(name, "back")])


def test_clear_empties_the_namespace_only(opened: Callable[..., Corpus]) -> None:
    one, two = opened(namespace="one"), opened(namespace="two")
    for corpus in (one, two):
        corpus.indexer.index_documents([doc("a", "alpha"), doc("b", "beta")])
    assert one.indexer.clear() == 2
    assert one.retrieve("alpha", mode="lexical") == []
    assert len(two.retrieve("alpha", mode="lexical")) == 1


def test_dry_run_returns_what_would_be_written(corpus: Corpus, embedder: CountingEmbedder) -> None:
    result = corpus.indexer.index_documents([doc("a", "alpha")], dry_run=True)
    assert [chunk.content for chunk in result.chunks] == ["alpha"]
    assert embedder.calls == 0
    assert corpus.data.namespaces() in ([], ["default"])
    assert corpus.retrieve("alpha", mode="lexical") == []


def test_custom_chunker_ids_are_kept(opened: Callable[..., Corpus]) -> None:
    corpus = opened(pipeline=florilege.Pipeline(chunker=Sections()))
    corpus.sync([doc("a", "intro: hello\n\nend: bye")])
    assert [chunk.chunk_id for chunk in corpus.chunks("a")] == ["intro", "end"]


def broken(**changes: object) -> type:
    class Broken(Sections):
        def chunk_document(self, document: Document) -> Chunking:
            chunks = super().chunk_document(document).chunks
            return Chunking((replace(chunks[0], **changes), *chunks[1:]))  # type: ignore[arg-type]

    return Broken


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"source_id": "other"}, "another source"),
        ({"namespace": "other"}, "another source or namespace"),
        ({"content": "  \n"}, "blank"),
        ({"chunk_id": "end"}, "appears twice"),
        ({"parent": ParentRef(parent_id="nobody")}, "unknown parent"),
    ],
)
def test_broken_chunkers_fail_their_source(opened: Callable[..., Corpus], changes: dict[str, object], why: str) -> None:
    corpus = opened(pipeline=florilege.Pipeline(chunker=broken(**changes)()))
    result = corpus.sync([doc("a", "intro: hello\n\nend: bye")])
    assert result.failed == 1
    assert why in result.sources[0].error["message"]  # type: ignore[index]
    assert result.sources[0].error["code"] == "chunking"  # type: ignore[index]


def test_parents_are_stored_and_found_by_key(opened: Callable[..., Corpus]) -> None:
    class Nested(Sections):
        def chunk_document(self, document: Document) -> Chunking:
            chunks = super().chunk_document(document).chunks
            parent = ParentChunk(source_id=document.source_id, parent_id="whole", content=document.content, title="T")
            return Chunking(tuple(replace(c, parent=ParentRef(parent_id="whole")) for c in chunks), (parent,))

    corpus = opened(pipeline=florilege.Pipeline(chunker=Nested()))
    corpus.sync([doc("a", "intro: hello\n\nend: bye"), doc("b", "intro: hello\n\nend: bye")])
    hits = corpus.retrieve("hello", mode="lexical")
    assert len(hits) == 2
    keys = [hit.parent.key for hit in hits if hit.parent and hit.parent.key]
    assert len(set(keys)) == 2
    with corpus.data.snapshot(corpus.namespace) as snapshot:
        parents = snapshot.parents(keys)
    assert {parent.source_id for parent in parents.values()} == {"a", "b"}
    assert {parent.content for parent in parents.values()} == {"intro: hello\n\nend: bye"}


def test_transforms_change_what_is_cut(opened: Callable[..., Corpus]) -> None:
    @florilege.document_transform(version="1")
    def strip_drafts(document: Document) -> Document:
        return replace(document, content=document.content.replace("<!-- draft -->", ""))

    text = "# One\n\nKept text.\n\n<!-- draft -->\n\nMore text."
    corpus = opened(pipeline=florilege.Pipeline(documents=[strip_drafts]))
    first = text.index("Kept text.")
    parts = (
        Part(part_id="p0", kind="text", text="Kept text.", span=Span(first, first + 10), heading_path=("One",)),
        Part(
            part_id="p1", kind="text", text=text[first + 12 :], span=Span(first + 12, len(text)), heading_path=("One",)
        ),
    )
    corpus.sync([doc("a", text, parts=parts)])
    shown = "\n".join(chunk.content for chunk in corpus.chunks("a"))
    assert "draft" not in shown
    assert "Kept text." in shown
    assert "More text." in shown
    with corpus.data.snapshot(corpus.namespace) as snapshot:
        stored = snapshot.document("a")
    for chunk in corpus.chunks("a"):
        for span in chunk.provenance.source_spans:
            assert stored.content[span.start : span.end] in stored.content


def test_a_transform_may_not_change_identity(opened: Callable[..., Corpus]) -> None:
    @florilege.document_transform(version="1")
    def rename(document: Document) -> Document:
        return replace(document, source_id="elsewhere")

    result = opened(pipeline=florilege.Pipeline(documents=[rename])).sync([doc("a", "alpha")])
    assert (result.failed, result.sources[0].error["code"]) == (1, "transform")  # type: ignore[index]


def test_fingerprint_covers_everything_that_shapes_the_index(opened: Callable[..., Corpus]) -> None:
    def tagged(version: str, options: dict[str, int] | None = None) -> florilege.Pipeline:
        @florilege.chunk_transform(version=version, name="t", options=options)
        def run(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
            return chunks

        return florilege.Pipeline(chunks=[run])

    prints = [
        opened().indexer.fingerprint(),
        opened(dense=None).indexer.fingerprint(),
        opened(namespace="n").indexer.fingerprint(),
        opened(id="other").indexer.fingerprint(),
        opened(pipeline=tagged("1")).indexer.fingerprint(),
        opened(pipeline=tagged("2")).indexer.fingerprint(),
        opened(pipeline=tagged("2", {"x": 1})).indexer.fingerprint(),
        opened(pipeline=florilege.Pipeline(chunker=florilege.chunkers.text())).indexer.fingerprint(),
        opened().indexer.fingerprint({"max_chars": 500}),
    ]
    assert len(set(prints)) == len(prints)
    assert opened().indexer.fingerprint() == prints[0]


def test_two_stores_are_refused(opened: Callable[..., Corpus]) -> None:
    corpus = opened()
    with pytest.raises(florilege.ConfigError, match="same store"):
        florilege.Indexer(id="x", data=corpus.data, vectors=object())


def test_options_must_be_json(opened: Callable[..., Corpus]) -> None:
    with pytest.raises(florilege.ConfigError):
        florilege.document_transform(version="1", options={"fn": print})(lambda document: document)


def test_equal_values_of_other_types_stay_what_they_are(corpus: Corpus) -> None:
    shared = ["x"]
    values: list[dict[str, object]] = [{"a": 1}, {"a": True}, {"a": 1.0}, {"a": 1}, {"a": shared}, {"b": shared}, {}]
    corpus.indexer.index_chunks(
        [Chunk(source_id="s", content=f"chunk {n}", metadata=metadata) for n, metadata in enumerate(values)]
    )
    kept = [chunk.metadata for chunk in corpus.chunks("s")]
    assert list(map(repr, kept)) == list(map(repr, values))


def test_events_name_the_operation_and_what_ran(opened: Callable[..., Corpus]) -> None:
    events: list[Event] = []
    corpus = opened(on_event=events.append)
    corpus.indexer.index_documents([doc("a", "one two"), doc("b", "three")])
    corpus.indexer.index_chunks([Chunk(source_id="c", content="ready-made")])
    corpus.indexer.delete_source("a")
    corpus.indexer.clear()
    told = [(event.kind, event.operation) for event in events if event.kind.startswith("index.")]
    operations = ["index_documents", "index_chunks", "delete_source", "clear"]
    assert told == [(kind, operation) for operation in operations for kind in ("index.start", "index.end")]
    ends = {event.operation: event for event in events if event.kind == "index.end"}
    assert ends["index_documents"].counts == {"sources": 2, "chunks": 2}
    assert [stage.kind for stage in ends["index_documents"].stages].count("chunker") == 2
    assert [stage.name for stage in ends["index_chunks"].stages] == ["index_chunks", "counting"]
    assert ends["delete_source"].stages == ()
