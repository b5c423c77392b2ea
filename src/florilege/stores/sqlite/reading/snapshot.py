"""A namespace at one sequence number."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import SearchRequest, SearchResult
from florilege.model.chunk import Chunk, ParentChunk
from florilege.model.document import Document
from florilege.model.errors import ConfigError, NotFound
from florilege.model.filters import Filter
from florilege.stores.fields import Fields
from florilege.stores.sqlite.database.connection import Database
from florilege.stores.sqlite.maintenance import analyzer_version
from florilege.stores.sqlite.reading.records import Generation, Records
from florilege.stores.sqlite.writing.vocabulary import lookup
from florilege.stores.terms import TextAnalyzer

if TYPE_CHECKING:
    from florilege.stores.resident.searching.search import Search


class Pinned(NamedTuple):
    """What a snapshot needs of its store. ``search`` gives the arrays' side, loaded when first asked."""

    database: Database
    analyzer: Callable[[], TextAnalyzer]
    search: Callable[[], Search]
    fields: Fields


class SQLiteSnapshot:
    """See :class:`florilege.interfaces.stores.Snapshot`."""

    def __init__(self, store: Pinned, namespace: str, key: int | None, seq: int, floor: Filter | None) -> None:
        self.seq = seq
        self.namespace = namespace
        self._store = store
        self._key = key
        self._floor = floor
        self._records = Records(namespace, key, seq, floor, store.fields)

    # -- searching ------------------------------------------------------------------------------------------------

    def search(self, request: SearchRequest) -> SearchResult:
        """Search the visible rows. ConfigError for a query vector without its space, or one that does not fit it."""
        for vector, space in ((request.vector, request.space), (request.sparse, request.sparse_space)):
            if vector is not None and space is None:
                raise ConfigError("a vector needs its embedding space named", code="no_space")
        if self._key is None or request.depth < 1:
            return SearchResult(legs={leg: [] for leg in _asked(request)})
        return self._store.search().run(self._key, self.seq, self._floor, request, self._terms, self._named)

    def _terms(self, text: str) -> tuple[list[int], dict[str, Any]]:
        """The numbers of a query's known terms, by the terms' text, and what to tell of it."""
        analyzer = self._store.analyzer()
        terms = sorted(set(analyzer.query_terms(text)))
        with self._store.database.read() as connection:
            numbers = lookup(connection, terms)
            stale = analyzer_version(connection) not in (None, analyzer.version)
        facts: dict[str, Any] = {"terms": terms, "known_terms": sorted(numbers)}
        if stale:
            facts["stale_lexemes"] = True
        return [numbers[term] for term in terms if term in numbers], facts

    def _named(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Source id and chunk id of rows."""
        with self._store.database.view() as connection:
            found = connection.execute(
                "SELECT r.pk, s.source_id, r.chunk_id FROM json_each(?) j CROSS JOIN row r ON r.pk = j.value"
                " CROSS JOIN source s ON s.pk = r.source",
                (str(list(rows)),),
            ).fetchall()
            if len(found) < len(set(rows)):
                self._missing(connection, "rows this search found")
        return {pk: (source_id, chunk_id) for pk, source_id, chunk_id in found}

    # -- reading --------------------------------------------------------------------------------------------------

    def hydrate(self, rows: Sequence[int]) -> list[Chunk]:
        """The chunks behind rows of this snapshot, in the order asked, in one query.

        NotFound for a row that is not visible here; its code is ``collected`` when it was once.
        """
        with self._store.database.view() as connection:
            chunks = self._records.chunks_by_row(connection, rows)
            if any(row not in chunks for row in rows):
                self._missing(connection, "rows asked for")
        return [chunks[row] for row in rows]

    def titles(self, source_ids: Sequence[str]) -> dict[str, str | None]:
        """The titles of visible sources: with a floor, of those of whose chunks some pass it."""
        titles: dict[str, str | None] = {}
        with self._reading() as connection:
            for source_id in dict.fromkeys(source_ids):
                generation = self._records.generation(connection, source_id)
                if generation is not None and any(self._records.passing(connection, source_id, generation)):
                    titles[source_id] = generation.title
        return titles

    def chunks(self, source_id: str, *, generation: int | None = None, vectors: bool = False) -> list[Chunk]:
        """A source's visible chunks by ordinal; empty for an unknown one.

        ``generation``: those of an earlier generation (its last revision) that is still kept, else NotFound (code
        ``collected``).
        """
        with self._reading() as connection:
            found = self._records.generation(connection, source_id, generation)
            chunks = {} if found is None else self._records.chunks(connection, found)
            if vectors:
                chunks = self._records.with_vectors(connection, chunks)
        return list(chunks.values())

    def vector_keys(self, source_id: str, space: EmbeddingSpace) -> dict[str, bytes]:
        """By chunk id, the keys of the vectors a source's visible chunks have, or wait for, in this space."""
        with self._reading() as connection:
            found = self._records.generation(connection, source_id)
            return {} if found is None else self._records.vector_keys(connection, found, space.identity)

    def source_parents(self, source_id: str, *, generation: int | None = None) -> list[ParentChunk]:
        """A source's visible parents by ordinal; ``generation`` as in :meth:`chunks`."""
        with self._reading() as connection:
            found = self._records.generation(connection, source_id, generation)
            return [] if found is None else self._records.parents(connection, found)

    def parents(self, keys: Sequence[str]) -> dict[str, ParentChunk]:
        """Visible parents by :attr:`ParentChunk.key`."""
        with self._reading() as connection:
            return self._records.parents_by_key(connection, keys)

    def document(self, source_id: str, *, generation: int | None = None) -> Document:
        """The stored document. With a floor it is visible only when every one of its chunks passes it.

        NotFound for a source that is not visible, with code ``content_not_kept`` when its content was not kept;
        ``generation`` as in :meth:`chunks`.
        """
        with self._reading() as connection:
            found = self._records.generation(connection, source_id, generation)
            if found is None or not self._whole(connection, source_id, found):
                raise NotFound(f"there is no source {source_id!r} in namespace {self.namespace!r}", source_id=source_id)
            document = self._records.document(connection, source_id, found)
        if document is None:
            raise NotFound(
                f"the content of {source_id!r} was not kept; index it with content kept",
                code="content_not_kept",
                source_id=source_id,
            )
        return document

    def _whole(self, connection: sqlite3.Connection, source_id: str, generation: Generation) -> bool:
        return all(self._records.passing(connection, source_id, generation))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._store.database.view() as connection:
            self._check_horizon(connection)
            yield connection

    def _check_horizon(self, connection: sqlite3.Connection) -> None:
        found = connection.execute("SELECT value FROM meta WHERE key = 'horizon'").fetchone()
        if found is not None and self.seq < found[0]:
            raise NotFound(
                f"what namespace {self.namespace!r} held at change {self.seq} has been collected", code="collected"
            )

    def _missing(self, connection: sqlite3.Connection, what: str) -> None:
        self._check_horizon(connection)
        raise NotFound(f"{what} are not visible in namespace {self.namespace!r} at change {self.seq}")


def _asked(request: SearchRequest) -> list[str]:
    given = {"lexical": request.text, "dense": request.vector, "sparse": request.sparse}
    return [leg for leg, value in given.items() if value is not None]
