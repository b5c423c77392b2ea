"""A namespace at one sequence number."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from florilege.interfaces.stores import SearchRequest, SearchResult
from florilege.model.chunk import Chunk, ParentChunk
from florilege.model.document import Document
from florilege.model.errors import ConfigError, NotFound
from florilege.model.filters import Filter
from florilege.stores import codecs
from florilege.stores.fields import Fields
from florilege.stores.sqlite.connection import Database
from florilege.stores.sqlite.maintenance import analyzer_version
from florilege.stores.sqlite.writing.vocabulary import lookup
from florilege.stores.terms import TextAnalyzer

if TYPE_CHECKING:
    from florilege.stores.resident.search import Search

_PARENT = (
    "SELECT p.key, s.source_id, p.parent_id, p.content, p.ordinal, p.title, p.summary, d.json, p.provenance,"
    " g.number, g.published_at"
)
_CHUNK = (
    "SELECT r.pk, s.source_id, r.chunk_id, t.content, t.context, d.json, m.ordinal, m.provenance, r.parent,"
    " g.number, f.published_at"
)
_VISIBLE = "g.published_seq <= :seq AND (g.retired_seq IS NULL OR g.retired_seq > :seq)"


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

    # -- searching ------------------------------------------------------------------------------------------------

    def search(self, request: SearchRequest) -> SearchResult:
        """Search the visible rows. ConfigError for the sparse leg, which this store does not have."""
        if request.sparse is not None:
            raise ConfigError("this store has no learned-sparse leg", code="no_sparse_leg")
        if request.vector is not None and request.space is None:
            raise ConfigError("a vector needs its embedding space named", code="no_space")
        if self._key is None or request.depth < 1:
            return SearchResult(legs={leg: [] for leg in _asked(request)})
        return self._store.search().run(self._key, self.seq, self._floor, request, self._terms, self._named)

    def _terms(self, text: str) -> tuple[list[int], dict[str, Any]]:
        """The numbers of a query's known terms, by the terms' text, and what to tell of it."""
        terms = sorted(set(self._store.analyzer().query_terms(text)))
        with self._store.database.read() as connection:
            numbers = lookup(connection, terms)
            stale = analyzer_version(connection) not in (None, self._store.analyzer().version)
        facts: dict[str, Any] = {"terms": terms, "known_terms": sorted(numbers)}
        if stale:
            facts["stale_lexemes"] = True
        return [numbers[term] for term in terms if term in numbers], facts

    def _named(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Source id and chunk id of rows."""
        with self._store.database.read() as connection:
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
        query = (
            f"{_CHUNK} FROM json_each(:rows) j CROSS JOIN row r ON r.pk = j.value"
            " CROSS JOIN source s ON s.pk = r.source"
            f" CROSS JOIN generation g ON g.source = r.source AND g.ns = :ns AND {_VISIBLE}"
            " CROSS JOIN manifest m ON m.generation = g.pk AND m.row = r.pk"
            " CROSS JOIN text t ON t.row = r.pk CROSS JOIN metadata d ON d.pk = r.metadata"
            " CROSS JOIN generation f ON f.pk = r.first_gen"
        )
        values = {"rows": str(list(rows)), "seq": self.seq, "ns": self._key}
        with self._store.database.view() as connection:
            found = {row[0]: row for row in connection.execute(query, values)}
            chunks = {pk: chunk for pk, chunk in self._chunks(found.values()).items() if chunk is not None}
            if any(row not in chunks for row in rows):
                self._missing(connection, "rows asked for")
        return [chunks[row] for row in rows]

    def titles(self, source_ids: Sequence[str]) -> dict[str, str | None]:
        """The titles of visible sources: with a floor, of those of whose chunks some pass it."""
        titles: dict[str, str | None] = {}
        with self._store.database.view() as connection:
            self._check_horizon(connection)
            for source_id in dict.fromkeys(source_ids):
                generation = self._generation(connection, source_id)
                if generation is not None and any(self._passing(connection, source_id, generation["pk"], generation)):
                    titles[source_id] = generation["title"]
        return titles

    def chunks(self, source_id: str, *, generation: int | None = None, vectors: bool = False) -> list[Chunk]:
        """A source's visible chunks by ordinal; empty for an unknown one.

        ``generation``: those of an earlier generation that is still kept, else NotFound (code ``collected``).
        """
        query = (
            f"{_CHUNK} FROM source s CROSS JOIN generation g ON g.source = s.pk AND g.pk = :generation"
            " CROSS JOIN manifest m ON m.generation = g.pk CROSS JOIN row r ON r.pk = m.row"
            " CROSS JOIN text t ON t.row = r.pk CROSS JOIN metadata d ON d.pk = r.metadata"
            " CROSS JOIN generation f ON f.pk = r.first_gen"
            " WHERE s.ns = :ns AND s.source_id = :source ORDER BY m.ordinal"
        )
        with self._store.database.view() as connection:
            self._check_horizon(connection)
            chosen = self._generation(connection, source_id, generation)
            values = {"generation": chosen and chosen["pk"], "ns": self._key, "source": source_id}
            rows = connection.execute(query, values).fetchall()
            found = {
                pk: chunk for pk, chunk in self._chunks(rows, active=generation is None).items() if chunk is not None
            }
            if vectors:
                found = self._with_vectors(connection, found)
        return list(found.values())

    def source_parents(self, source_id: str, *, generation: int | None = None) -> list[ParentChunk]:
        """A source's parents by ordinal; ``generation`` as in :meth:`chunks`."""
        query = (
            f"{_PARENT} FROM generation g CROSS JOIN parent p ON p.generation = g.pk"
            " CROSS JOIN source s ON s.pk = g.source CROSS JOIN metadata d ON d.pk = p.metadata"
            " WHERE g.pk = ? ORDER BY p.ordinal"
        )
        with self._store.database.view() as connection:
            self._check_horizon(connection)
            chosen = self._generation(connection, source_id, generation)
            rows = connection.execute(query, (chosen and chosen["pk"],)).fetchall()
        return [parent for row in rows if (parent := self._parent(row, active=generation is None)) is not None]

    def parents(self, keys: Sequence[str]) -> dict[str, ParentChunk]:
        """Visible parents by :attr:`ParentChunk.key`."""
        query = (
            f"{_PARENT} FROM json_each(:keys) j CROSS JOIN parent p ON p.ns = :ns AND p.key = j.value"
            f" CROSS JOIN generation g ON g.pk = p.generation AND {_VISIBLE}"
            " CROSS JOIN source s ON s.pk = g.source CROSS JOIN metadata d ON d.pk = p.metadata ORDER BY s.source_id"
        )
        with self._store.database.view() as connection:
            self._check_horizon(connection)
            rows = connection.execute(
                query, {"keys": codecs.encode(list(keys)), "ns": self._key, "seq": self.seq}
            ).fetchall()
        found: dict[str, ParentChunk] = {}
        for row in rows:
            parent = self._parent(row)
            if parent is not None and parent.key is not None:
                found.setdefault(parent.key, parent)
        return found

    def document(self, source_id: str, *, generation: int | None = None) -> Document:
        """The stored document. With a floor it is visible only when every one of its chunks passes it.

        NotFound for a source that is not visible, with code ``content_not_kept`` when its content was not kept.
        """
        with self._store.database.view() as connection:
            self._check_horizon(connection)
            chosen = self._generation(connection, source_id, generation)
            if chosen is None or not all(self._passing(connection, source_id, chosen["pk"], chosen)):
                raise NotFound(f"there is no source {source_id!r} in namespace {self.namespace!r}", source_id=source_id)
            kept = connection.execute("SELECT data FROM document WHERE hash = ?", (chosen["document"],)).fetchone()
        if kept is None:
            raise NotFound(
                f"the content of {source_id!r} was not kept; index it with content kept",
                code="content_not_kept",
                source_id=source_id,
            )
        content, parts = codecs.decode_document(kept[0])
        user, _ = codecs.decode_metadata(chosen["json"])
        return Document(
            source_id=source_id,
            content=content,
            namespace=self.namespace,
            parts=parts,
            title=chosen["title"],
            metadata=user,
            **codecs.decode_facts(chosen["facts"]),
        )

    # -- between --------------------------------------------------------------------------------------------------

    def _chunks(self, rows: Iterable[tuple[Any, ...]], *, active: bool = True) -> dict[int, Chunk | None]:
        """Chunks by row, in order; None for those the floor hides."""
        found: dict[int, Chunk | None] = {}
        for pk, source_id, chunk_id, content, context, record, ordinal, provenance, parent, number, at in rows:
            user, system = codecs.decode_metadata(record)
            found[pk] = None
            if self._passes(user, system, source_id):
                found[pk] = Chunk(
                    source_id=source_id,
                    content=content,
                    namespace=self.namespace,
                    chunk_id=chunk_id,
                    ordinal=ordinal,
                    context=context,
                    metadata=user,
                    provenance=codecs.decode_provenance(provenance),
                    parent=codecs.decode_parent(parent),
                    generation_id=number,
                    active=active,
                    created_at=codecs.moment(at),
                )
        return found

    def _with_vectors(self, connection: sqlite3.Connection, chunks: Mapping[int, Chunk]) -> dict[int, Chunk]:
        found = dict(chunks)
        rows = connection.execute(
            "SELECT v.row, p.identity, p.dimensions, x.data FROM json_each(:rows) j"
            " CROSS JOIN row_vector v ON v.row = j.value AND v.seq <= :seq CROSS JOIN vector x ON x.pk = v.vector"
            " CROSS JOIN space p ON p.pk = v.space"
            " WHERE p.identity = coalesce((SELECT space FROM namespace WHERE pk = :ns), p.identity)",
            {"rows": str(list(chunks)), "seq": self.seq, "ns": self._key},
        ).fetchall()
        for row, identity, dimensions, data in rows:
            vector = codecs.decode_vectors([data], dimensions)[0].astype("float32").tolist()
            found[row] = replace(found[row], embedding=vector, embedding_space=identity)
        return found

    def _generation(
        self, connection: sqlite3.Connection, source_id: str, number: int | None = None
    ) -> dict[str, Any] | None:
        """The generation of a source that is visible here, or the last revision of an earlier one."""
        which = _VISIBLE if number is None else "g.number = :number AND g.published_seq <= :seq"
        row = connection.execute(
            "SELECT g.pk, g.title, g.document, g.facts, d.json FROM source s JOIN generation g ON g.source = s.pk"
            f" JOIN metadata d ON d.pk = g.metadata WHERE s.ns = :ns AND s.source_id = :source AND {which}"
            " ORDER BY g.revision DESC LIMIT 1",
            {"ns": self._key, "source": source_id, "seq": self.seq, "number": number},
        ).fetchone()
        if row is None and number is not None:
            raise NotFound(
                f"generation {number} of {source_id!r} is not kept any more", code="collected", source_id=source_id
            )
        return None if row is None else dict(zip(("pk", "title", "document", "facts", "json"), row, strict=True))

    def _parent(self, row: tuple[Any, ...], *, active: bool = True) -> ParentChunk | None:
        """A parent from its row; None when the floor hides it."""
        key, source_id, parent_id, content, ordinal, title, summary, record, provenance, number, at = row
        user, system = codecs.decode_metadata(record)
        if not self._passes(user, system, source_id):
            return None
        return ParentChunk(
            source_id=source_id,
            parent_id=parent_id,
            content=content,
            key=key,
            namespace=self.namespace,
            ordinal=ordinal,
            title=title,
            summary=summary,
            metadata=user,
            provenance=codecs.decode_provenance(provenance),
            generation_id=number,
            active=active,
            created_at=codecs.moment(at),
        )

    def _passing(
        self, connection: sqlite3.Connection, source_id: str, pk: int, generation: Mapping[str, Any]
    ) -> Iterable[bool]:
        """For each kind of chunk a generation has (itself, when it has none) whether the floor lets it through."""
        if self._floor is None:
            return [True]
        records = connection.execute(
            "SELECT DISTINCT d.json FROM manifest m JOIN row r ON r.pk = m.row JOIN metadata d ON d.pk = r.metadata"
            " WHERE m.generation = ?",
            (pk,),
        ).fetchall()
        decoded = [codecs.decode_metadata(record) for (record,) in records or [(generation["json"],)]]
        return [self._passes(user, system, source_id) for user, system in decoded]

    def _passes(self, user: Mapping[str, Any], system: Mapping[str, Any], source_id: str) -> bool:
        if self._floor is None:
            return True
        return self._store.fields.matches(self._floor, user, {**system, "$source_id": source_id})

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
    return [leg for leg, given in (("lexical", request.text), ("dense", request.vector)) if given is not None]
