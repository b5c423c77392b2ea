"""A context: items kept in a corpus of their own."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self

from florilege.chunkers.items import ChunkerOperation, default_chunker
from florilege.concurrency import pulled, resolve
from florilege.contexts.chunking import NoStorage, OperationChunker, Utils, document_of
from florilege.contexts.fields import Field, Schema
from florilege.corpus import Corpus
from florilege.indexing.indexer import Indexer
from florilege.indexing.pipeline import Pipeline
from florilege.ingest import Storage
from florilege.interfaces.embedding import Embedder
from florilege.interfaces.stores import DataStore
from florilege.model.document import Document, Failed
from florilege.model.errors import ConfigError
from florilege.model.events import Subscriber
from florilege.model.filters import Filter
from florilege.model.hit import Hit, Query
from florilege.model.ledger import SyncResult

UNKNOWN_BUDGET = 512
"""Tokens a chunk may have when the embedder does not say how many it takes."""

Item = Mapping[str, Any]
Items = Iterable[Item] | AsyncIterable[Item]
ItemSource = Items | Callable[[], Items | Awaitable[Items]]


class Context:
    """Items with declared fields, cut by an operation, embedded and searched.

    ``embedder`` is "default", None (words only), an embedder, or a mapping ``{"model": name, ...}``: "minilm", a name
    installed under ``florilege.embedders``, or one of OpenAI's. ``chunker`` is given each item, the embedder's budget
    in tokens and ``utils``, whose ``storage.read(key)`` reads below ``storage`` (a :class:`florilege.ingest.Storage`,
    or the root of one); raise ``chunker_version`` when it cuts differently. ``fields`` are :class:`Field` or mappings.
    ``sources`` are iterables of items, or callables that give one, sync or async; :meth:`sync` pulls them.

    The items live in the namespace ``id`` of the store ``data``: a path, by default ``.florilege`` in the project
    folder, or a store of yours, which stays open. Use it as a context manager, or close it.
    """

    def __init__(
        self,
        *,
        id: str,
        embedder: Embedder | Mapping[str, Any] | Literal["default"] | None = "default",
        chunker: ChunkerOperation = default_chunker,
        fields: Sequence[Field | Mapping[str, Any]] = (),
        sources: Sequence[ItemSource] = (),
        storage: Storage | str | os.PathLike[str] | None = None,
        data: DataStore | str | os.PathLike[str] | None = None,
        chunker_version: str = "1",
        on_event: Subscriber | None = None,
    ) -> None:
        if not callable(chunker):
            raise ConfigError(f"Context chunker: a {type(chunker).__name__} cannot be called")
        self.id = id
        self.schema = Schema.of(fields)
        self.sources = tuple(sources)
        self.embedder = _embedder(embedder)
        self.storage = storage if isinstance(storage, Storage) or storage is None else Storage(storage)
        budget = getattr(self.embedder, "max_input_tokens", None) or UNKNOWN_BUDGET
        self._chunker = OperationChunker(chunker, budget, Utils(self.storage or NoStorage()), chunker_version)
        self._data = data
        self._on_event = on_event
        self._corpus: Corpus | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the corpus, and the store unless it was given."""
        if self._corpus is not None:
            self._corpus.close()
            self._corpus = None

    @property
    def corpus(self) -> Corpus:
        """The corpus the items are kept in, opened when it is first used."""
        if self._corpus is None:
            self._corpus = self._opened()
        return self._corpus

    def upsert_items(self, items: Iterable[Item], **options: Any) -> SyncResult:
        """Add items, or replace those of the same id; ``options`` as in :meth:`florilege.Corpus.sync`.

        Raises :class:`ConfigError` (``bad_item``) naming the item and the field, before anything is done.
        """
        checked = [self.schema.item(item) for item in items]
        return self.corpus.sync([document_of(item, self.id) for item in checked], **options)

    def delete_items(self, ids: str | Iterable[str]) -> int:
        """Delete items; how many there were."""
        wanted = [ids] if isinstance(ids, str) else list(ids)
        rows = self.corpus.data.get_sources(self.id, wanted)
        present = [source_id for source_id in wanted if source_id in rows and rows[source_id].status != "deleted"]
        for source_id in present:
            self.corpus.delete_source(source_id)
        return len(present)

    def sync(self, **options: Any) -> SyncResult:
        """Pull every item of the ``sources``; ``options`` as in :meth:`florilege.Corpus.sync`.

        An item that does not fit the schema is one failed source. With ``source_set="complete"`` items that no source
        has any more are stale, those that were only upserted among them.
        """
        return self.corpus.sync(self._pulled(), **options)

    def retrieve(
        self, query: str | Query, *, limit: int | None = None, filter: Filter | Mapping[str, Any] | None = None
    ) -> list[Hit]:
        """The best chunks; the fields are metadata to filter by, and ``hit.source_id`` is the item's id."""
        return self.corpus.retrieve(query, limit=limit, filter=filter)

    def _pulled(self) -> Iterator[Document | Failed]:
        for source in self.sources:
            for item in _items(source):
                try:
                    yield document_of(self.schema.item(item), self.id)
                except ConfigError as error:
                    identity = item.get("id") if isinstance(item, Mapping) else None
                    if not isinstance(identity, str) or not identity.strip():
                        raise
                    yield Failed(identity, error.code, error.message)

    def _opened(self) -> Corpus:
        from florilege.ingest.paths import project_root
        from florilege.opening import open as open_corpus

        pipeline = Pipeline(chunker=self._chunker)
        options: dict[str, Any] = {"id": self.id, "on_event": self._on_event}
        if self._data is None or isinstance(self._data, (str, os.PathLike)):
            path = self._data or os.path.join(project_root(), ".florilege")
            return open_corpus(path, self.id, dense=self.embedder, pipeline=pipeline, **options)
        indexer = Indexer(namespace=self.id, data=self._data, dense=self.embedder, pipeline=pipeline, **options)
        return Corpus(data=self._data, indexer=indexer, **options)


def _items(source: ItemSource) -> Iterable[Item]:
    given: Any = resolve(source()) if callable(source) else source
    if isinstance(given, AsyncIterable):
        return pulled(given)
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, Mapping)):
        raise ConfigError(f"Context sources: a {type(given).__name__} is no iterable of items")
    return given


def _embedder(given: Any) -> Embedder | None:
    from florilege import embed
    from florilege.discovery import factory, names

    if given is None or isinstance(given, Embedder):
        return given
    options = {"model": "minilm"} if given == "default" else given
    if not isinstance(options, Mapping) or not isinstance(options.get("model"), str):
        raise ConfigError(f'Context embedder: {given!r} is not "default", None, an embedder or {{"model": name}}')
    more: dict[str, Any] = {str(key): value for key, value in options.items() if key != "model"}
    model = options["model"]
    if model == "minilm":
        return embed.minilm()
    if model in names("florilege.embedders"):
        made: Embedder = factory("florilege.embedders", model)(**more)
        return made
    return embed.openai(model, **more)
