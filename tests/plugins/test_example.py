"""The example plugin as somebody would use it: its wheel built, installed into a fresh environment, and used there."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import venv
from collections.abc import Callable

import pytest

from tests.support import ROOT

Florilege = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def florilege(tmp_path_factory: pytest.TempPathFactory) -> Florilege:
    """The command line of an environment that has the plugin, and sees what this one has."""
    folder = tmp_path_factory.mktemp("plugin")
    project = folder / "project"
    shutil.copytree(ROOT / "examples" / "plugin_paragraphs", project)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(project)]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", symlinks=True)
    python = str(folder / "venv" / "bin" / "python")
    install = [*pip, "--python", python, "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    lent = "".join(f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages())
    (packages / "lent.pth").write_text(lent)
    environment = {**os.environ, "NO_COLOR": "1"}
    environment.pop("PYTHONPATH", None)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [python, "-m", "florilege", *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)

    docs = folder / "docs"
    docs.mkdir()
    (docs / "rose.verse").write_text("The Rose\n\nRed as the evening,\n\nfolded in rain.\n")
    (docs / "notes.txt").write_text("Watering at dawn.\n\nPruning in March.\n")
    (docs / "plan.md").write_text("# Plan\n\nPaths of gravel.\n\nA bench.\n")
    return run


@pytest.mark.plugin
def test_the_example_is_installed_and_used(florilege: Florilege) -> None:
    listed = florilege("plugins", "--json")
    assert listed.returncode == 0, listed.stderr
    found = {provider["distribution"]: provider for provider in json.loads(listed.stdout)["providers"]}
    example = found["florilege-paragraphs"]
    assert example["error"] is None
    assert [item["id"] for item in example["capabilities"]] == ["example.verse"]
    synced = florilege("sync", "docs", "--lexical", "--json")
    assert {source["action"] for source in json.loads(synced.stdout)["sources"]} == {"added"}, synced.stderr
    hits = {}
    for words in ("evening folded", "pruning march", "bench"):
        asked = florilege("search", words, "--mode", "lexical", "--json", "--filter", "file_bytes < 1000")
        hits[words] = json.loads(asked.stdout)["hits"][0]
    assert hits["evening folded"]["title"] == "The Rose"
    assert hits["evening folded"]["source_id"] == "docs/rose.verse"
    assert hits["pruning march"]["content"] == "Pruning in March."
    assert hits["pruning march"]["provenance"]["chunker"] == "florilege-paragraphs:paragraphs:ParagraphChunker"
    assert hits["bench"]["content"] == "# Plan\n\nPaths of gravel.\n\nA bench."
    again = florilege("sync", "docs", "--lexical")
    assert again.stdout.splitlines()[0] == "3 unchanged"
