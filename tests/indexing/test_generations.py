"""Earlier generations: kept, compared, restored, held, collected; and the move to another embedding space."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import florilege
from florilege import Document
from florilege.corpus import Corpus
from florilege.testing import CountingEmbedder


def doc(source_id: str, content: str, **fields: object) -> Document:
    return Document(source_id=source_id, content=content, **fields)  # type: ignore[arg-type]


def sections(*texts: str) -> str:
    return "\n\n".join(f"Passage {number}: {text} and some more words" for number, text in enumerate(texts))


SMALL = {"max_chars": 60, "overlap_chars": 0}


def texts(corpus: Corpus, source_id: str) -> list[str]:
    return [chunk.content for chunk in corpus.chunks(source_id)]


def test_rollback_restores_without_embedding(corpus: Corpus, embedder: CountingEmbedder) -> None:
    corpus.sync([doc("a", "first words", metadata={"v": 1}, title="One")])
    corpus.sync([doc("a", "second words", metadata={"v": 2}, title="Two")])
    before = embedder.texts_embedded
    assert corpus.rollback("a", 1) == 3
    assert embedder.texts_embedded == before
    assert texts(corpus, "a") == ["first words"]
    (hit,) = corpus.retrieve("words", mode="dense")
    assert (hit.content, hit.metadata, hit.title) == ("first words", {"v": 1}, "One")
    assert corpus.retrieve("second", mode="lexical") == []
    with corpus.data.snapshot(corpus.namespace) as snapshot:
        assert snapshot.document("a").content == "first words"


def test_rolled_back_content_is_held_until_another_comes(corpus: Corpus) -> None:
    corpus.sync([doc("a", "first words")])
    corpus.sync([doc("a", "second words")])
    corpus.rollback("a", 1)
    result = corpus.sync([doc("a", "second words")])
    assert [(s.action, s.reason) for s in result.sources] == [("skipped", "held")]
    assert texts(corpus, "a") == ["first words"]
    assert corpus.sync([doc("a", "third words")]).changed == 1
    assert texts(corpus, "a") == ["third words"]
    assert corpus.sync([doc("a", "second words")]).changed == 1


def test_hold_keeps_syncs_away(corpus: Corpus) -> None:
    corpus.sync([doc("a", "first words")])
    corpus.hold("a")
    assert corpus.sync([doc("a", "other words")]).skipped == 1
    corpus.hold("a", held=False)
    assert corpus.sync([doc("a", "other words")]).changed == 1


def test_diff_tells_chunks_apart(corpus: Corpus) -> None:
    corpus.sync([doc("a", sections("one stays", "two goes", "three stays"))], chunking=SMALL)
    corpus.sync([doc("a", sections("one stays", "two is new", "three stays"))], chunking=SMALL)
    found = corpus.diff("a")
    assert (found.old, found.new, found.kept) == (1, 2, 2)
    assert ["goes" in chunk.content for chunk in found.removed] == [True]
    assert ["new" in chunk.content for chunk in found.added] == [True]
    with pytest.raises(florilege.NotFound):
        corpus.diff("a", 1, 99)
    with pytest.raises(florilege.NotFound):
        corpus.diff("nobody")


def test_rollback_restores_parents(opened: Callable[..., Corpus]) -> None:
    corpus = opened(pipeline=florilege.Pipeline(chunker=florilege.chunkers.parent_child()))
    corpus.sync([doc("a", sections("one is here", "two is here"))])
    corpus.sync([doc("a", "something else altogether")])
    corpus.rollback("a", 1)
    (hit, *_) = corpus.retrieve("one is here", mode="lexical")
    assert hit.parent is not None
    assert hit.parent.key is not None
    with corpus.data.snapshot(corpus.namespace) as snapshot:
        parents = snapshot.parents([hit.parent.key])
    assert "one is here" in parents[hit.parent.key].content


def test_there_is_no_way_back_to_what_is_active(corpus: Corpus) -> None:
    corpus.sync([doc("a", "first words")])
    with pytest.raises(florilege.NotFound, match="active") as caught:
        corpus.rollback("a", 1)
    assert caught.value.code == "active"
    assert corpus.sync([doc("a", "first words")]).sources[0].action == "unchanged"


def test_unknown_generations_and_sources(corpus: Corpus) -> None:
    corpus.sync([doc("a", "first words")])
    with pytest.raises(florilege.NotFound) as caught:
        corpus.rollback("a", 7)
    assert caught.value.code == "collected"
    for call in (lambda: corpus.rollback("nobody", 1), lambda: corpus.hold("nobody"), lambda: corpus.pin("a", 9)):
        with pytest.raises(florilege.NotFound):
            call()


def test_gc_keeps_what_the_policy_says(corpus: Corpus) -> None:
    for number in range(5):
        corpus.sync([doc("a", f"words number {number}")])
    corpus.pin("a", 1)
    assert corpus.gc()["generations"] == 0  # all were retired less than ten minutes ago
    counts = corpus.data.collect(corpus.namespace, keep_generations=1, retention=0.0)
    assert counts["generations"] == 2
    assert [item.generation for item in corpus.history("a")] == [5, 4, 1]
    assert corpus.rollback("a", 1) == 6
    assert texts(corpus, "a") == ["words number 0"]
    with pytest.raises(florilege.ConfigError, match="retention"):
        corpus.gc(retention=1.0)


def test_content_not_kept(opened: Callable[..., Corpus]) -> None:
    corpus = opened(keep_content=False)
    corpus.sync([doc("a", "first words")])
    corpus.sync([doc("a", "second words")])
    with corpus.data.snapshot(corpus.namespace) as snapshot, pytest.raises(florilege.NotFound) as caught:
        snapshot.document("a")
    assert caught.value.code == "content_not_kept"
    corpus.rollback("a", 1)
    assert texts(corpus, "a") == ["first words"]


def test_migrate_embeddings(opened: Callable[..., Corpus], embedder: CountingEmbedder) -> None:
    corpus = opened()
    docs = [doc(f"d{number}", f"text about thing {number}") for number in range(20)]
    corpus.sync(docs)
    new = CountingEmbedder(dimensions=24, name="new")
    tried = corpus.migrate_embeddings(new, queries=["thing 3", "about"], dry_run=True)
    assert (tried.switched, tried.embedded) == (False, 20)
    assert tried.overlap is not None
    assert 0.0 <= tried.overlap <= 1.0
    assert len(corpus.retrieve("thing", mode="dense", limit=50)) == 20
    paid = new.texts_embedded
    done = corpus.migrate_embeddings(new)
    assert (done.switched, done.embedded, done.old) == (True, 0, embedder.space.identity)
    assert new.texts_embedded == paid
    assert len(corpus.retrieve("thing", mode="dense", limit=50)) == 20
    assert corpus.data.bound_space(corpus.namespace) == new.space.identity
    assert corpus.sync(docs).unchanged == 20
    with pytest.raises(florilege.ConfigError) as caught:
        opened().sync(docs)
    assert caught.value.code == "space_mismatch"


def test_a_migration_that_fails_leaves_the_old_space(opened: Callable[..., Corpus]) -> None:
    corpus = opened()
    corpus.sync([doc("a", "good text"), doc("b", "poison text")])
    with pytest.raises(florilege.EmbeddingError, match="1 texts"):
        corpus.migrate_embeddings(CountingEmbedder(dimensions=24, name="new", fail_on=lambda text: "poison" in text))
    assert len(corpus.retrieve("text", mode="dense")) == 2
    assert corpus.migrate_embeddings(CountingEmbedder(dimensions=24, name="new")).embedded == 1
