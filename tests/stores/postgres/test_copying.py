"""A corpus copied between stores of both kinds: nothing is embedded again, nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import florilege
from florilege.apps.cli import main
from florilege.model.errors import ConfigError, NotFound
from florilege.stores import open_store
from florilege.stores.copying import copy_store, space_of
from florilege.testing import CountingEmbedder
from florilege.testing.stores import NS, SPACE, vectors_of, write_of

_numbers = count()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path, dsn_of: Callable[[Path], str]) -> Callable[[], str]:
    """Locations of new stores of one kind."""

    def new() -> str:
        path = tmp_path / f"store{next(_numbers)}"
        return str(path) if request.param == "sqlite" else dsn_of(path)

    return new


@pytest.fixture
def other(tmp_path: Path, dsn_of: Callable[[Path], str]) -> str:
    return dsn_of(tmp_path / "other")


def documents(version: int) -> list[florilege.Document]:
    return [
        florilege.Document(
            source_id=f"doc{number}",
            content=f"# Title {number}\n\nPassage about apples {number}, version {version}.\n\nAnother about pears.",
            title=f"Title {number}",
            metadata={"n": number, "x": 0.1, "when": {"$date": "2024-05-01T00:00:00+00:00"}},
        )
        for number in range(7)
    ]


def everything(corpus: florilege.Corpus) -> dict[str, Any]:
    found = {}
    for record in corpus.list_sources(limit=1000)[0]:
        chunks = corpus.chunks(record.source_id)
        found[record.source_id] = [
            (item.chunk_id, item.content, item.context, item.metadata, item.provenance, item.ordinal) for item in chunks
        ]
    return found


def test_a_corpus_moves_and_syncs_on(place: Callable[[], str], other: str) -> None:
    first, embedder = place(), CountingEmbedder(dimensions=16)
    with florilege.open(first, dense=embedder) as corpus:
        corpus.sync(documents(1), source_set="complete")
        before = everything(corpus)
        hits = [(hit.chunk_id, hit.score) for hit in corpus.retrieve("apples 3", limit=50)]
    embedded = embedder.texts_embedded
    back = place()
    for origin, target in ((first, other), (other, back)):
        with open_store(origin) as source, open_store(target) as copy:
            (copied,) = copy_store(source, copy)
            assert (copied.sources, copied.kept, copied.chunks) == (7, 0, sum(map(len, before.values())))
            (again,) = copy_store(source, copy)
            assert (again.sources, again.kept, again.vectors) == (0, 7, 0)
        with florilege.open(target, dense=embedder) as corpus:
            assert everything(corpus) == before
            found = corpus.retrieve("apples 3", limit=50)
            assert {hit.chunk_id for hit in found} == {chunk_id for chunk_id, _ in hits}
            np.testing.assert_allclose([hit.score for hit in found], [score for _, score in hits], atol=1e-6)
            queries = embedder.texts_embedded - embedded
            result = corpus.sync(documents(1), source_set="complete")
            assert (result.unchanged, result.embedded) == (7, 0)
            assert embedder.texts_embedded - embedded == queries
        embedded = embedder.texts_embedded
    with open_store(first) as source, open_store(back) as copy:
        one, two = source.snapshot("default"), copy.snapshot("default")
        with one as left, two as right:
            for name in before:
                pairs = zip(left.chunks(name, vectors=True), right.chunks(name, vectors=True), strict=True)
                assert all(mine.embedding == yours.embedding for mine, yours in pairs)
                assert left.document(name) == right.document(name)
    with florilege.open(back, dense=embedder) as corpus:
        changed = documents(1)[:6] + documents(2)[6:]
        result = corpus.sync(changed, source_set="complete")
        assert (result.unchanged, result.changed) == (6, 1)


def test_what_waits_waits_on(place: Callable[[], str], other: str) -> None:
    with open_store(place()) as source, open_store(other) as target:
        source.bind_space(NS, SPACE)
        source.put_vectors(SPACE, [b"k" * 16], vectors_of(["one"]))
        source.replace(NS, [write_of("a", ["one", "two"], vectors=True), write_of("gone", ["x"])])
        source.delete_sources(NS, {"gone": None})
        pending = source.pending_vectors(NS, SPACE)
        source.fill_vectors(NS, SPACE, pending[:1], vectors_of(["one"]))
        copy_store(source, target)
        assert [item.key for item in target.pending_vectors(NS, SPACE)] == [pending[1].key]
        assert target.get_sources(NS, ["gone"])["gone"].status == "deleted"
        assert target.bound_space(NS) == SPACE.identity


def test_a_copy_into_another_space_is_refused(place: Callable[[], str], other: str) -> None:
    with open_store(place()) as source, open_store(other) as target:
        source.bind_space(NS, SPACE)
        target.bind_space(NS, space_of("other/16/cosine/1"))
        with pytest.raises(ConfigError) as error:
            copy_store(source, target)
        assert error.value.code == "space_mismatch"
        with pytest.raises(NotFound):
            copy_store(source, target, ["nowhere"])


@pytest.mark.parametrize("identity", [SPACE.identity, "a/b/c/384/cosine/x/2", "m/30522/dot/", "onnx:m/8/cosine/1"])
def test_identities_name_their_space(identity: str) -> None:
    assert space_of(identity).identity == identity


def test_the_command_line_works_on_servers(
    tmp_path: Path, dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text("# Refunds\n\nRefunds are paid within fourteen days.\n", encoding="utf-8")
    assert main(["--store", dsn, "store", "check"]) == 0
    assert "is not there yet" in capsys.readouterr().out
    assert main(["--store", dsn, "search", "refunds"]) == 4
    assert main(["--store", dsn, "sync", "a.md", "--lexical"]) == 0
    assert main(["--store", dsn, "search", "refunds"]) == 0
    assert "a.md" in capsys.readouterr().out
    assert main(["--store", dsn, "store", "migrate", "--ann"]) == 0
    assert main(["--store", dsn, "store", "check"]) == 0
    assert main(["--store", dsn, "store", "copy", "folder"]) == 0
    assert main(["--store", "folder", "search", "refunds"]) == 0
    assert main(["--store", dsn, "store", "backup", "saved"]) == 3
    assert "pg_dump" in capsys.readouterr().err
