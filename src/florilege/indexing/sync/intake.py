"""What a sync is given, as one stream: sources read ahead in a bounded window, each with its ledger row."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain

from florilege.interfaces.sources import Listing, Source
from florilege.interfaces.stores import DataStore, batches
from florilege.model.document import Document, Failed, Loaded
from florilege.model.errors import ConfigError
from florilege.model.ledger import SourceRecord

WINDOW = 32
"""Sources looked up and read ahead together."""

Given = Document | Loaded | Failed | Source


@dataclass(frozen=True, slots=True)
class Skipped:
    """A source handle that need not be read: its revision and reader are those of the ledger."""

    source_id: str


@dataclass(frozen=True, slots=True)
class Item:
    """One incoming source: what it turned out to be, and the ledger row it is held against."""

    found: Document | Failed | Skipped
    row: SourceRecord | None

    @property
    def source_id(self) -> str:
        """The source's id."""
        return self.found.source_id


class Intake:
    """Iterates a sync's input. User iterables advance only in the caller's thread; source handles are read ahead in
    a few threads, at most two windows at a time.

    ``skip(row, source)`` decides from the ledger whether a handle is read at all, and may answer with a Failed to
    carry an old failure forward. ``listing`` is the input when it can tell what it covered.
    """

    def __init__(
        self,
        documents: object,
        store: DataStore,
        namespace: str,
        skip: Callable[[SourceRecord | None, Source], bool | Failed],
        *,
        readers: int = 2,
    ) -> None:
        self.listing = documents if isinstance(documents, Listing) else None
        self._given = _given(documents)
        self._store = store
        self._namespace = namespace
        self._skip = skip
        self._readers = readers

    def __iter__(self) -> Iterator[Item]:
        pool = ThreadPoolExecutor(self._readers, thread_name_prefix="florilege-read")
        try:
            ahead: list[tuple[SourceRecord | None, Document | Failed | Skipped | Future[Loaded | Failed]]] = []
            for window in chain(batches(self._given, WINDOW), ([],)):
                begun = list(self._begin(pool, window))
                for row, found in ahead:
                    yield Item(_settled(found), row)
                ahead = begun
            for row, found in ahead:
                yield Item(_settled(found), row)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _begin(
        self, pool: ThreadPoolExecutor, window: list[Given]
    ) -> Iterator[tuple[SourceRecord | None, Document | Failed | Skipped | Future[Loaded | Failed]]]:
        rows: Mapping[str, SourceRecord] = {}
        if window:
            rows = self._store.get_sources(self._namespace, [_id(given) for given in window])
        for given in window:
            row = rows.get(_id(given))
            if isinstance(given, Loaded):
                yield row, given.document
            elif isinstance(given, (Document, Failed)):
                yield row, given
            else:
                skip = self._skip(row, given)
                if isinstance(skip, Failed):
                    yield row, skip
                elif skip:
                    yield row, Skipped(given.source_id)
                else:
                    yield row, pool.submit(given.read)


def _settled(found: Document | Failed | Skipped | Future[Loaded | Failed]) -> Document | Failed | Skipped:
    if isinstance(found, Future):
        result = found.result()
        return result.document if isinstance(result, Loaded) else result
    return found


def _id(given: Given) -> str:
    return given.source_id


def _given(documents: object) -> Iterator[Given]:
    if isinstance(documents, AsyncIterable):
        raise ConfigError("sync was given an async iterable; collect it first, or feed a synchronous generator")
    if isinstance(documents, (str, bytes)):
        raise ConfigError("sync takes documents, not a path; wrap the path in florilege.load(...)")
    if isinstance(documents, (Document, Loaded, Failed)):
        documents = [documents]
    if isinstance(documents, Listing):
        documents = documents.sources()
    if not isinstance(documents, Iterable):
        raise ConfigError(f"sync takes documents or load results, not a {type(documents).__name__}")
    for number, item in enumerate(documents):
        # Not isinstance(item, Source): that would look at ``reader``, which may open the file.
        if not isinstance(item, (Document, Loaded, Failed)) and not hasattr(item, "read"):
            raise ConfigError(f"sync: item {number} is a {type(item).__name__}, not a document or load result")
        yield item
