"""Models that other libraries run in this process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from florilege.embed.adapters.client import Answer, ClientEmbedder
from florilege.interfaces.embedding import Task
from florilege.model.errors import ConfigError
from florilege.vendors import library

Path = str | os.PathLike[str]


def sentence_transformers(
    model: Any,
    *,
    name: str | None = None,
    version: str = "1",
    device: str | None = None,
    prompts: Mapping[Task, str] | None = None,
    max_batch: int = 32,
    scripts: Iterable[str] | None = None,
    languages: Iterable[str] | None = None,
) -> ClientEmbedder:
    """An embedder over a ``SentenceTransformer``, or the one of this name or in this folder.

    ``prompts`` are put before texts by task; by default they are the model's own for "document" (or "passage") and
    "query". Input beyond the model's ``max_seq_length`` is windowed by its tokenizer. Needs
    ``florilege[sentence-transformers]``, which brings PyTorch.
    """
    if isinstance(model, (str, os.PathLike)):
        name = name or os.path.basename(os.fspath(model))
        model = library("sentence_transformers", "sentence-transformers").SentenceTransformer(
            os.fspath(model), device=device
        )
    if not name:
        raise ConfigError("sentence_transformers: give name=, the identity of the model's vectors", code="bad_embedder")
    own = dict(getattr(model, "prompts", None) or {})
    wanted: dict[Task, str] = {
        "document": own.get("document") or own.get("passage") or "",
        "query": own.get("query") or "",
        **(prompts or {}),
    }

    def call(texts: list[str], task: Task) -> Answer:
        # The empty prompt keeps the model from putting its default one before ours.
        return Answer(model.encode(texts, prompt="", batch_size=max_batch, show_progress_bar=False))

    return ClientEmbedder(
        call,
        name=name,
        dimensions=_dimensions(model),
        version=version,
        max_batch=max_batch,
        max_input_tokens=getattr(model, "max_seq_length", None),
        reserved_tokens=_special(model.tokenizer),
        counter=model.tokenizer,
        prompts=wanted,
        scripts=scripts,
        languages=languages,
    )


def fastembed(
    model: Any,
    *,
    name: str | None = None,
    version: str = "1",
    max_input_tokens: int = 512,
    max_batch: int = 32,
    scripts: Iterable[str] | None = None,
    languages: Iterable[str] | None = None,
    **options: Any,
) -> ClientEmbedder:
    """An embedder over a ``fastembed.TextEmbedding``, or the one of this name (``options`` are its own: ``cache_dir``,
    ``threads``, ``specific_model_path``).

    Queries go through ``query_embed``, documents through ``passage_embed``. Input beyond ``max_input_tokens`` is
    windowed by the model's tokenizer. Needs ``florilege[fastembed]``.
    """
    if isinstance(model, str):
        name = name or model
        model = library("fastembed", "fastembed").TextEmbedding(model, **options)
    if not name:
        raise ConfigError("fastembed: give name=, the identity of the model's vectors", code="bad_embedder")

    def call(texts: list[str], task: Task) -> Answer:
        embed = model.query_embed if task == "query" else model.passage_embed
        return Answer(list(embed(texts)))

    tokenizer = getattr(model.model, "tokenizer", None)
    return ClientEmbedder(
        call,
        name=name,
        dimensions=int(model.embedding_size),
        version=version,
        max_batch=max_batch,
        max_input_tokens=max_input_tokens,
        reserved_tokens=2,
        counter=tokenizer,
        scripts=scripts,
        languages=languages,
    )


def model2vec(
    model: Any,
    *,
    name: str | None = None,
    version: str = "1",
    max_batch: int = 1024,
    scripts: Iterable[str] | None = None,
    languages: Iterable[str] | None = None,
) -> ClientEmbedder:
    """An embedder over a ``model2vec.StaticModel``, or the one of this name or in this folder.

    A static model averages token vectors, so input of any length is read whole. A text that holds none of its tokens
    has no vector and fails. Needs ``florilege[model2vec]``.
    """
    if isinstance(model, (str, os.PathLike)):
        name = name or os.path.basename(os.fspath(model))
        model = library("model2vec", "model2vec").StaticModel.from_pretrained(os.fspath(model))
    if not name:
        raise ConfigError("model2vec: give name=, the identity of the model's vectors", code="bad_embedder")

    def call(texts: list[str], task: Task) -> Answer:
        return Answer(model.encode(texts, max_length=None, show_progress_bar=False))

    return ClientEmbedder(
        call,
        name=name,
        dimensions=int(model.dim),
        version=version,
        max_batch=max_batch,
        counter=model.tokenizer,
        scripts=scripts,
        languages=languages,
    )


def _dimensions(model: Any) -> int:
    ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    return int(ask())


def _special(tokenizer: Any) -> int:
    count = getattr(tokenizer, "num_special_tokens_to_add", None)
    return 0 if count is None else int(count())
