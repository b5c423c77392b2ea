"""The commands that care for the store itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from florilege.apps.cli import main
from florilege.stores import open_store


@pytest.fixture
def synced(project: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["sync", "docs", "--lexical"]) == 0
    capsys.readouterr()
    return project


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def test_check(synced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "store", "check")
    assert (code, out.splitlines()[-1]) == (0, "sound")
    code, out, _ = run(capsys, "store", "check", "--json")
    assert (code, json.loads(out)["ok"]) == (0, True)


def test_check_tells_damage(synced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(synced / ".florilege") as store, store._database.write() as connection:
        connection.execute("DELETE FROM text")
    code, out, _ = run(capsys, "store", "check")
    assert code == 4
    assert "rows without text" in out


def test_no_store_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in (["check"], ["backup", "copy"], ["migrate"], ["copy", "other"]):
        code, _, err = run(capsys, "store", *verb)
        assert code == 4
        assert "no store" in err
    assert not (project / ".florilege").exists()


def test_backup(synced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "store", "backup", "saved")
    assert (code, out) == (0, "backed up to saved\n")
    code, out, _ = run(capsys, "--store", "saved", "search", "refunds")
    assert code == 0
    assert "refunds.md" in out
    code, _, err = run(capsys, "store", "backup", "saved")
    assert code == 3
    assert "saved" in err


def test_each_tells_it_in_json_too(synced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in (["backup", "saved"], ["migrate"], ["copy", "other"]):
        code, out, _ = run(capsys, "store", *verb, "--json")
        assert code == 0
        assert isinstance(json.loads(out), dict)
    assert [each["namespace"] for each in json.loads(out)["namespaces"]] == ["default"]


def test_migrate(synced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "store", "migrate")[:2] == (0, "up to date\n")
    code, _, err = run(capsys, "store", "migrate", "--ann")
    assert code == 3
    assert "--ann" in err


def test_copy(synced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "store", "copy", "other")
    assert code == 0
    assert out.startswith("default: 3 sources, ")
    code, out, _ = run(capsys, "store", "copy", "other", "--only", "default")
    assert (code, out) == (0, "default: 0 sources, 0 chunks, 0 vectors, 3 there already\n")
    code, out, _ = run(capsys, "--store", "other", "sync", "docs", "--lexical")
    assert (code, out.splitlines()[0]) == (0, "3 unchanged")
    code, _, err = run(capsys, "store", "copy", "other", "--only", "nowhere")
    assert code == 1
    assert "nowhere" in err
    code, _, err = run(capsys, "store", "copy", "mysql://host/db")
    assert code == 3
