"""Opening a corpus by name: the store, the embedder and the pipeline put together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from florilege.corpus import Corpus
from florilege.indexing.indexer import Indexer
from florilege.indexing.pipeline import Pipeline
from florilege.interfaces.embedding import Embedder, SparseEmbedder
from florilege.model.errors import ConfigError
from florilege.model.events import Subscriber


def open(
    path: str | os.PathLike[str],
    namespace: str = "default",
    *,
    id: str = "corpus",
    dense: Embedder | Literal["default"] | None = "default",
    sparse: SparseEmbedder | None = None,
    cache: bool = False,
    pipeline: Pipeline | None = None,
    fields: Mapping[str, Any] | None = None,
    keep_content: bool = True,
    create: bool = True,
    read_only: bool = False,
    volatile_metadata: Sequence[str] = (),
    on_event: Subscriber | None = None,
) -> Corpus:
    """Open the corpus in the store folder at ``path``, making it when it is not there (unless ``create=False``).

    ``dense`` "default" is the embedder that comes with the package, loaded at first use; None indexes words only.
    ``sparse`` makes sparse vectors beside it (``florilege.embed.bm25_weights()``, or a learned model).
    ``cache=True`` keeps what transforms and the chunker made.
    ``pipeline`` defaults to the structured chunker, page chunkers that are installed asked first.
    ``fields`` declares metadata fields that are filtered often (``{"year": int}``).
    Use the corpus as a context manager, or close it.

    Raises NotFound when the store is missing and ``create`` is False, Corrupt or ConfigError for a file that is not
    a store this version can read.
    """
    from florilege.stores import open_store

    embedder: Embedder | None
    if dense == "default":
        from florilege.embed import minilm

        embedder = minilm()
    elif isinstance(dense, str):
        raise ConfigError(f'open dense: {dense!r} is not "default", None or an embedder')
    else:
        embedder = dense
    store = open_store(path, create=create, read_only=read_only, fields=fields)
    try:
        indexer = Indexer(
            id=id,
            namespace=namespace,
            data=store,
            dense=embedder,
            sparse=sparse,
            cache=cache,
            pipeline=pipeline,
            keep_content=keep_content,
            on_event=on_event,
        )
        return Corpus(
            id=id,
            data=store,
            indexer=indexer,
            volatile_metadata=volatile_metadata,
            on_event=on_event,
            owns_store=True,
        )
    except BaseException:
        store.close()
        raise
