"""A project's configuration: ``florilege.toml``, or ``[tool.florilege]`` in ``pyproject.toml``.

    [corpus]
    namespace = "default"
    fields = { year = "int" }

    [chunker]
    use = "structured"
    max_chars = 900

    [embedders.large]
    use = "openai"
    model = "text-embedding-3-large"
    api_key_env = "OPENAI_API_KEY"

    [models.local]
    use = "openai"
    model = "qwen3"
    base_url = "http://localhost:8000/v1"
    api_key_env = "LOCAL_KEY"

    [recipes.careful]
    model = "local"
    steps = [
      { use = "fanout", max_queries = 3 },
      { use = "retrieve", limit = 30 },
      { use = "rerank", engine = { use = "lexical" }, top_k = 8 },
      { use = "compress_to_budget", tokens = 3500 },
    ]

A component is named by ``use``, its other keys are its options; where it has none, its name alone will do. Unknown
keys are errors. Secrets never stand here, only the names of the environment variables that hold them.
``FLORILEGE_STORE`` and ``FLORILEGE_NAMESPACE`` in the environment win over the file. ``dense`` in ``[corpus]`` is
"default", "none" or the name of a configured embedder.
"""

from __future__ import annotations

import difflib
import inspect
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from florilege.discovery import factory, names
from florilege.model.errors import ConfigError, RecipeError

if TYPE_CHECKING:
    from florilege.corpus import Corpus
    from florilege.indexing.pipeline import Pipeline
    from florilege.interfaces.embedding import Embedder
    from florilege.models import CheckedModel
    from florilege.retrieval import Recipe

Table = Mapping[str, Any]

_SECTIONS = ("corpus", "chunker", "embedders", "models", "recipes")
_CORPUS = ("store", "namespace", "dense", "fields")
_MODEL = ("use", "model", "base_url", "api_key_env", "timeout")
_RECIPE = ("retriever", "model", "steps", "on_source_error", "concurrency")
_SOURCE = (
    *("id", "mode", "weight", "timeout", "description", "filter", "limit", "threshold"),
    *("dedupe", "diversify"),
)
_MODELS = ("openai", "anthropic")
_CHUNKERS = ("structured", "text", "parent_child", "semantic", "pages")
_EMBEDDERS = ("minilm", "openai", "cohere", "sentence_transformers", "fastembed", "model2vec")
_STEPS = (
    "boost",
    "compress_to_budget",
    "dedupe",
    "diversify",
    "expand_parents",
    "expand_window",
    "fanout",
    "filter_hits",
    "rerank",
    "retrieve",
    "rewrite_query",
    "route",
)
_ENGINES = ("lexical", "judge", "native", "cross_encoder", "onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What the file says, checked by name; components are made when they are asked for."""

    path: Path | None = None
    store: str | None = None
    namespace: str = "default"
    dense: str | None = "default"
    fields: Table = field(default_factory=dict)
    chunker: Table | None = None
    embedders: Mapping[str, Table] = field(default_factory=dict)
    models: Mapping[str, Table] = field(default_factory=dict)
    recipes: Mapping[str, Table] = field(default_factory=dict)

    def pipeline(self) -> Pipeline | None:
        """The pipeline with the configured chunker; None when none is configured."""
        if self.chunker is None:
            return None
        from florilege import chunkers
        from florilege.indexing.pipeline import Pipeline

        return Pipeline(chunker=self._made(self.chunker, "chunker", _CHUNKERS, lambda name: getattr(chunkers, name)))

    def embedder(self, name: str) -> Embedder:
        """The embedder of ``[embedders.NAME]``; "default" is the one that comes with the package."""
        from florilege import embed
        from florilege.embed import adapters

        if name == "default":
            return embed.minilm()
        if name not in self.embedders:
            raise ConfigError(f"{self._where('embedders')}: there is no embedder {name!r}{_near(name, self.embedders)}")
        where = f"embedders.{name}"
        options = dict(self.embedders[name])
        if "api_key" in options:
            raise ConfigError(f"{self._where(where)} api_key: name an environment variable with api_key_env instead")
        variable = options.pop("api_key_env", None)
        if variable is not None:
            options["api_key"] = _secret(str(variable), self._where(where))
        made: Embedder = self._made(
            options,
            where,
            _EMBEDDERS,
            lambda use: embed.minilm if use == "minilm" else getattr(adapters, use),
            "florilege.embedders",
        )
        return made

    def model(self, name: str) -> CheckedModel:
        """The model of ``[models.NAME]``, or the one that ``ADAPTER:NAME`` names."""
        from florilege.models import named_model

        if ":" in name:
            return named_model(name)
        if name not in self.models:
            raise ConfigError(f"{self._where('models')}: there is no model {name!r}{_near(name, self.models)}")
        where = f"models.{name}"
        options = dict(self.models[name])
        _check_keys(options, _MODEL, self._where(where))
        adapter = self._use(options, where, _MODELS, "florilege.models")
        with self._at(where):
            return named_model(f"{adapter}:{_required(options, 'model')}", **options)

    def recipe(self, name: str, corpus: Corpus) -> Recipe:
        """The recipe of ``[recipes.NAME]`` over ``corpus``."""
        from florilege.retrieval import Recipe

        if name not in self.recipes:
            raise ConfigError(f"{self._where('recipes')}: there is no recipe {name!r}{_near(name, self.recipes)}")
        where = f"recipes.{name}"
        options = dict(self.recipes[name])
        _check_keys(options, _RECIPE, self._where(where))
        steps, sources = options.pop("steps", []), options.pop("retriever", {})
        listed = sources if isinstance(sources, list) else [sources]
        if options.get("model") is not None:
            options["model"] = self.model(options["model"])
        made = [self._source(item, f"{where}.retriever[{n}]", corpus) for n, item in enumerate(listed)]
        built = [self._step(item, f"{where}.steps[{n}]") for n, item in enumerate(steps)]
        with self._at(where):
            return Recipe(id=name, retriever=made, steps=built, **options)

    def _source(self, given: Any, where: str, corpus: Corpus) -> dict[str, Any]:
        options = dict(_table(given, self._where(where)))
        _check_keys(options, _SOURCE, self._where(where))
        outer: dict[str, Any] = {
            name: options.pop(name) for name in ("weight", "timeout", "description") if name in options
        }
        with self._at(where):
            if isinstance(options.get("filter"), str):
                options["filter"] = _filter(options["filter"])
            return {"retriever": corpus.retriever(**options), **outer}

    def _step(self, given: Any, where: str) -> Any:
        from florilege import retrieval
        from florilege.retrieval import rerankers

        options = self._component(given, where)
        if "engine" in options:
            engine = self._component(options["engine"], f"{where}.engine")
            if engine.get("use") == "judge" and "model" in engine:
                engine["model"] = self.model(engine["model"])
            options["engine"] = self._made(
                engine, f"{where}.engine", _ENGINES, lambda name: getattr(rerankers, name), "florilege.rerankers"
            )
        elif "model" in options:
            options["model"] = self.model(options["model"])
        if isinstance(options.get("where"), str):
            with self._at(where):
                options["where"] = _filter(options["where"])
        return self._made(options, where, _STEPS, lambda name: getattr(retrieval, name), "florilege.steps")

    def _made(
        self,
        given: Table,
        where: str,
        shipped: Iterable[str],
        find: Callable[[str], Callable[..., Any]],
        group: str | None = None,
    ) -> Any:
        """The component a table names, made with its other keys: a shipped one, or one installed under ``group``."""
        options = dict(given)
        name = self._use(options, where, shipped, group)
        make = find(name) if name in shipped or group is None else factory(group, name)
        parameters = inspect.signature(make).parameters
        _check_keys(options, list(parameters), self._where(where))
        with self._at(where):
            for item in parameters.values():
                if item.default is item.empty and item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY):
                    options[item.name] = _required(options, item.name)
            return make(**options)

    def _use(self, options: dict[str, Any], where: str, shipped: Iterable[str], group: str | None) -> str:
        """What ``use`` names, taken out of ``options``: one of ``shipped``, or of what is installed under ``group``."""
        name = options.pop("use", None)
        known = [*shipped, *(names(group) if group is not None and name not in shipped else ())]
        if not isinstance(name, str) or name not in known:
            told = f"use = {name!r} is not one of {', '.join(known)}" if name is not None else "it has no 'use'"
            raise ConfigError(f"{self._where(where)}: {told}{_near(str(name), known)}")
        return name

    def _component(self, given: Any, where: str) -> dict[str, Any]:
        """The table of a component; a text alone is its ``use``."""
        return {"use": given} if isinstance(given, str) else dict(_table(given, self._where(where)))

    @contextmanager
    def _at(self, place: str) -> Iterator[None]:
        """Errors of what is made in here begin with the file and the place in it."""
        where = self._where(place)
        try:
            yield
        except TypeError as error:
            raise ConfigError(f"{where}: {error}") from None
        except (ConfigError, RecipeError) as error:
            error.message = f"{where}: {error.message}"
            error.args = (error.message,)
            raise

    def _where(self, place: str) -> str:
        return f"{self.path.name if self.path else 'florilege.toml'} [{place}]"


def load_config(root: str | os.PathLike[str]) -> Config:
    """The configuration of the project at ``root``; the defaults where it has none.

    Raises ConfigError for a file that is no TOML, unknown keys (with the nearest known one) and wrong kinds.
    """
    path, data = _read(Path(root))
    where = path.name if path else "florilege.toml"
    _check_keys(data, _SECTIONS, where)
    corpus = _table(data.get("corpus", {}), f"{where} [corpus]")
    _check_keys(corpus, _CORPUS, f"{where} [corpus]")
    dense = corpus.get("dense", "default")
    named = ("embedders", "models", "recipes")
    sections = {name: _table(data.get(name, {}), f"{where} [{name}]") for name in named}
    known = ("default", "none", *sections["embedders"])
    if dense not in known:
        raise ConfigError(f"{where} [corpus] dense: {dense!r} is no embedder{_near(str(dense), known)}")
    for section, tables in sections.items():
        for name, table in tables.items():
            _table(table, f"{where} [{section}.{name}]")
    store = os.environ.get("FLORILEGE_STORE") or corpus.get("store")
    return Config(
        path=path,
        store=store if store is None or "://" in store else os.path.join(root, store),
        namespace=os.environ.get("FLORILEGE_NAMESPACE") or corpus.get("namespace", "default"),
        dense=None if dense == "none" else dense,
        fields=_table(corpus.get("fields", {}), f"{where} [corpus] fields"),
        chunker=None if "chunker" not in data else _table(data["chunker"], f"{where} [chunker]"),
        embedders=sections["embedders"],
        models=sections["models"],
        recipes=sections["recipes"],
    )


def _read(root: Path) -> tuple[Path | None, Table]:
    own, shared = root / "florilege.toml", root / "pyproject.toml"
    for path in (own, shared):
        if not path.is_file():
            continue
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path.name} cannot be read: {error}") from None
        if path == own:
            return path, data
        if "florilege" in data.get("tool", {}):
            return path, _table(data["tool"]["florilege"], f"{path.name} [tool.florilege]")
    return None, {}


def _table(value: Any, where: str) -> Table:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: must be a table, not a {type(value).__name__}")
    return value


def _check_keys(given: Table, known: Iterable[str], where: str) -> None:
    for name in given:
        if name not in known:
            raise ConfigError(f"{where}: there is no key {name!r}{_near(name, known)}", code="unknown_key")


def _required(given: dict[str, Any], name: str) -> Any:
    """``given``'s ``name``, taken out."""
    if name not in given:
        raise ConfigError(f"the key {name!r} is missing", code="missing_key")
    return given.pop(name)


def _secret(variable: str, where: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise ConfigError(f"{where} api_key_env: the environment has no {variable}", code="missing_secret")
    return value


def _near(name: str, known: Iterable[str]) -> str:
    """The nearest known name as a suggestion, or what there is."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(names)}" if names else ""


def _filter(text: str) -> Any:
    from florilege.filters import parse_filter_text

    return parse_filter_text(text)
