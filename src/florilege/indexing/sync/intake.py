"""What a sync is given, as one stream: sources read ahead in a bounded window, each with its ledger row."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import cast

from florilege.concurrency import pulled
from florilege.indexing.prepare import storable_id
from florilege.interfaces.paging import batches
from florilege.interfaces.sources import Conditional, Container, Listing, Source
from florilege.interfaces.stores import DataStore
from florilege.model.document import Document, Failed, Loaded
from florilege.model.errors import ConfigError
from florilege.model.ledger import SourceRecord

WINDOW = 32
"""Sources looked up and read ahead together."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A source handle that need not be read: its revision and reader are those of the ledger."""

    source_id: str


Given = Document | Loaded | Failed | Skipped | Source


@dataclass(frozen=True, slots=True)
class _Known:
    """A source as the ledger has it, for what lies in a container that has not changed."""

    source_id: str
    revision: str | None
    reader: str

    def read(self) -> Loaded | Failed:
        raise AssertionError(self.source_id)


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
            ahead: list[tuple[SourceRecord | None, Document | Failed | Skipped | Future[Loaded | Failed | None]]] = []
            for window in chain(batches(self._expanded(), WINDOW), ([],)):
                begun = list(self._begin(pool, window))
                for row, found in ahead:
                    yield Item(_settled(found, row), row)
                ahead = begun
            for row, found in ahead:
                yield Item(_settled(found, row), row)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _begin(
        self, pool: ThreadPoolExecutor, window: list[Given]
    ) -> Iterator[tuple[SourceRecord | None, Document | Failed | Skipped | Future[Loaded | Failed | None]]]:
        rows: Mapping[str, SourceRecord] = {}
        if window:
            rows = self._store.get_sources(self._namespace, [_id(given) for given in window])
        for given in window:
            row = rows.get(_id(given))
            if isinstance(given, Loaded):
                yield row, given.document
            elif isinstance(given, (Document, Failed, Skipped)):
                yield row, given
            else:
                skip = self._skip(row, given)
                if isinstance(skip, Failed):
                    yield row, skip
                elif skip:
                    yield row, Skipped(given.source_id)
                elif row is not None and isinstance(given, Conditional) and self._is_kept(row):
                    yield row, pool.submit(given.read_since, row.revision or "", row.reader or "")
                else:
                    yield row, pool.submit(given.read)

    def _expanded(self, given: Iterable[Given] | None = None) -> Iterator[Given]:
        """What is given, each container followed by what lies in it."""
        for item in self._given if given is None else given:
            yield item
            if isinstance(item, (Document, Loaded, Failed, Skipped)):
                continue  # the usual ones; asking for a protocol takes its time
            if isinstance(item, Container) and item.is_container:
                kept = self._kept(cast(Source, item))
                yield from self._expanded(item.children()) if kept is None else kept

    def _kept(self, container: Source) -> list[Skipped | Failed] | None:
        """What lies in a container that need not be looked into: it is as the ledger has it, everything in it is in
        the ledger too, and nothing has to be read for another reason. None when it has to be."""
        top = self._store.get_sources(self._namespace, [container.source_id]).get(container.source_id)
        skip = self._skip(top, container)
        if top is None or skip is False:
            return None
        if isinstance(skip, Failed):
            return []
        kept: list[Skipped | Failed] = []
        counted = {top.source_id: top.metadata.get("children", 0)}
        found: Counter[str] = Counter()
        for row in takewhile(lambda row: row.source_id.startswith(f"{top.source_id}#"), self._rows_from(top.source_id)):
            skip = self._skip(row, _Known(row.source_id, row.revision, row.reader or ""))
            if skip is False:
                return None
            kept.append(skip if isinstance(skip, Failed) else Skipped(row.source_id))
            counted[row.source_id] = row.metadata.get("children", 0)
            found[row.source_id.rpartition("#")[0]] += 1
        return kept if all(found[source_id] == count for source_id, count in counted.items()) else None

    def _is_kept(self, row: SourceRecord) -> bool:
        """Whether a source would be left as it is if its bytes and their reader were still the ledger's."""
        return self._skip(row, _Known(row.source_id, row.revision, row.reader or "")) is True

    def _rows_from(self, source_id: str) -> Iterator[SourceRecord]:
        """The ledger rows whose ids begin with ``source_id`` and ``#``, and those behind them."""
        cursor: str | None = f"{source_id}#"
        while cursor is not None:
            rows, cursor = self._store.list_sources(self._namespace, limit=500, cursor=cursor)
            yield from rows


def _settled(
    found: Document | Failed | Skipped | Future[Loaded | Failed | None], row: SourceRecord | None
) -> Document | Failed | Skipped:
    if not isinstance(found, Future):
        return found
    result = found.result()
    if result is None:
        assert row is not None
        return Skipped(row.source_id)
    return result.document if isinstance(result, Loaded) else result


def _id(given: Given) -> str:
    return given.source_id


def _given(documents: object) -> Iterator[Given]:
    if isinstance(documents, AsyncIterable):
        documents = pulled(documents)
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
        if storable_id(item.source_id):
            yield item
        else:
            shown = repr(item.source_id)[:200]
            message = f"item {number}: its source id is no text a store can keep (empty, NUL or half a character)"
            yield Failed(shown, "bad_source_id", message)
