"""What a sync does to sources: the decision, the ledger, the counters, what it costs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import florilege
from florilege import Document, Failed, Loaded
from florilege.corpus import Corpus
from florilege.indexing.sync import SyncPlan
from florilege.model.document import IngestWarning
from florilege.model.events import Event
from florilege.testing import CountingEmbedder


def doc(source_id: str, content: str, **fields: object) -> Document:
    return Document(source_id=source_id, content=content, **fields)  # type: ignore[arg-type]


def actions(result: florilege.SyncResult) -> dict[str, str]:
    return {source.source_id: source.action for source in result.sources}


def test_first_sync_adds_and_second_costs_nothing(corpus: Corpus, embedder: CountingEmbedder) -> None:
    docs = [doc("a.md", "alpha beta"), doc("b.md", "gamma delta")]
    first = corpus.sync(docs)
    assert actions(first) == {"a.md": "added", "b.md": "added"}
    assert (first.added, first.embedded, first.chunk_count) == (2, 2, 2)
    before = embedder.calls
    second = corpus.sync(docs)
    assert actions(second) == {"a.md": "unchanged", "b.md": "unchanged"}
    assert embedder.calls == before
    assert second.embedded == 0


def test_a_run_is_one_row(corpus: Corpus) -> None:
    corpus.sync([doc("a", "x y z")])
    corpus.sync([doc("a", "x y z")])
    runs = corpus.data.runs(corpus.namespace, corpus.id)
    assert [run.counts for run in runs] == [{"unchanged": 1}, {"added": 1}]


def test_long_source_in_small_batches_is_not_reindexed(
    opened: Callable[..., Corpus], embedder: CountingEmbedder
) -> None:
    embedder.max_batch = 7
    corpus = opened()
    text = "\n\n".join(f"# Part {n}\n\nParagraph number {n} about thing {n}." for n in range(250))
    first = corpus.sync([doc("long.md", text)], chunking={"max_chars": 60, "overlap_chars": 0})
    assert first.chunk_count >= 250
    calls = embedder.texts_embedded
    second = corpus.sync([doc("long.md", text)], chunking={"max_chars": 60, "overlap_chars": 0})
    assert (second.unchanged, second.embedded) == (1, 0)
    assert embedder.texts_embedded == calls


def test_equal_texts_are_two_sources(corpus: Corpus) -> None:
    corpus.sync([doc("A", "the same text"), doc("B", "the same text")])
    assert len(corpus.retrieve("same text")) == 2
    result = corpus.sync([doc("C", "another thing")], source_set="complete", stale="delete")
    assert actions(result) == {"C": "added", "A": "deleted", "B": "deleted"}
    assert corpus.retrieve("same text", mode="lexical") == []
    assert [hit.source_id for hit in corpus.retrieve("same text", mode="dense")] == ["C"]


def test_changed_content_replaces_the_generation(corpus: Corpus) -> None:
    corpus.sync([doc("a", "old words here")])
    result = corpus.sync([doc("a", "new words here")])
    assert result.sources[0].reason == "content"
    assert [chunk.content for chunk in corpus.chunks("a")] == ["new words here"]
    assert corpus.retrieve("old", mode="lexical") == []
    states = [(item.generation, item.state) for item in corpus.history("a")]
    assert states == [(2, "active"), (1, "retired")]


def test_metadata_change_embeds_nothing_and_filters_at_once(corpus: Corpus, embedder: CountingEmbedder) -> None:
    text = "\n\n".join(f"# H{n}\n\nParagraph {n} says something else {n}." for n in range(50))
    corpus.sync([doc("a.md", text, metadata={"owner": "ann"})], chunking={"max_chars": 60, "overlap_chars": 0})
    version = corpus.get_source("a.md").version
    before = embedder.texts_embedded
    result = corpus.sync([doc("a.md", text, metadata={"owner": "bob"})], chunking={"max_chars": 60, "overlap_chars": 0})
    assert result.sources[0].reason == "metadata"
    assert embedder.texts_embedded == before
    after = corpus.get_source("a.md").version
    assert version is not None
    assert after is not None
    assert (after.generation, after.revision) == (version.generation, version.revision + 1)
    assert corpus.retrieve("paragraph", filter={"owner": "ann"}) == []
    hits = corpus.retrieve("paragraph", filter={"owner": "bob"}, limit=100)
    assert len(hits) == result.chunk_count
    assert {hit.metadata["owner"] for hit in hits} == {"bob"}


def test_volatile_metadata_is_no_change(opened: Callable[..., Corpus]) -> None:
    corpus = opened(volatile_metadata=("fetched",))
    corpus.sync([doc("a", "words", metadata={"fetched": 1, "kept": 1})])
    assert corpus.sync([doc("a", "words", metadata={"fetched": 2, "kept": 1})]).unchanged == 1
    assert corpus.sync([doc("a", "words", metadata={"fetched": 2, "kept": 2})]).changed == 1


def test_renamed_key_in_a_transform_reindexes_without_embedding(
    opened: Callable[..., Corpus], embedder: CountingEmbedder
) -> None:
    def tag(key: str, version: str) -> florilege.Pipeline:
        @florilege.chunk_transform(version=version, name="tag")
        def run(chunks):  # type: ignore[no-untyped-def]
            return [replace(chunk, metadata={**chunk.metadata, key: "en"}) for chunk in chunks]

        return florilege.Pipeline(chunks=[run])

    opened(pipeline=tag("lang", "1")).sync([doc("a", "some words")])
    before = embedder.texts_embedded
    corpus = opened(pipeline=tag("language", "2"))
    result = corpus.sync([doc("a", "some words")])
    assert result.sources[0].reason == "index:chunk_transform:tag"
    assert embedder.texts_embedded == before
    assert [dict(chunk.metadata) for chunk in corpus.chunks("a")] == [{"language": "en"}]


def test_failed_source_is_tried_again_and_the_rest_goes_on(opened: Callable[..., Corpus]) -> None:
    embedder = CountingEmbedder(dimensions=16, fail_on=lambda text: "poison" in text)
    corpus = opened(dense=embedder)
    result = corpus.sync([doc("good", "healthy text"), doc("bad", "poison text")])
    assert actions(result) == {"good": "added", "bad": "failed"}
    assert result.sources[1].error is not None
    row = corpus.get_source("bad")
    assert (row.status, row.version, row.content_hash) == ("failed", None, None)
    mended = opened(dense=CountingEmbedder(dimensions=16)).sync(
        [doc("good", "healthy text"), doc("bad", "poison text")]
    )
    assert actions(mended) == {"good": "unchanged", "bad": "added"}


def test_failed_update_keeps_the_old_generation(opened: Callable[..., Corpus]) -> None:
    corpus = opened(dense=CountingEmbedder(dimensions=16, fail_on=lambda text: "poison" in text))
    corpus.sync([doc("a", "first words")])
    assert corpus.sync([doc("a", "poison words")]).failed == 1
    assert [hit.content for hit in corpus.retrieve("first words")] == ["first words"]
    assert corpus.get_source("a").status == "failed"
    assert corpus.sync([doc("a", "first words")]).unchanged == 1
    assert corpus.get_source("a").status == "indexed"


def test_failed_loads_are_recorded_and_counted_as_seen(corpus: Corpus) -> None:
    corpus.sync([doc("a", "alpha"), doc("b", "beta")])
    result = corpus.sync(
        [Loaded(doc("a", "alpha")), Failed("b", "damaged", "it is damaged")], source_set="complete", stale="delete"
    )
    assert actions(result) == {"a": "unchanged", "b": "failed"}
    assert [hit.source_id for hit in corpus.retrieve("beta", mode="lexical")] == ["b"]
    assert corpus.get_source("b").error["code"] == "damaged"  # type: ignore[index]


def test_same_id_twice_first_wins(corpus: Corpus) -> None:
    result = corpus.sync([doc("a", "first"), doc("b", "other"), doc("a", "second")])
    assert [(s.source_id, s.action, s.reason) for s in result.sources] == [
        ("a", "added", "new"),
        ("b", "added", "new"),
        ("a", "failed", "duplicate_id"),
    ]
    assert [chunk.content for chunk in corpus.chunks("a")] == ["first"]


def test_stale_is_told_and_kept_by_default(corpus: Corpus) -> None:
    corpus.sync([doc("a", "alpha"), doc("b", "beta")])
    assert corpus.sync([doc("a", "alpha")]).stale == 0
    result = corpus.sync([doc("a", "alpha")], source_set="complete")
    assert actions(result) == {"a": "unchanged", "b": "stale"}
    assert len(corpus.retrieve("beta", mode="lexical")) == 1


def test_stale_delete_needs_a_complete_set(corpus: Corpus) -> None:
    with pytest.raises(florilege.ConfigError, match="complete"):
        corpus.sync([doc("a", "alpha")], stale="delete")


def test_brakes_hold_mass_deletes(corpus: Corpus) -> None:
    docs = [doc(f"s{n:02}", f"text number {n}") for n in range(30)]
    corpus.sync(docs)
    with pytest.raises(florilege.IndexingError) as caught:
        corpus.sync(docs[:5], source_set="complete", stale="delete")
    assert caught.value.code == "mass_delete"
    with pytest.raises(florilege.IndexingError):
        corpus.sync([], source_set="complete", stale="delete")
    assert len(corpus.list_sources()[0]) == 30
    result = corpus.sync(docs[:5], source_set="complete", stale="delete", allow_mass_delete=True)
    assert (result.unchanged, result.deleted) == (5, 25)
    assert len(corpus.list_sources(include_deleted=True)[0]) == 30


def test_a_few_deletes_pass_the_brake(corpus: Corpus) -> None:
    corpus.sync([doc("a", "alpha"), doc("b", "beta"), doc("c", "gamma")])
    assert corpus.sync([doc("a", "alpha")], source_set="complete", stale="delete").deleted == 2


def test_deleted_source_comes_back_as_new(corpus: Corpus, embedder: CountingEmbedder) -> None:
    corpus.sync([doc("a", "alpha"), doc("b", "beta")])
    corpus.sync([doc("a", "alpha")], source_set="complete", stale="delete")
    before = embedder.texts_embedded
    assert actions(corpus.sync([doc("b", "beta")])) == {"b": "added"}
    assert embedder.texts_embedded == before
    assert [hit.source_id for hit in corpus.retrieve("beta", mode="lexical")] == ["b"]


def test_dry_run_tells_and_does_nothing(corpus: Corpus, embedder: CountingEmbedder) -> None:
    corpus.sync([doc("a", "alpha"), doc("b", "beta")])
    calls, rows = embedder.calls, corpus.list_sources()
    docs = [doc("a", "alpha changed"), doc("c", "gamma")]
    plan = corpus.sync(docs, source_set="complete", stale="delete", dry_run=True)
    assert actions(plan) == {"a": "changed", "c": "added", "b": "deleted"}
    assert (embedder.calls, corpus.list_sources()) == (calls, rows)
    assert len(corpus.data.runs(corpus.namespace)) == 1
    done = corpus.sync(docs, source_set="complete", stale="delete")
    assert actions(done) == actions(plan)
    assert [s.chunk_count for s in done.sources] == [s.chunk_count for s in plan.sources]


def test_append_only_leaves_changed_sources(corpus: Corpus) -> None:
    corpus.sync([doc("a", "alpha")])
    for _ in range(2):
        result = corpus.sync([doc("a", "alpha two"), doc("b", "beta")], mode="append_only")
        assert result.sources[0].reason == "append_only"
    assert [chunk.content for chunk in corpus.chunks("a")] == ["alpha"]


def test_embed_after_is_searchable_and_ends_the_same(opened: Callable[..., Corpus], embedder: CountingEmbedder) -> None:
    corpus = opened()
    seen: list[int] = []

    def watch(event: Event) -> None:
        if event.kind == "corpus.source.added":
            seen.append(len(corpus.retrieve("alpha", mode="lexical")))

    result = corpus.sync([doc("a", "alpha one"), doc("b", "alpha two")], embed="after", on_event=watch)
    assert seen == [2, 2]
    assert (result.embedded, result.pending) == (2, 0)
    assert len(corpus.retrieve("alpha", mode="dense")) == 2
    assert embedder.texts_embedded - 1 == 2  # the query is the third


def test_vectors_can_be_added_later_without_chunking(opened: Callable[..., Corpus], embedder: CountingEmbedder) -> None:
    opened(dense=None).sync([doc("a", "alpha one"), doc("b", "alpha two")])
    corpus = opened()
    result = corpus.sync([doc("a", "alpha one"), doc("b", "alpha two")])
    assert {source.reason for source in result.sources} == {"index:embedder"}
    assert result.embedded == 2
    assert len(corpus.retrieve("alpha", mode="dense")) == 2
    assert opened(dense=None).sync([doc("a", "alpha one"), doc("b", "alpha two")]).unchanged == 2


def test_another_embedder_is_refused_by_identity(opened: Callable[..., Corpus]) -> None:
    opened().sync([doc("a", "alpha")])
    for other in (CountingEmbedder(dimensions=32), CountingEmbedder(dimensions=16, name="other")):
        corpus = opened(dense=other)
        with pytest.raises(florilege.ConfigError) as caught:
            corpus.sync([doc("b", "beta")])
        assert caught.value.code == "space_mismatch"
        with pytest.raises(florilege.ConfigError):
            corpus.retrieve("alpha", mode="dense")
        assert other.calls == 0


def test_another_corpus_of_the_namespace_leaves_the_source_alone(opened: Callable[..., Corpus]) -> None:
    opened(id="one").sync([doc("a", "alpha"), doc("b", "beta")])
    other = opened(id="two")
    result = other.sync([doc("a", "mine now"), doc("z", "zeta")], source_set="complete", stale="delete")
    assert {s.source_id: s.reason for s in result.sources} == {"a": "conflict", "z": "new"}
    assert [hit.content for hit in other.retrieve("alpha", mode="lexical")] == ["alpha"]


def test_sources_of_an_indexer_alone_are_adopted_and_never_stale(corpus: Corpus) -> None:
    corpus.indexer.index_documents([doc("mine", "by hand"), doc("other", "by hand too")])
    assert corpus.list_sources()[0] == []
    result = corpus.sync([doc("mine", "by hand")], source_set="complete", stale="delete", allow_mass_delete=True)
    assert actions(result) == {"mine": "unchanged"}
    assert [row.source_id for row in corpus.list_sources()[0]] == ["mine"]
    assert len(corpus.retrieve("hand", mode="lexical")) == 2


def test_generator_that_queries_the_corpus_while_it_feeds_it(corpus: Corpus) -> None:
    def feed() -> Iterator[Document]:
        for number in range(100):
            found = len(corpus.retrieve("item", limit=200, mode="lexical"))
            assert found <= number
            yield doc(f"d{number:03}", f"item {number}")

    assert corpus.sync(feed()).added == 100
    assert len(corpus.retrieve("item", limit=200, mode="lexical")) == 100


def test_generator_that_raises_loses_nothing_published(corpus: Corpus) -> None:
    def feed() -> Iterator[Document]:
        for number in range(200):
            yield doc(f"d{number:03}", f"item {number}")
        raise RuntimeError("the source went away")

    with pytest.raises(RuntimeError):
        corpus.sync(feed(), source_set="complete", stale="delete")
    assert len(corpus.list_sources(limit=1000)[0]) > 100
    result = corpus.sync([doc(f"d{number:03}", f"item {number}") for number in range(200)])
    assert result.added + result.unchanged == 200


def test_nested_sync_is_a_conflict_at_once(corpus: Corpus) -> None:
    def feed() -> Iterator[Document]:
        with pytest.raises(florilege.Conflict):
            corpus.sync([doc("x", "nested")])
        yield doc("a", "outer")

    assert corpus.sync(feed()).added == 1


def test_deadline_leaves_a_resumable_state(opened: Callable[..., Corpus]) -> None:
    corpus = opened()
    docs = [doc(f"d{number:03}", f"item {number}") for number in range(300)]
    corpus.sync([*docs, doc("gone", "stale one")])
    changed = [doc(f"d{number:03}", f"thing {number}") for number in range(300)]
    result = corpus.sync(changed, source_set="complete", stale="delete", deadline=0.0)
    assert result.incomplete
    assert result.deleted == 0
    final = corpus.sync(changed, source_set="complete", stale="delete")
    assert not final.incomplete
    assert final.deleted == 1
    assert len(corpus.retrieve("thing", mode="lexical", limit=400)) == 300


def test_bad_metadata_fails_its_source_by_key_before_embedding(corpus: Corpus, embedder: CountingEmbedder) -> None:
    result = corpus.sync([doc("a", "alpha", metadata={"when": object()}), doc("b", "beta")])
    assert actions(result) == {"a": "failed", "b": "added"}
    assert "when" in result.sources[0].error["message"]  # type: ignore[index]
    assert embedder.texts_embedded == 1


def test_nul_and_surrogates_are_replaced_at_any_depth(corpus: Corpus) -> None:
    corpus.sync([doc("a", "al\x00pha \ud835 beta", title="t\x00", metadata={"k": {"n": ["x\x00\ud800"]}})])
    (chunk,) = corpus.chunks("a")
    assert chunk.content == "al\ufffdpha \ufffd beta"
    assert chunk.metadata == {"k": {"n": ["x\ufffd\ufffd"]}}


def test_events_tell_each_source_once(corpus: Corpus) -> None:
    events: list[Event] = []
    corpus.sync([doc("a", "alpha"), Failed("b", "damaged", "m")], on_event=events.append)
    kinds = [(event.kind, event.source_id) for event in events]
    assert kinds[0] == ("corpus.sync.start", None)
    assert kinds[-1] == ("corpus.sync.end", None)
    assert ("corpus.source.added", "a") in kinds
    assert ("corpus.source.failed", "b") in kinds
    assert sum(kind.startswith("corpus.source.") for kind, _ in kinds) == 2


def test_a_failing_subscriber_is_not_fatal(corpus: Corpus) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("no")

    assert corpus.sync([doc("a", "alpha")], on_event=broken).added == 1


def test_wrong_input_is_named(corpus: Corpus) -> None:
    with pytest.raises(florilege.ConfigError, match="load"):
        corpus.sync("docs/")
    with pytest.raises(florilege.ConfigError, match="item 0"):
        corpus.sync([42])
    with pytest.raises(florilege.ConfigError, match="other"):
        corpus.sync([doc("a", "alpha", namespace="other")])
    with pytest.raises(florilege.ConfigError, match="no option 'max_tokens'"):
        corpus.sync([doc("a", "alpha")], chunking={"max_tokens": 5})


def test_dry_run_says_what_it_would_cost(opened: Callable[..., Corpus], embedder: CountingEmbedder) -> None:
    embedder.price_per_million_tokens = 2.0  # type: ignore[attr-defined]
    corpus = opened()
    corpus.sync([doc("a", "three little words")])
    plan = corpus.sync(
        [doc("a", "three little words"), doc("b", "three little words"), doc("c", "two words")], dry_run=True
    )
    assert (plan.embedded, plan.reused) == (1, 1)
    assert (plan.usage.texts, plan.usage.tokens) == (1, 2)
    assert plan.usage.cost == pytest.approx(2 * 2.0 / 1_000_000)
    assert (embedder.calls, corpus.data.bound_space("default")) == (1, embedder.space.identity)


def test_a_plan_is_saved_and_carried_out(corpus: Corpus, tmp_path: Path) -> None:
    corpus.sync([doc("a", "alpha"), doc("b", "beta"), doc("c", "gamma")])
    docs = [doc("a", "alpha two"), doc("b", "beta"), doc("new", "delta")]
    corpus.plan(docs, source_set="complete", stale="delete").save(tmp_path / "plan.json")
    plan = SyncPlan.load(tmp_path / "plan.json")
    assert {p.source_id: p.action for p in plan.sources} == {
        "a": "changed",
        "b": "unchanged",
        "new": "added",
        "c": "deleted",
    }
    result = corpus.sync(docs, plan=plan)
    assert actions(result) == {p.source_id: p.action for p in plan.sources}


def test_a_plan_does_only_what_was_planned(corpus: Corpus) -> None:
    corpus.sync([doc("a", "alpha"), doc("gone", "beta")])
    plan = corpus.plan([doc("a", "alpha two"), doc("gone", "beta")], source_set="complete", stale="delete")
    result = corpus.sync([doc("a", "alpha three"), doc("late", "delta")], plan=plan)
    assert {s.source_id: (s.action, s.reason) for s in result.sources} == {
        "a": ("skipped", "not as planned"),
        "late": ("skipped", "not as planned"),
    }
    assert len(corpus.list_sources()[0]) == 2


def test_a_plan_is_refused_once_the_corpus_moved_on(opened: Callable[..., Corpus], tmp_path: Path) -> None:
    corpus = opened()
    corpus.sync([doc("a", "alpha")])
    plan = corpus.plan([doc("a", "alpha two")])
    corpus.sync([doc("a", "somebody else's")])
    with pytest.raises(florilege.Conflict) as caught:
        corpus.sync([doc("a", "alpha two")], plan=plan)
    assert (caught.value.code, caught.value.source_id) == ("plan_stale", "a")
    other = opened(pipeline=florilege.Pipeline(chunker=florilege.chunkers.text()))
    with pytest.raises(florilege.Conflict, match="chunker"):
        other.sync([doc("a", "alpha two")], plan=corpus.plan([doc("a", "alpha two")]))
    (tmp_path / "bad.json").write_text('{"format": 1}')
    with pytest.raises(florilege.ConfigError, match=r"bad\.json"):
        SyncPlan.load(tmp_path / "bad.json")


def test_cancel_leaves_a_resumable_state(corpus: Corpus) -> None:
    cancel = threading.Event()

    def feed() -> Iterator[Document]:
        for number in range(500):
            if number == 200:
                cancel.set()
            yield doc(f"d{number:03}", f"item {number}")

    result = corpus.sync(feed(), source_set="complete", stale="delete", cancel=cancel)
    assert result.incomplete
    assert result.added < 500
    final = corpus.sync([doc(f"d{number:03}", f"item {number}") for number in range(500)])
    assert final.added + final.unchanged == 500


def test_what_readers_warned_of_is_told(corpus: Corpus) -> None:
    warning = IngestWarning(code="needs_ocr", message="page 1 is an image without text")
    events: list[Event] = []
    document = Document(source_id="scan", content="some text", warnings=(warning,))
    result = corpus.sync([document, Document(source_id="plain", content="text")], on_event=events.append)
    assert {source.source_id: source.warnings for source in result.sources} == {"scan": (warning,), "plain": ()}
    told = {event.source_id: event.facts.get("warnings") for event in events if event.kind == "corpus.source.added"}
    assert told == {"scan": ["needs_ocr"], "plain": None}
    assert corpus.sync([document]).sources[0].warnings == ()
