"""Lost connections, killed servers, wrong servers: what is told, what is tried again, what is left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from florilege.interfaces.stores import SearchRequest
from florilege.model.errors import ConfigError, NotFound, RetrievalError, StoreError, Unavailable
from florilege.model.filters import F, Filter
from florilege.model.ledger import Version
from florilege.retrieval import Retriever
from florilege.stores import open_store
from florilege.stores.postgres import PostgresStore
from florilege.stores.postgres.writing import writer
from florilege.testing.stores import NS, SPACE, contents, key_of, vectors_of, write_of
from tests.stores.postgres.server import Server, alive, started


@pytest.fixture
def store(dsn: str) -> Iterator[PostgresStore]:
    with PostgresStore(dsn) as store:
        yield store


@pytest.fixture(scope="module")
def doomed() -> Iterator[Any]:
    """A server of its own, to be killed and started again."""
    with started() as own:
        yield own


@contextmanager
def locked(server: Server, store: PostgresStore, table: str) -> Iterator[None]:
    """Meanwhile whoever reads the table waits."""
    with psycopg.connect(server.url) as holder:
        holder.execute(f"LOCK TABLE {store._database.schema}.{table} IN ACCESS EXCLUSIVE MODE")
        yield


def _active(server: Server) -> int:
    ((count,),) = server.run(
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend'"
        " AND pid <> pg_backend_pid()"
    )
    return int(count)


def test_the_server_ends_a_search_at_its_deadline(server: Server, store: PostgresStore) -> None:
    store.replace(NS, [write_of("a", ["one"])])
    with locked(server, store, "posting"), store.snapshot(NS) as snapshot:
        start = time.monotonic()
        with pytest.raises(StoreError) as error:
            snapshot.search(SearchRequest(text="one", deadline=0.2))
        assert (error.value.code, error.value.retryable) == ("deadline", True)
        assert time.monotonic() - start < 10
        assert _active(server) == 0
    with store.snapshot(NS) as snapshot:
        assert len(snapshot.search(SearchRequest(text="one")).legs["lexical"]) == 1
    with store._database.connection() as connection:
        assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)


def test_a_question_given_up_leaves_no_query_behind(server: Server, store: PostgresStore) -> None:
    store.replace(NS, [write_of("a", ["one"])])
    retriever = Retriever(data=store, namespace=NS)
    with locked(server, store, "posting"):
        for ask in (retriever.retrieve, retriever.retrieve_with_trace):
            with pytest.raises(RetrievalError) as error:
                ask("one", deadline=0.2)
            assert error.value.code == "deadline"
        give_up = time.monotonic() + 10
        while _active(server) and time.monotonic() < give_up:
            time.sleep(0.05)
        assert _active(server) == 0
    assert len(retriever.retrieve("one", deadline=60)) == 1


def test_idle_connections_may_be_lost(server: Server, store: PostgresStore) -> None:
    store.replace(NS, [write_of("a", ["one"])])
    assert server.kill_backends() >= 1
    assert store.get_sources(NS, ["a"])["a"].version == Version(1, 1)
    server.kill_backends()
    assert store.replace(NS, [write_of("a", ["two"], expected=Version(1, 1))])[0].version == Version(2, 1)


def test_a_write_that_loses_its_connection_is_made_again(
    server: Server, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.replace(NS, [write_of("a", ["one"])])
    calls: list[int] = []
    next_seq = writer.next_seq

    def kill_first(connection: Any, namespace: int) -> tuple[int, int]:
        calls.append(namespace)
        if len(calls) == 1:
            assert server.kill_backends() >= 1
        return next_seq(connection, namespace)

    monkeypatch.setattr(writer, "next_seq", kill_first)
    (outcome,) = store.replace(NS, [write_of("a", ["two"], expected=Version(1, 1))])
    assert outcome.version == Version(2, 1)
    assert len(calls) == 2
    assert [item.generation for item in store.history(NS, "a")] == [2, 1]
    assert store.check().problems == []


def test_a_commit_that_loses_its_connection_is_unavailable(
    server: Server, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.replace(NS, [write_of("a", ["one"])])
    commit = psycopg.Connection.commit

    def cut(connection: psycopg.Connection[Any]) -> None:
        monkeypatch.undo()
        server.kill_backends()
        commit(connection)

    with store._database.connection():  # so that reading what is there commits nothing
        pass
    monkeypatch.setattr(psycopg.Connection, "commit", cut)
    with pytest.raises(Unavailable) as error:
        store.replace(NS, [write_of("a", ["two"], expected=Version(1, 1))])
    assert error.value.retryable
    assert store.replace(NS, [write_of("a", ["two"], expected=Version(1, 1))])[0].version == Version(2, 1)
    assert store.check().problems == []


def test_a_server_killed_during_a_publication_publishes_nothing(doomed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"old {number}" for number in range(7)]
    with PostgresStore(doomed.get_uri(), batch_chunks=3) as store:
        store.replace(NS, [write_of("a", texts, vectors=True), write_of("b", ["kept"])])
        pending = store.pending_vectors(NS, SPACE, limit=100)
        store.fill_vectors(NS, SPACE, pending, vectors_of([item.text for item in pending]))
        for module in ("staging", "writer"):
            pid = doomed.get_pid()

            def kill(name: str, pid: int = pid) -> None:
                if name == "publish.before":
                    os.kill(pid, signal.SIGKILL)
                    while alive(pid):
                        time.sleep(0.02)

            monkeypatch.setattr(f"florilege.stores.postgres.writing.{module}.failpoint", kill)
            new = [f"new {number}" for number in range(7 if module == "staging" else 2)]
            with pytest.raises(Unavailable) as error:
                store.replace(NS, [write_of("a", new, expected=Version(1, 1), vectors=True)])
            assert error.value.retryable
            monkeypatch.undo()
            _start_again(doomed)
            with store.snapshot(NS) as snapshot:
                assert contents(snapshot, "a") == texts
                assert len(snapshot.search(SearchRequest(text="old", depth=100)).legs["lexical"]) == 7
                dense = snapshot.search(SearchRequest(vector=vectors_of(["old 1"])[0], space=SPACE, depth=100))
                assert len(dense.legs["dense"]) == 7
            assert store.check().problems == []
    with PostgresStore(doomed.get_uri()) as store:
        assert store.replace(NS, [write_of("a", ["new"], expected=Version(1, 1))])[0].version == Version(2, 1)
        store.collect(NS, retention=0)
        assert store.check().problems == []
        count = Server(doomed.get_uri()).run("SELECT count(*) FROM florilege.staged")
        assert count == [(0,)]


def _start_again(doomed: Any) -> None:
    give_up = time.monotonic() + 60
    while True:
        try:
            doomed.ensure_postgres_running()
            with psycopg.connect(doomed.get_uri()):
                return
        except Exception:  # it may still be clearing up after the kill
            if time.monotonic() > give_up:
                raise
            time.sleep(0.5)


@pytest.mark.parametrize("table", ["text", "posting", "vector", "row_vector", "source"])
@pytest.mark.parametrize("batch_chunks", [2000, 3], ids=["at once", "staged"])
def test_a_full_disk_loses_nothing(server: Server, dsn: str, table: str, batch_chunks: int) -> None:
    """A trigger of the server's raises what a table that cannot grow raises, in the middle of the write."""
    old, new = [f"old {number}" for number in range(7)], [f"new {number}" for number in range(7)]

    def write(store: PostgresStore) -> None:
        store.put_vectors(SPACE, [key_of(text) for text in new], vectors_of(new))
        store.replace(NS, [write_of("a", new, expected=Version(1, 1), vectors=True)])

    with PostgresStore(dsn, batch_chunks=batch_chunks) as store:
        store.replace(NS, [write_of("a", old, vectors=True)])
        schema = store._database.schema
        server.run(
            f"CREATE FUNCTION {schema}.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION"
            " 'could not extend file \"base/5/16384\": No space left on device' USING ERRCODE = 'disk_full'; END $$"
        )
        server.run(
            f"CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON {schema}.{table}"
            f" FOR EACH ROW EXECUTE FUNCTION {schema}.full_disk()"
        )
        with pytest.raises(StoreError, match="No space left on device; nothing was written") as error:
            write(store)
        assert (error.value.code, error.value.retryable) == ("disk_full", True)
        with store.snapshot(NS) as snapshot:
            assert contents(snapshot, "a") == old
        assert store.check().problems == []
        assert server.run(f"SELECT count(*) FROM {schema}.staged") == [(0,)]
        server.run(f"DROP TRIGGER full_disk ON {schema}.{table}")
        write(store)
        with store.snapshot(NS) as snapshot:
            assert contents(snapshot, "a") == new
        assert store.check().problems == []


def test_a_server_that_is_away(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as error:
        PostgresStore(f"postgresql://postgres@/postgres?host={tmp_path}")
    assert error.value.retryable


def test_no_database_no_store_no_postgres(server: Server, dsn: str) -> None:
    url = urlsplit(server.url)
    with pytest.raises(ConfigError) as error:
        PostgresStore(urlunsplit(url._replace(path="/nowhere")))
    assert error.value.code == "bad_dsn"
    assert "nowhere" in str(error.value)
    with pytest.raises(NotFound) as missing:
        PostgresStore(dsn, create=False)
    assert missing.value.code == "no_store"
    with pytest.raises(ConfigError):
        PostgresStore("postgresql://host/db?no_such_option=1")


def test_passwords_are_not_told(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as error:
        PostgresStore(f"postgresql://someone:hunter2@/postgres?host={tmp_path}")
    assert "hunter2" not in str(error.value)


def test_a_server_without_pgvector(server: Server, dsn: str) -> None:
    name = f"bare_{os.getpid()}"
    server.run(f"CREATE DATABASE {name}")
    bare = Server(urlunsplit(urlsplit(server.url)._replace(path=f"/{name}")))
    try:
        bare.run("DROP ROLE IF EXISTS florilege_guest")
        bare.run("CREATE ROLE florilege_guest LOGIN PASSWORD 'guest'")
        guest = urlsplit(bare.url)
        where = guest.netloc.rpartition("@")[2]
        url = urlunsplit(guest._replace(netloc=f"florilege_guest:guest@{where}"))
        with pytest.raises(ConfigError) as error:
            PostgresStore(url)
        assert error.value.code == "no_pgvector"
        assert "CREATE EXTENSION vector" in str(error.value)
        bare.run("CREATE EXTENSION vector")
        with pytest.raises(StoreError) as refused:
            PostgresStore(url)
        assert refused.value.code == "no_grant"
        PostgresStore(bare.url).close()
        with pytest.raises(StoreError):
            PostgresStore(url, create=False)
        for statement in ("GRANT USAGE ON SCHEMA florilege TO", "GRANT SELECT ON ALL TABLES IN SCHEMA florilege TO"):
            bare.run(f"{statement} florilege_guest")
        with PostgresStore(url, create=False, read_only=True) as store:
            assert store.namespaces() == []
            assert any("may not read and write" in problem for problem in store.check().problems)
            with pytest.raises(StoreError):
                store.replace(NS, [write_of("a", ["x"])])
    finally:
        bare.kill_backends()
        server.run(f"DROP DATABASE {name} WITH (FORCE)")
        server.run("DROP ROLE florilege_guest")


def test_a_newer_store_is_refused_by_name(server: Server, dsn: str) -> None:
    with PostgresStore(dsn) as store:
        schema = store._database.schema
    server.run(f"UPDATE {schema}.meta SET value = '99' WHERE key = 'version'")
    with pytest.raises(ConfigError) as error:
        PostgresStore(dsn)
    assert error.value.code == "newer_store"
    assert schema in str(error.value)


def test_damage_is_found_and_repaired(server: Server, store: PostgresStore) -> None:
    store.replace(NS, [write_of("a", ["one", "two"]), write_of("b", ["three"])])
    schema = store._database.schema
    server.run(f"DELETE FROM {schema}.live WHERE row = (SELECT min(row) FROM {schema}.live)")
    assert store.lost_chunks(NS) == 1
    assert store.check().problems
    assert store.repair(NS) == ["a"]
    assert store.check().problems == []
    assert store.get_sources(NS, ["a"])["a"].status == "failed"
    assert store.replace(NS, [write_of("a", ["one", "two"])])[0].conflict is None
    with store.snapshot(NS) as snapshot:
        assert contents(snapshot, "a") == ["one", "two"]
        assert len(snapshot.search(SearchRequest(text="one two three")).legs["lexical"]) == 3


def test_applying_twice_changes_nothing(store: PostgresStore) -> None:
    store.replace(NS, [write_of("a", ["one"], vectors=True)])
    store.apply()
    store.apply(ann=True)
    store.apply(ann=True)
    assert store.check().problems == []
    assert not any("apply(ann=True)" in note for note in store.check().notes)
    with store.snapshot(NS) as snapshot:
        assert contents(snapshot, "a") == ["one"]


def test_urls_open_stores(dsn: str) -> None:
    with open_store(dsn) as store:
        assert isinstance(store, PostgresStore)
        assert store.namespaces() == []


def test_any_character_comes_back(store: PostgresStore) -> None:
    text, name = "nul \0 one \x01 two \x01\x02", "so\0ur\x01ce"
    write = write_of(name, [text], metadata={"k\0": "v\0", "list": ["\0"]})
    store.replace(NS, [write])
    with store.snapshot(NS) as snapshot:
        (chunk,) = snapshot.chunks(name)
        assert (chunk.source_id, chunk.content, chunk.metadata) == (name, text, {"k\0": "v\0", "list": ["\0"]})
        assert snapshot.document(name).content == text
    assert [record.source_id for record in store.list_sources(NS)[0]] == [name]


@pytest.fixture
def many(dsn_of: Callable[[Path], str], tmp_path: Path) -> str:
    return dsn_of(tmp_path / "many")


def test_blocks_are_merged_and_found(many: str, server: Server) -> None:
    with PostgresStore(many) as store:
        for number in range(20):
            store.replace(NS, [write_of(f"s{number}", [f"word number{number}"])])
        for number in range(0, 20, 2):
            store.delete_sources(NS, {f"s{number}": None})
        schema = store._database.schema
        assert server.run(f"SELECT count(*) < 12 FROM {schema}.block") == [(True,)]
        with store.snapshot(NS) as snapshot:
            found = snapshot.search(SearchRequest(text="word", depth=100))
            assert len(found.legs["lexical"]) == found.facts["visible_rows"] == 10
        assert store.collect(NS, retention=0, keep_generations=0)["rows"] == 10
        with store.snapshot(NS) as snapshot:
            assert len(snapshot.search(SearchRequest(text="word", depth=100)).legs["lexical"]) == 10


def test_declared_fields_stay_with_the_store(dsn: str) -> None:
    def found(store: PostgresStore, filter: Filter) -> set[str]:
        with store.snapshot(NS) as snapshot:
            return {
                item.source_id for item in snapshot.search(SearchRequest(text="word", filter=filter)).legs["lexical"]
            }

    before_may, as_text = F("due") < date(2024, 5, 1), F("due") < "2024-05"
    with PostgresStore(dsn) as store:
        store.replace(NS, [write_of("a", ["word"], metadata={"due": "2024-04-01"}), write_of("b", ["word"])])
        assert (found(store, before_may), found(store, as_text)) == (set(), {"a"})
    with PostgresStore(dsn, fields={"due": datetime}) as store:
        store.replace(NS, [write_of("c", ["word"], metadata={"due": "2024-04-30T23:59:59+00:00"})])
        assert (found(store, before_may), found(store, as_text)) == ({"a", "c"}, set())
        with pytest.raises(ConfigError):
            store.replace(NS, [write_of("d", ["word"], metadata={"due": "soon"})])
    with PostgresStore(dsn) as store:
        assert found(store, before_may) == {"a", "c"}
        with store.snapshot(NS) as snapshot:
            facts = snapshot.search(SearchRequest(text="word", filter=before_may & (F("n") == 1))).facts
            assert facts["undeclared_fields"] == ["n"]
    with PostgresStore(dsn, fields={}) as store:
        assert (found(store, before_may), found(store, as_text)) == (set(), {"a", "c"})


def test_a_forked_child_goes_on(store: PostgresStore) -> None:
    store.replace(NS, [write_of("a", ["one"])])
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os._exit(0 if store.namespaces() == [NS] else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.get_sources(NS, ["a"])["a"].version == Version(1, 1)
    assert store.replace(NS, [write_of("b", ["two"])])[0].conflict is None
