"""A namespace at one sequence number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.interfaces.stores import SearchRequest, SearchResult
from florilege.model.chunk import Chunk, ParentChunk
from florilege.model.document import Document
from florilege.model.errors import ConfigError, NotFound
from florilege.model.filters import Filter
from florilege.stores.fields import Fields
from florilege.stores.postgres.reading.records import Records
from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.writing.words import TermKeys
from florilege.stores.terms import TextAnalyzer

_T = TypeVar("_T")


class Pinned(NamedTuple):
    """What a snapshot needs of its store."""

    database: Database
    analyzer: Callable[[], TextAnalyzer]
    keys: Callable[[int], TermKeys]
    fields: Fields


class PostgresSnapshot:
    """See :class:`florilege.interfaces.stores.Snapshot`. Each verb reads from one moment of the database."""

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
        from florilege.stores.postgres.reading.search import Search

        search = Search(self._key, self.seq, self._store.keys(self._key), self._store.fields, self._store.analyzer())
        return self._read(lambda connection: search.run(connection, self._floor, request))

    # -- reading --------------------------------------------------------------------------------------------------

    def hydrate(self, rows: Sequence[int]) -> list[Chunk]:
        """The chunks behind rows of this snapshot, in the order asked, in one query.

        NotFound for a row that is not visible here; its code is ``collected`` when it was once.
        """
        chunks = self._read(lambda connection: self._records.chunks_by_row(connection, rows)) if rows else {}
        if any(row not in chunks for row in rows):
            raise NotFound(f"rows asked for are not visible in namespace {self.namespace!r} at change {self.seq}")
        return [chunks[row] for row in rows]

    def titles(self, source_ids: Sequence[str]) -> dict[str, str | None]:
        """The titles of visible sources: with a floor, of those of whose chunks some pass it."""

        def work(connection: Connection) -> dict[str, str | None]:
            titles: dict[str, str | None] = {}
            found = self._records.generations(connection, source_ids)
            for source_id in dict.fromkeys(source_ids):
                generation = found.get(source_id)
                if generation is not None and any(self._records.passing(connection, source_id, generation)):
                    titles[source_id] = None if generation.title is None else generation.title.decode()
            return titles

        return self._read(work)

    def chunks(self, source_id: str, *, generation: int | None = None, vectors: bool = False) -> list[Chunk]:
        """A source's visible chunks by ordinal; empty for an unknown one.

        ``generation``: those of an earlier generation (its last revision) that is still kept, else NotFound (code
        ``collected``).
        """

        def work(connection: Connection) -> list[Chunk]:
            found = self._records.generation(connection, source_id, generation)
            chunks = {} if found is None else self._records.chunks(connection, found)
            if vectors:
                chunks = self._records.with_vectors(connection, chunks)
            return list(chunks.values())

        return self._read(work)

    def vector_keys(self, source_id: str, space: EmbeddingSpace) -> dict[str, bytes]:
        """By chunk id, the keys of the vectors a source's visible chunks have, or wait for, in this space."""

        def work(connection: Connection) -> dict[str, bytes]:
            found = self._records.generation(connection, source_id)
            return {} if found is None else self._records.vector_keys(connection, found, space.identity)

        return self._read(work)

    def source_parents(self, source_id: str, *, generation: int | None = None) -> list[ParentChunk]:
        """A source's visible parents by ordinal; ``generation`` as in :meth:`chunks`."""

        def work(connection: Connection) -> list[ParentChunk]:
            found = self._records.generation(connection, source_id, generation)
            return [] if found is None else self._records.parents(connection, found)

        return self._read(work)

    def parents(self, keys: Sequence[str]) -> dict[str, ParentChunk]:
        """Visible parents by :attr:`ParentChunk.key`."""
        return self._read(lambda connection: self._records.parents_by_key(connection, keys))

    def document(self, source_id: str, *, generation: int | None = None) -> Document:
        """The stored document. With a floor it is visible only when every one of its chunks passes it.

        NotFound for a source that is not visible, with code ``content_not_kept`` when its content was not kept;
        ``generation`` as in :meth:`chunks`.
        """

        def work(connection: Connection) -> tuple[bool, Document | None]:
            found = self._records.generation(connection, source_id, generation)
            if found is None or not all(self._records.passing(connection, source_id, found)):
                return False, None
            return True, self._records.document(connection, source_id, found)

        visible, document = self._read(work)
        if not visible:
            raise NotFound(f"there is no source {source_id!r} in namespace {self.namespace!r}", source_id=source_id)
        if document is None:
            raise NotFound(
                f"the content of {source_id!r} was not kept; index it with content kept",
                code="content_not_kept",
                source_id=source_id,
            )
        return document

    def _read(self, work: Callable[[Connection], _T]) -> _T:
        """What ``work`` reads, when nothing this snapshot may see has been collected."""

        def checked(connection: Connection) -> _T:
            found = connection.execute("SELECT horizon FROM namespace WHERE pk = %s", (self._key,)).fetchone()
            if found is not None and self.seq < found[0]:
                raise NotFound(
                    f"what namespace {self.namespace!r} held at change {self.seq} has been collected", code="collected"
                )
            return work(connection)

        return self._store.database.read(checked)


def _asked(request: SearchRequest) -> list[str]:
    given = {"lexical": request.text, "dense": request.vector, "sparse": request.sparse}
    return [leg for leg, value in given.items() if value is not None]
