"""A damaged store is told from a sound one, never synced over, and mended from what was kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import florilege
from florilege import Document
from florilege.corpus import Corpus
from florilege.testing import CountingEmbedder

DOCS = [Document(source_id=f"d{n}", content=f"text about thing {n}", metadata={"n": n}) for n in range(6)]


def damage(tmp_path: Path, statement: str) -> None:
    with sqlite3.connect(tmp_path / "store/store.db") as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(statement)
    connection.close()


@pytest.fixture
def synced(opened: Callable[..., Corpus]) -> Callable[..., Corpus]:
    with opened() as corpus:
        corpus.sync(DOCS)
    return opened


def test_a_sound_corpus_is_sound(synced: Callable[..., Corpus]) -> None:
    found = synced().verify()
    assert (found.ok, found.problems) == (True, ())
    assert synced().repair() == florilege.indexing.care.Repair()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM row",
        "DELETE FROM manifest WHERE ordinal = 0",
        "DELETE FROM text",
        "DELETE FROM row WHERE pk % 2",
        "DELETE FROM generation WHERE pk = 2",
    ],
)
def test_lost_chunks_are_never_a_green_run(
    synced: Callable[..., Corpus], tmp_path: Path, embedder: CountingEmbedder, statement: str
) -> None:
    damage(tmp_path, statement)
    corpus = synced()
    assert not corpus.verify().ok
    if "text" not in statement and "generation" not in statement:
        with pytest.raises(florilege.Corrupt, match="repair"):
            corpus.sync(DOCS)
    paid = embedder.texts_embedded
    done = corpus.repair()
    assert done.mended or done.to_sync
    corpus.sync(DOCS)
    assert corpus.verify().problems == ()
    assert embedder.texts_embedded == paid
    for mode in ("lexical", "dense"):
        hits = corpus.retrieve("text about thing", mode=mode, limit=50)  # type: ignore[arg-type]
        assert sorted(hit.content for hit in hits) == [document.content for document in DOCS]
    assert corpus.sync(DOCS).unchanged == 6


def test_missing_words_are_analysed_again(synced: Callable[..., Corpus], tmp_path: Path) -> None:
    damage(tmp_path, "DELETE FROM lexeme")
    corpus = synced()
    assert not corpus.verify().ok
    corpus.repair()
    assert corpus.verify().ok
    assert len(corpus.retrieve("thing", mode="lexical", limit=50)) == 6


def test_a_deleted_store_file_is_rebuilt(synced: Callable[..., Corpus], tmp_path: Path) -> None:
    synced().close()
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        (tmp_path / "store" / name).unlink(missing_ok=True)
    assert synced().sync(DOCS).added == 6
