"""The command line: what people see, what programs read, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from florilege.apps.cli import main
from florilege.interfaces import Embeddings
from florilege.model.document import Document, IngestWarning
from florilege.stores import open_store
from florilege.testing import CountingEmbedder
from tests.support import ROOT


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def test_sync_then_search(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "sync", "docs", "--lexical")
    assert (code, out.splitlines()[0]) == (0, "3 added")
    code, out, _ = run(capsys, "search", "when", "are", "refunds", "paid", "--limit", "1")
    assert code == 0
    first, excerpt = out.splitlines()
    assert first.startswith(" 1. ")
    assert first.endswith("docs/refunds.md  Refunds")
    assert excerpt == "    # «Refunds» «Refunds» are «paid» within fourteen days."
    code, out, _ = run(capsys, "sync", "docs", "--lexical")
    assert (code, out.splitlines()[0]) == (0, "3 unchanged")


def test_search_json_has_provenance_that_slices(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "sync", "docs", "--lexical")
    code, out, _ = run(capsys, "search", "gift cards", "--json")
    hit = json.loads(out)["hits"][0]
    assert code == 0
    assert hit["provenance"]["headings"] == ["Refunds", "Exceptions"]
    (span,) = hit["provenance"]["source_spans"]
    text = (project / "docs/refunds.md").read_text(encoding="utf-8")
    assert text[span["start"] : span["end"]] == hit["content"]


def test_filter(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "sync", "docs", "--lexical")
    _, out, _ = run(capsys, "search", "refunds harp", "--filter", "year>=2024 and lang in [en, de]")
    assert "refunds.md" in out
    assert "prices.csv" not in out
    code, out, err = run(capsys, "search", "refunds harp", "--filter", "yaer>=2024")
    assert (code, out) == (0, "no hits\n")
    assert "no source has the field 'yaer'; near it: year" in err
    _, _, err = run(capsys, "search", "refunds harp", "--filter", "year>=2999")
    assert "field" not in err
    code, _, err = run(capsys, "search", "refunds", "--filter", "year >= 2024 and (")
    assert code == 3
    assert "character 19" in err


def test_the_first_question_has_no_store_to_ask(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (("search", "x"), ("sources",), ("stats",)):
        code, _, err = run(capsys, *argv)
        assert code == 4
        assert "florilege sync" in err
    assert not (project / ".florilege").exists()


def test_failed_sources_are_named_and_exit_1(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "docs/broken.pdf").write_bytes(b"%PDF-1.7 this is no PDF")
    code, out, err = run(capsys, "sync", "docs", "--lexical")
    assert code == 1
    assert out.splitlines()[0] == "3 added, 1 failed"
    assert "docs/broken.pdf" in err
    code, out, _ = run(capsys, "sources", "list", "--status", "failed")
    assert "docs/broken.pdf" in out


def test_gone_sources_are_told_and_deleted_when_asked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "sync", "docs", "--lexical")
    (project / "docs/prices.csv").unlink()
    code, out, _ = run(capsys, "sync", "docs", "--lexical")
    assert code == 0
    assert "stale     docs/prices.csv" in out
    _, out, _ = run(capsys, "sync", "docs/shipping.txt", "--lexical", "--delete")
    assert "deleted" not in out
    _, out, _ = run(capsys, "sync", "docs", "--lexical", "--delete")
    assert out.splitlines()[0] == "2 unchanged, 1 deleted"


def test_ids_do_not_depend_on_the_argument(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "sync", "docs", "--lexical")
    for argument in ("./docs/", "docs/refunds.md", str(project / "docs")):
        _, out, _ = run(capsys, "sync", argument, "--lexical")
        assert "added" not in out
        assert "stale" not in out
    monkeypatch.chdir(project / "docs")
    _, out, _ = run(capsys, "sync", ".", "--lexical")
    assert out.splitlines()[0] == "3 unchanged"


def test_dry_run_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "sync", "docs/shipping.txt", "--lexical")
    code, out, _ = run(capsys, "sync", "docs", "--lexical", "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "would be: 2 added, 1 unchanged")
    _, out, _ = run(capsys, "sources")
    assert len(out.splitlines()) == 1


def test_sources_and_stats(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "sync", "docs", "--lexical")
    _, out, _ = run(capsys, "sources")
    assert len(out.splitlines()) == 3
    code, out, _ = run(capsys, "sources", "show", "docs/refunds.md", "--json")
    shown = json.loads(out)
    assert shown["source"]["status"] == "indexed"
    assert [item["state"] for item in shown["generations"]] == ["active"]
    assert code == 0
    code, _, err = run(capsys, "sources", "show", "nobody.md")
    assert code == 1
    assert "nobody.md" in err
    _, out, _ = run(capsys, "stats", "--json")
    assert json.loads(out)["active_sources"] == 3


def test_a_running_sync_is_a_conflict(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "sync", "docs", "--lexical")
    store = open_store(project / ".florilege")
    fence = store.acquire_lease("default", "corpus", "somebody else")
    code, _, err = run(capsys, "sync", "docs", "--lexical")
    store.release_lease(fence)
    store.close()
    assert code == 5
    assert "somebody else" in err


def test_a_store_that_is_none(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = project / "bad"
    store.mkdir()
    (store / "store.db").write_bytes(b"not a database at all" * 100)
    code, _, err = run(capsys, "--store", str(store), "search", "x")
    assert code == 4
    assert "bad" in err
    assert (store / "store.db").read_bytes() == b"not a database at all" * 100


def test_interrupted_embedding_goes_on_with_the_next_sync(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(CountingEmbedder):
        def embed_many(self, texts: Sequence[str], task: str = "document") -> Embeddings:
            if self.calls == 2:
                raise KeyboardInterrupt
            return super().embed_many(texts, task)  # type: ignore[arg-type]

    for number in range(30):
        (project / f"docs/note{number}.txt").write_text(f"Note {number} has words to embed.\n", encoding="utf-8")
    first, second = Interrupted(dimensions=16, max_batch=8), CountingEmbedder(dimensions=16)
    monkeypatch.setattr("florilege.embed.minilm", lambda: first)
    code, _, err = run(capsys, "sync", "docs")
    assert code == 130
    assert "go on" in err
    _, out, _ = run(capsys, "search", "words embed", "--mode", "lexical", "--limit", "50", "--json")
    assert len(json.loads(out)["hits"]) == 30
    monkeypatch.setattr("florilege.embed.minilm", lambda: second)
    code, out, _ = run(capsys, "sync", "docs", "--json")
    result = json.loads(out)
    assert (code, result["unchanged"], result["pending"]) == (0, 33, 0)
    assert first.texts_embedded > 0
    assert first.texts_embedded + second.texts_embedded == result["chunk_count"]


def test_version_and_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    with pytest.raises(SystemExit) as caught:
        main(["nonsense"])
    assert caught.value.code == 2


def test_history_diff_rollback(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "sync", "docs", "--lexical")
    (project / "docs/shipping.txt").write_text("Parcels leave the warehouse on Fridays.\n", encoding="utf-8")
    run(capsys, "sync", "docs", "--lexical")
    _, out, _ = run(capsys, "sources", "history", "docs/shipping.txt")
    assert [line.split()[:2] for line in out.splitlines()] == [["2.1", "active"], ["1.1", "retired"]]
    _, out, _ = run(capsys, "sources", "diff", "docs/shipping.txt")
    assert out.splitlines() == [
        "- Parcels leave the warehouse on Tuesdays.",
        "+ Parcels leave the warehouse on Fridays.",
        "generation 1 to 2: 1 added, 1 removed, 0 with other metadata, 0 kept",
    ]
    assert run(capsys, "sources", "rollback", "docs/shipping.txt", "1")[0] == 0
    _, out, _ = run(capsys, "search", "warehouse", "--mode", "lexical")
    assert "Tuesdays" in out
    code, out, _ = run(capsys, "sync", "docs", "--lexical")
    assert out.splitlines()[0] == "2 unchanged, 1 skipped"
    assert run(capsys, "sources", "pin", "docs/shipping.txt", "1")[0] == 0
    assert run(capsys, "sources", "hold", "docs/shipping.txt")[0] == 0
    assert run(capsys, "gc")[1] == "nothing to remove\n"
    code, out, _ = run(capsys, "sources", "delete", "docs/shipping.txt")
    assert (code, out) == (0, "1 chunk deleted\n")


def test_plan_then_apply(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "sync", "docs", "--lexical", "--plan", "plan.json")
    assert (code, out.splitlines()[0]) == (0, "would be: 3 added")
    assert json.loads((project / "plan.json").read_text())["sources"][0]["action"] == "added"
    (project / "docs/late.txt").write_text("Too late for the plan.\n", encoding="utf-8")
    code, out, _ = run(capsys, "sync", "docs", "--lexical", "--apply", "plan.json")
    assert (code, out.splitlines()[0]) == (0, "3 added, 1 skipped")
    code, _, err = run(capsys, "sync", "docs", "--lexical", "--apply", "plan.json")
    assert code == 5
    assert "plan anew" in err


def test_watch_syncs_what_changes(project: Path) -> None:
    pytest.importorskip("watchfiles", reason="needs the extra florilege[watch]")
    command = [sys.executable, "-m", "florilege", "sync", "docs", "--lexical", "--watch"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    interruptible = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a run in the background ignores it
    process = subprocess.Popen(
        command, cwd=project, env=env, stdout=subprocess.PIPE, text=True, preexec_fn=interruptible
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "3 added\n"
        process.stdout.readline()
        (project / "docs/new.txt").write_text("Something new.\n", encoding="utf-8")
        assert process.stdout.readline() == "1 added, 3 unchanged\n"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        process.stdout.close()


def test_migrate_embeddings_to_a_configured_embedder(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("florilege.embed.minilm", lambda: CountingEmbedder(dimensions=16))
    run(capsys, "sync", "docs")
    (project / "florilege.toml").write_text('[embedders.new]\nuse = "openai"\nmodel = "m"\napi_key_env = "NO_KEY"\n')
    code, _, err = run(capsys, "migrate-embeddings", "new")
    assert (code, "NO_KEY" in err) == (3, True)
    code, _, err = run(capsys, "migrate-embeddings", "nww")
    assert (code, "did you mean 'new'" in err) == (3, True)
    new = CountingEmbedder(dimensions=24, name="new")
    monkeypatch.setenv("NO_KEY", "secret")
    monkeypatch.setattr("florilege.embed.adapters.openai", lambda model, api_key=None: new)
    code, out, _ = run(capsys, "migrate-embeddings", "new", "--query", "refunds")
    assert code == 0
    assert out.splitlines()[0] == f"{new.texts_embedded - 1} chunks embedded in {new.space.identity}"
    assert out.splitlines()[-1] == "switched"
    code, _, err = run(capsys, "search", "refunds", "--mode", "dense")
    assert (code, "space" in err or "embedded with" in err) == (3, True)
    (project / "florilege.toml").write_text(
        '[corpus]\ndense = "new"\n[embedders.new]\nuse = "openai"\nmodel = "m"\napi_key_env = "NO_KEY"\n'
    )
    code, out, _ = run(capsys, "search", "refunds", "--mode", "dense")
    assert code == 0
    assert "refunds.md" in out


def test_a_path_that_is_not_there_is_a_mistake_and_no_source(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "sync", "docs", "nosuch", "--lexical")
    assert (code, err) == (2, "florilege: there is no nosuch\n")
    assert not (project / ".florilege").exists()


def test_embed_goes_on_where_a_sync_stopped(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = CountingEmbedder(dimensions=16, fail_on=lambda text: True)
    monkeypatch.setattr("florilege.embed.minilm", lambda: broken)
    run(capsys, "sync", "docs")
    code, out, _ = run(capsys, "embed")
    assert (code, out.startswith("0 chunks embedded, ")) == (1, True)
    monkeypatch.setattr("florilege.embed.minilm", lambda: CountingEmbedder(dimensions=16))
    code, out, _ = run(capsys, "embed", "--json")
    assert code == 0
    assert json.loads(out)["waiting"] == 0 < json.loads(out)["embedded"]


def test_a_source_of_which_nothing_can_be_found_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "docs/blank.txt").write_text(" \n", encoding="utf-8")
    code, out, err = run(capsys, "sync", "docs", "--lexical")
    assert (code, out.splitlines()[0]) == (0, "4 added")
    (line,) = err.splitlines()
    assert line.startswith("warning   docs/blank.txt  ")
    _, _, err = run(capsys, "sync", "docs", "--lexical")
    assert err == ""


def test_warnings_are_cut_short_unless_all_are_asked_for(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings = tuple(IngestWarning(code="odd", message=f"page {n} is odd") for n in range(1, 7))
    odd = Document(source_id="docs/odd.pdf", content="", warnings=warnings)
    monkeypatch.setattr("florilege.ingest.load", lambda *args, **options: [odd])
    _, _, err = run(capsys, "sync", "docs", "--lexical")
    assert [line.split("  ")[-1] for line in err.splitlines()] == [
        "page 1 is odd",
        "page 2 is odd",
        "page 3 is odd",
        "and 3 more warnings (--verbose shows them)",
    ]
    run(capsys, "sources", "delete", "docs/odd.pdf")
    _, out, _ = run(capsys, "sync", "docs", "--lexical", "--json")
    assert len(json.loads(out)["sources"][0]["warnings"]) == 6


def test_a_dry_run_leaves_nothing_behind_and_its_plan_can_be_carried_out(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(project.rglob("*"))
    code, out, _ = run(capsys, "sync", "docs", "--lexical", "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "would be: 3 added")
    assert sorted(project.rglob("*")) == before
    assert run(capsys, "sync", "docs", "--lexical", "--plan", "plan.json")[0] == 0
    assert sorted(project.rglob("*")) == sorted([*before, project / "plan.json"])
    code, out, _ = run(capsys, "sync", "docs", "--lexical", "--apply", "plan.json")
    assert (code, out.splitlines()[0]) == (0, "3 added")
    code, out, _ = run(capsys, "sync", "docs", "--lexical", "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "would be: 3 unchanged")


def test_a_source_that_is_not_there_has_a_near_name(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "sync", "docs", "--lexical")
    for verb, asked in (("show", "refunds.md"), ("delete", "docs/refund.md"), ("history", "refunds.md")):
        code, _, err = run(capsys, "sources", verb, asked)
        assert (code, err.strip().endswith("; near it: docs/refunds.md")) == (1, True)
    code, _, err = run(capsys, "sources", "show", "entirely-different")
    assert (code, "near" in err) == (1, False)
    code, _, err = run(capsys, "sources", "rollback", "docs/refunds.md", "9")
    assert (code, "near" in err) == (1, False)


def test_verbs_on_a_source_print_json_too(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "sync", "docs", "--lexical")
    (project / "docs/refunds.md").write_text("Refunds take nine days.\n", encoding="utf-8")
    run(capsys, "sync", "docs", "--lexical")
    asked = {
        ("pin", "1"): {"generation": 1, "pinned": True},
        ("rollback", "1"): {"generation": 3, "equal_to": 1},
        ("hold",): {"held": True},
        ("delete",): {"chunks": 3},  # those of generation 1, which is back
    }
    for (verb, *rest), told in asked.items():
        code, out, _ = run(capsys, "sources", verb, "docs/refunds.md", *rest, "--json")
        assert (code, json.loads(out)) == (0, {"source_id": "docs/refunds.md", **told})
