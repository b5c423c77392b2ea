"""The ledger: who owns a source, what is listed, leases, runs, counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from florilege.interfaces.stores import DataStore, Fence, RunRecord
from florilege.model.errors import Conflict
from florilege.model.ledger import SourceRecord, Version
from florilege.testing.stores.cases import NS, SPACE, Suite, contents, vectors_of, write_of


class LedgerTests(Suite):
    """The ledger: who owns a source, what is listed, leases, runs, counts."""

    def test_a_source_has_one_owner(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["one"])])
        other = {"corpus_id": "other"}
        (outcome,) = store.replace(NS, [write_of("a", ["two"], expected=Version(1, 1), record=other)])
        assert outcome.conflict
        assert "shelf" in outcome.conflict
        with pytest.raises(Conflict):
            store.record(NS, [SourceRecord(namespace=NS, source_id="a", corpus_id="other")])
        nobody = {"corpus_id": None}
        store.replace(NS, [write_of("a", ["two"], expected=Version(1, 1), record=nobody)])
        assert store.get_sources(NS, ["a"])["a"].corpus_id == "shelf"
        store.delete_sources(NS, {"a": None})
        (outcome,) = store.replace(NS, [write_of("a", ["three"], record=other)])
        assert outcome.conflict is None

    def test_records_without_generations(self, store: DataStore) -> None:
        store.replace(NS, [write_of("ok", ["one"])])
        failed = SourceRecord(
            namespace=NS, source_id="bad", status="failed", corpus_id="shelf", error={"code": "x"}, run_id=1
        )
        store.record(NS, [failed, SourceRecord(namespace=NS, source_id="ok", corpus_id="shelf", held_hash="h")])
        records, cursor = store.list_sources(NS)
        assert cursor is None
        assert [(record.source_id, record.status) for record in records] == [("bad", "failed"), ("ok", "indexed")]
        assert records[0].error == {"code": "x"}
        assert records[0].failed_at is not None
        assert (records[1].version, records[1].chunk_count, records[1].held_hash) == (Version(1, 1), 1, "h")

    def test_lists_come_in_pages(self, store: DataStore) -> None:
        names = [f"s{number:03}" for number in range(25)] + ["é", "z", "世", "\U0001f600"]
        store.replace(NS, [write_of(name, [name]) for name in reversed(names)])
        store.delete_sources(NS, {"s003": None})
        store.record(NS, [SourceRecord(namespace=NS, source_id="s100", corpus_id="other", status="failed")])
        seen: list[str] = []
        cursor = None
        while True:
            records, cursor = store.list_sources(NS, limit=7, cursor=cursor)
            seen += [record.source_id for record in records]
            if cursor is None:
                break
        assert seen == sorted([*names, "s100"])
        assert [item.source_id for item in store.list_sources(NS, status=["deleted"])[0]] == ["s003"]
        assert [item.source_id for item in store.list_sources(NS, corpus_id="other")[0]] == ["s100"]
        assert store.list_sources(NS, status=[]) == ([], None)

    def test_leases_are_fenced(self, store: DataStore, opened: Callable[[], DataStore]) -> None:
        first = store.acquire_lease(NS, "shelf", "one")
        with pytest.raises(Conflict, match="one"):
            opened().acquire_lease(NS, "shelf", "two", wait=0.1)
        store.acquire_lease(NS, "other", "two")
        store.renew_lease(first)
        store.replace(NS, [write_of("a", ["1"])], fence=first)
        store.release_lease(first)
        second = store.acquire_lease(NS, "shelf", "two")
        assert second.token > first.token
        with pytest.raises(Conflict):
            store.renew_lease(first)
        stale: list[Callable[[], Any]] = [
            lambda: store.replace(NS, [write_of("a", ["2"], expected=Version(1, 1))], fence=first),
            lambda: store.delete_sources(NS, {"a": None}, fence=first),
            lambda: store.record(NS, [SourceRecord(namespace=NS, source_id="a")], fence=first),
            lambda: store.fill_vectors(NS, SPACE, [], vectors_of([]), fence=first),
            lambda: store.end_run(self._run(1), fence=first),
            lambda: store.renew_lease(Fence("elsewhere", "shelf", 1, "one")),
        ]
        for act in stale:
            with pytest.raises(Conflict):
                act()
        store.release_lease(first)
        store.renew_lease(second)
        with store.snapshot(NS) as snapshot:
            assert contents(snapshot, "a") == ["1"]

    @staticmethod
    def _run(run_id: int) -> RunRecord:
        moment = datetime(2024, 1, 1, tzinfo=UTC)
        return RunRecord(
            run_id=run_id,
            namespace=NS,
            corpus_id="shelf",
            started_at=moment,
            ended_at=moment + timedelta(seconds=1.5),
            counts={"added": 2},
            facts={"paths": ["a"]},
        )

    def test_runs_are_kept(self, store: DataStore) -> None:
        ids = [store.begin_run(NS, "shelf") for _ in range(3)]
        assert len(set(ids)) == 3
        assert store.runs(NS) == []
        for run_id in ids:
            store.end_run(self._run(run_id))
        assert [run.run_id for run in store.runs(NS)] == sorted(ids, reverse=True)
        assert store.runs(NS, "shelf", limit=1) == [self._run(max(ids))]
        assert store.runs(NS, "other") == []

    def test_stats_count(self, store: DataStore) -> None:
        store.replace(NS, [write_of("a", ["1", "2"], vectors=True), write_of("b", ["3"])])
        store.delete_sources(NS, {"b": None})
        stats = store.stats(NS)
        assert (stats["sources"], stats["chunks"], stats["pending_vectors"]) == (2, 2, 2)
        assert stats["statuses"] == {"indexed": 1, "deleted": 1}
        assert NS in store.stats()["namespaces"]
