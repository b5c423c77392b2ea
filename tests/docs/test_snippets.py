"""What the README and the guide show, run as written, in order, on the example handbook."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from florilege.apps.cli import main
from tests.support import ROOT

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ florilege (.*)$", re.MULTILINE)

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the handbook as ``docs``; the pages share the store they make in it."""
    path = tmp_path_factory.mktemp("snippets")
    shutil.copytree(ROOT / "examples" / "handbook", path / "docs")
    return path


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md", "docs/recipes.md"])
def test_page_runs(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(_BLOCK.finditer(text))
    assert blocks
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    try:
        for block in blocks:
            line = text.count("\n", 0, block.start(1))
            exec(compile("\n" * line + block[1], page, "exec"), names)
    finally:
        corpus = names.get("corpus")
        if corpus is not None:
            corpus.close()  # type: ignore[attr-defined]


def test_readme_commands_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    lines = _COMMAND.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert lines
    for line in lines:
        assert main(["--store", "docs.florilege", *shlex.split(line, comments=True)]) == 0, line
