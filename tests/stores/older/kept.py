"""Stores as earlier versions of the schema left them, as SQL, and what was in each of them.

All were filled alike: "a" was published twice, "b" once, "c" published and deleted; one text of "a" and one of "c" had
no vector; a parent and a document each; one run.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import SearchRequest
from florilege.model.filters import F
from florilege.model.ledger import Version
from florilege.testing.stores import contents, write_of

NS = "library"
SPACE = EmbeddingSpace(name="test", dimensions=4)
HERE = Path(__file__).parent


def sqlite_store(folder: Path, version: int) -> Path:
    """A store folder of that schema version."""
    folder.mkdir()
    raw = sqlite3.connect(folder / "store.db")
    raw.executescript((HERE / f"sqlite_{version}.sql").read_text())
    raw.close()
    return folder


def postgres_script(version: int, schema: str) -> str:
    """What makes a store of that version in a new schema."""
    text = (HERE / f"postgres_{version}.sql").read_text()
    return text.replace("older.", f"{schema}.").replace("CREATE SCHEMA older", f"CREATE SCHEMA {schema}")


def check_kept(store: Any) -> None:
    """Everything that was in it is there, and it goes on from there."""
    assert store.check().problems == []
    assert [(record.source_id, record.status) for record in store.list_sources(NS)[0]] == [
        ("a", "indexed"),
        ("b", "indexed"),
        ("c", "deleted"),
    ]
    assert [(item.generation, item.state) for item in store.history(NS, "a")] == [(2, "active"), (1, "retired")]
    assert [run.counts for run in store.runs(NS)] == [{"added": 2}]
    assert store.bound_space(NS) == SPACE.identity
    assert (store.bound_space(NS, leg="sparse"), store.count_pending(NS, SPACE)) == (None, 1)
    with store.snapshot(NS) as snapshot:
        assert contents(snapshot, "a") == ["red apple", "new pear"]
        assert [chunk.content for chunk in snapshot.chunks("a", generation=1)] == ["red apple", "green apple"]
        assert snapshot.document("b").content == "a plum"
        assert snapshot.parents(["a-p"])["a-p"].content == "above"
        vector = snapshot.chunks("b", vectors=True)[0].embedding
        result = snapshot.search(SearchRequest(text="apple plum", vector=vector, space=SPACE))
        assert [item.source_id for item in result.legs["lexical"]] == ["a", "b"]
        assert [item.source_id for item in result.legs["dense"]] == ["b", "a"]
        assert result.legs["dense"][0].score > 0.999
        assert result.coverage == 2 / 3
        narrow = snapshot.search(SearchRequest(text="apple pear", filter=F("year") == 2021))
        assert [item.source_id for item in narrow.legs["lexical"]] == ["a"]
    (outcome,) = store.replace(NS, [write_of("a", ["red apple", "late fig"], expected=Version(2, 1))])
    assert outcome.version == Version(3, 1)
    store.collect(NS, retention=0, keep_generations=0)
    with store.snapshot(NS) as snapshot:
        assert contents(snapshot, "a") == ["red apple", "late fig"]
        assert len(snapshot.search(SearchRequest(text="fig plum")).legs["lexical"]) == 2
    assert store.check().problems == []
