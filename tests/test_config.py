"""florilege.toml: components by name, unknown keys refused with the nearest known one, no secrets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import florilege
from florilege import ConfigError, Document, RecipeError
from florilege.config import load_config
from florilege.corpus import Corpus

GOOD = """
[corpus]
namespace = "manuals"
dense = "none"
fields = { year = "int" }

[chunker]
use = "structured"
max_chars = 700

[models.local]
use = "openai"
model = "small"
base_url = "http://localhost:9/v1"
api_key_env = "MY_KEY"

[recipes.careful]
model = "local"
on_source_error = "skip_with_warning"
retriever = [
  { id = "words", mode = "lexical", weight = 1.0, timeout = 5.0 },
  { id = "new", mode = "lexical", weight = 0.5, filter = "year >= 2024" },
]
steps = [
  { use = "fanout", max_queries = 3 },
  { use = "retrieve", limit = 20 },
  { use = "filter_hits", where = "year exists" },
  { use = "rerank", engine = { use = "judge", name = "judge", model = "openai:large" }, top_k = 8 },
  { use = "compress_to_budget", tokens = 900 },
]

[recipes.plain]
steps = [{ use = "retrieve" }, { use = "rerank", engine = { use = "lexical" } }]
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Corpus]:
    with florilege.open(tmp_path / "store", dense=None) as corpus:
        corpus.sync(
            [
                Document(source_id=f"d{year}", content=f"harps of {year}", metadata={"year": year})
                for year in (2023, 2024)
            ]
        )
        yield corpus


def written(folder: Path, text: str, name: str = "florilege.toml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_everything_that_may_stand_there(tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("MY_KEY", "secret")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    config = load_config(written(tmp_path, GOOD))
    assert (config.namespace, config.dense, dict(config.fields)) == ("manuals", None, {"year": "int"})
    pipeline = config.pipeline()
    assert pipeline is not None
    assert pipeline.chunker.max_chars == 700  # type: ignore[attr-defined]
    recipe = config.recipe("careful", corpus)
    assert [step.id for step in recipe.steps] == ["fanout", "retrieve", "filter_hits", "rerank", "compress_to_budget"]
    assert [(source.id, source.weight, source.timeout) for source in recipe.sources] == [
        ("words", 1.0, 5.0),
        ("new", 0.5, None),
    ]
    plain = config.recipe("plain", corpus)
    assert {hit.source_id for hit in plain.retrieve("harps")} == {"d2023", "d2024"}
    assert config.model("local").name == "openai:small"


def test_without_a_file_there_are_defaults(tmp_path: Path) -> None:
    config = load_config(tmp_path)
    assert (config.path, config.store, config.namespace, config.pipeline()) == (None, None, "default", None)


def test_pyproject_has_a_place_for_it(tmp_path: Path) -> None:
    text = "[project]\nname = 'x'\n[tool.florilege.corpus]\nnamespace = 'mine'\n"
    assert load_config(written(tmp_path, text, "pyproject.toml")).namespace == "mine"
    written(tmp_path, "[corpus]\nnamespace = 'own'\n")
    assert load_config(tmp_path).namespace == "own"


def test_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, "[corpus]\nnamespace = 'file'\nstore = 'kept'\n")
    assert load_config(tmp_path).store == str(tmp_path / "kept")
    monkeypatch.setenv("FLORILEGE_NAMESPACE", "environment")
    monkeypatch.setenv("FLORILEGE_STORE", "/elsewhere")
    config = load_config(tmp_path)
    assert (config.namespace, config.store) == ("environment", "/elsewhere")
    monkeypatch.setenv("FLORILEGE_STORE", "postgresql://host/db")
    assert load_config(tmp_path).store == "postgresql://host/db"


WRONG = {
    "no TOML": ("[corpus", "cannot be read"),
    "unknown section": ("[recipe.x]\n", "did you mean 'recipes'"),
    "unknown key": ("[corpus]\nnamepsace = 'x'\n", "did you mean 'namespace'"),
    "a secret": ("[models.m]\nuse = 'openai'\nmodel = 'x'\napi_key = 'sk-1'\n", "did you mean 'api_key_env'"),
    "no table": ("[corpus]\nfields = 3\n", "must be a table"),
    "dense": ("[corpus]\ndense = 'big'\n", "is no embedder"),
    "unknown chunker": ("[chunker]\nuse = 'structred'\n", "did you mean 'structured'"),
    "chunker option": ("[chunker]\nuse = 'structured'\nmax_char = 3\n", "did you mean 'max_chars'"),
    "unknown recipe": ("[recipes.careful]\nsteps = []\n", "no recipe 'r'"),
    "recipe key": ("[recipes.r]\nstep = []\n", "did you mean 'steps'"),
    "unknown step": ("[recipes.r]\nsteps = [{ use = 'retreive' }]\n", "did you mean 'retrieve'"),
    "step without a name": ("[recipes.r]\nsteps = [{ limit = 3 }]\n", "no 'use'"),
    "step option": ("[recipes.r]\nsteps = [{ use = 'retrieve', limits = 3 }]\n", "did you mean 'limit'"),
    "missing option": (
        "[recipes.r]\nsteps = [{ use = 'retrieve' }, { use = 'rerank' }]\n",
        "[recipes.r.steps[1]]: the key 'engine' is missing",
    ),
    "wrong value": (
        "[recipes.r]\nsteps = [{ use = 'retrieve', limit = '3' }]\n",
        "[recipes.r.steps[0]]: limit: must be a whole number",
    ),
    "wrong filter": (
        "[recipes.r]\nsteps = ['retrieve', { use = 'filter_hits', where = 'year >' }]\n",
        "[recipes.r.steps[1]]: ",
    ),
    "unknown adapter": (
        "[models.m]\nuse = 'opnai'\nmodel = 'x'\n",
        "[models.m]: use = 'opnai' is not one of openai, anthropic; did you mean 'openai'",
    ),
    "unnamed model": ("[models.m]\nuse = 'openai'\n", "[models.m]: the key 'model' is missing"),
    "missing secret": (
        "[models.m]\nuse = 'openai'\nmodel = 'x'\napi_key_env = 'NOT_THERE_AT_ALL'\n",
        "[models.m]: model 'openai:x': the environment variable NOT_THERE_AT_ALL is not set",
    ),
    "unknown engine": (
        "[recipes.r]\nsteps = [{ use = 'retrieve' }, { use = 'rerank', engine = { use = 'lexicl' } }]\n",
        "did you mean 'lexical'",
    ),
    "source key": (
        "[recipes.r]\nretriever = { wieght = 1 }\nsteps = [{ use = 'retrieve' }]\n",
        "did you mean 'weight'",
    ),
    "unknown model": (
        "[recipes.r]\nmodel = 'locl'\nsteps = []\n[models.local]\nuse = 'openai'\n",
        "did you mean 'local'",
    ),
}


def use_all(folder: Path, text: str, corpus: Corpus) -> None:
    """Make whatever the file names."""
    config = load_config(written(folder, text))
    config.pipeline()
    if not config.recipes:
        for name in config.models:
            config.model(name)
    config.recipe("r", corpus)


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_named_with_the_way_out(name: str, tmp_path: Path, corpus: Corpus) -> None:
    text, message = WRONG[name]
    with pytest.raises(ConfigError) as caught:
        use_all(tmp_path, text, corpus)
    assert message in str(caught.value)
    assert str(caught.value).startswith("florilege.toml")
    assert str(caught.value).count("florilege.toml") == 1
    assert "sk-1" not in str(caught.value)


def test_a_recipe_in_a_wrong_order_is_refused_as_in_python(tmp_path: Path, corpus: Corpus) -> None:
    written(tmp_path, "[recipes.r]\nsteps = [{ use = 'dedupe' }, { use = 'retrieve' }]\n")
    with pytest.raises(RecipeError, match=r"florilege.toml \[recipes.r\]: recipe 'r' steps\[0\]"):
        load_config(tmp_path).recipe("r", corpus)


def test_a_name_alone_is_a_component_without_options(tmp_path: Path, corpus: Corpus) -> None:
    written(tmp_path, "[recipes.r]\nsteps = ['retrieve', { use = 'rerank', engine = 'lexical' }, 'dedupe']\n")
    recipe = load_config(tmp_path).recipe("r", corpus)
    assert [step.id for step in recipe.steps] == ["retrieve", "rerank", "dedupe"]
