"""What the README and the guide show, run as written, in order, on the example handbook."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from florilege.apps.cli import main
from tests.models.conftest import Server, completion, message, server
from tests.support import ROOT

__all__ = ["server"]

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ florilege (.*)$", re.MULTILINE)

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the handbook as ``docs``; the pages share the store they make in it."""
    path = tmp_path_factory.mktemp("snippets")
    shutil.copytree(ROOT / "examples" / "handbook", path / "docs")
    return path


VENDORS = {
    "OPENAI_BASE_URL": "/v1",
    "ANTHROPIC_BASE_URL": "",
    "CO_API_URL": "",
}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "CO_API_KEY")


@pytest.fixture
def vendors(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The vendors' services, on this machine; their libraries find them as they find the real ones."""
    for variable, path in VENDORS.items():
        monkeypatch.setenv(variable, server.url + path)
    for variable in KEYS:
        monkeypatch.setenv(variable, "key")
    for name in [name for name in sys.modules if name.partition(".")[0] == "cohere"]:
        monkeypatch.delitem(sys.modules, name)  # it reads its address when it is imported
    grades = [{"passage": number, "grade": number % 7} for number in range(1, 21)]
    server.answers["/v1/chat/completions"] = lambda body: completion('{"queries": ["fee for a return"]}')
    server.answers["/v1/messages"] = lambda body: message(
        {"type": "tool_use", "id": "t", "name": "answer", "input": {"grades": grades}}
    )
    server.answers["/v2/rerank"] = lambda body: {
        "id": "1",
        "results": [{"index": 0, "relevance_score": 0.9}],
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
    }
    return server


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md", "docs/recipes.md"])
def test_page_runs(page: str, folder: Path, vendors: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(_BLOCK.finditer(text))
    assert blocks
    for library in ("openai", "anthropic", "cohere"):
        if f"import {library}\n" in text or f"from {library} import" in text:
            pytest.importorskip(library)
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
    asked = {path for path, _, _ in vendors.requests}
    assert asked == (set(vendors.answers) if page == "docs/recipes.md" else set())


def test_readme_commands_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    lines = _COMMAND.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert lines
    for line in lines:
        assert main(["--store", "docs.florilege", *shlex.split(line, comments=True)]) == 0, line
