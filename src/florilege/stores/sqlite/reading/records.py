"""Stored records read back at one sequence number, behind a floor."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from florilege.model.chunk import Chunk, ParentChunk
from florilege.model.document import Document
from florilege.model.errors import NotFound
from florilege.model.filters import Filter
from florilege.stores import codecs
from florilege.stores.fields import Fields

VISIBLE = "g.published_seq <= :seq AND (g.retired_seq IS NULL OR g.retired_seq > :seq)"

_CHUNK = (
    "SELECT r.pk, s.source_id, r.chunk_id, t.content, t.context, d.json, m.ordinal, m.provenance, r.parent,"
    " g.number, f.published_at"
)
_CHUNK_PARTS = (
    " CROSS JOIN text t ON t.row = r.pk CROSS JOIN metadata d ON d.pk = r.metadata"
    " CROSS JOIN generation f ON f.pk = r.first_gen"
)
_PARENT = (
    "SELECT p.key, s.source_id, p.parent_id, p.content, p.ordinal, p.title, p.summary, d.json, p.provenance,"
    " g.number, g.published_at"
)
_PARENT_PARTS = " CROSS JOIN source s ON s.pk = g.source CROSS JOIN metadata d ON d.pk = p.metadata"


class Generation(NamedTuple):
    """One publication of a source."""

    pk: int
    title: str | None
    document: bytes | None
    facts: bytes | None
    metadata: str
    active: bool


class Records:
    """Reads records of one namespace at ``seq``; what ``floor`` is not true of is not there."""

    def __init__(self, namespace: str, key: int | None, seq: int, floor: Filter | None, fields: Fields) -> None:
        self._namespace = namespace
        self._values = {"ns": key, "seq": seq}
        self._floor = floor
        self._fields = fields

    def chunks_by_row(self, connection: sqlite3.Connection, rows: Sequence[int]) -> dict[int, Chunk]:
        """The visible ones among ``rows``, in one query."""
        query = (
            f"{_CHUNK} FROM json_each(:rows) j CROSS JOIN row r ON r.pk = j.value"
            " CROSS JOIN source s ON s.pk = r.source"
            f" CROSS JOIN generation g ON g.source = r.source AND g.ns = :ns AND {VISIBLE}"
            f" CROSS JOIN manifest m ON m.generation = g.pk AND m.row = r.pk {_CHUNK_PARTS}"
        )
        return self._chunks(connection.execute(query, {**self._values, "rows": str(list(rows))}))

    def chunks(self, connection: sqlite3.Connection, generation: Generation) -> dict[int, Chunk]:
        """The chunks of a generation by row, ordered by ordinal."""
        query = (
            f"{_CHUNK} FROM generation g CROSS JOIN source s ON s.pk = g.source"
            f" CROSS JOIN manifest m ON m.generation = g.pk CROSS JOIN row r ON r.pk = m.row {_CHUNK_PARTS}"
            " WHERE g.pk = ? ORDER BY m.ordinal"
        )
        return self._chunks(connection.execute(query, (generation.pk,)), generation.active)

    def with_vectors(self, connection: sqlite3.Connection, chunks: Mapping[int, Chunk]) -> dict[int, Chunk]:
        """The same with their vectors of the spaces the namespace is bound to (of any, where it is bound to none)."""
        found = dict(chunks)
        rows = connection.execute(
            "SELECT v.row, p.identity, p.dimensions, p.sparse, x.data FROM namespace n CROSS JOIN json_each(:rows) j"
            " CROSS JOIN row_vector v ON v.row = j.value AND v.seq <= :seq CROSS JOIN vector x ON x.pk = v.vector"
            " CROSS JOIN space p ON p.pk = v.space WHERE n.pk = :ns"
            " AND p.identity = coalesce(iif(p.sparse, n.sparse_space, n.space), p.identity)",
            {**self._values, "rows": str(list(chunks))},
        ).fetchall()
        for row, identity, dimensions, sparse, data in rows:
            if sparse:
                _, ids, weights = codecs.decode_sparse([data])
                vector = dict(zip(ids.tolist(), weights.tolist(), strict=True))
                found[row] = replace(found[row], sparse_embedding=vector)
            else:
                vector = codecs.decode_vectors([data], dimensions)[0].astype("float32").tolist()
                found[row] = replace(found[row], embedding=vector, embedding_space=identity)
        return found

    def vector_keys(self, connection: sqlite3.Connection, generation: Generation, identity: str) -> dict[str, bytes]:
        """By chunk id, the keys of the vectors a generation's chunks have, or wait for, in a space."""
        query = (
            "SELECT r.chunk_id, coalesce(x.key, q.key) FROM space p CROSS JOIN manifest m ON m.generation = :generation"
            " CROSS JOIN row r ON r.pk = m.row"
            " LEFT JOIN row_vector v ON v.row = r.pk AND v.space = p.pk LEFT JOIN vector x ON x.pk = v.vector"
            " LEFT JOIN embed_queue q ON q.space = p.pk AND q.row = r.pk"
            " WHERE p.identity = :identity AND coalesce(x.key, q.key) IS NOT NULL"
        )
        return dict(connection.execute(query, {"generation": generation.pk, "identity": identity}).fetchall())

    def parents_by_key(self, connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, ParentChunk]:
        """The visible parents with these keys."""
        query = (
            f"{_PARENT} FROM json_each(:keys) j CROSS JOIN parent p ON p.ns = :ns AND p.key = j.value"
            f" CROSS JOIN generation g ON g.pk = p.generation AND {VISIBLE} {_PARENT_PARTS} ORDER BY s.source_id DESC"
        )
        rows = connection.execute(query, {**self._values, "keys": codecs.encode(list(keys))})
        return {parent.key: parent for parent in self._parents(rows) if parent.key is not None}

    def parents(self, connection: sqlite3.Connection, generation: Generation) -> list[ParentChunk]:
        """The parents of a generation by ordinal."""
        query = (
            f"{_PARENT} FROM generation g CROSS JOIN parent p ON p.generation = g.pk {_PARENT_PARTS}"
            " WHERE g.pk = ? ORDER BY p.ordinal"
        )
        return self._parents(connection.execute(query, (generation.pk,)), generation.active)

    def document(self, connection: sqlite3.Connection, source_id: str, generation: Generation) -> Document | None:
        """The document of a generation; None when its content was not kept."""
        kept = connection.execute("SELECT data FROM document WHERE hash = ?", (generation.document,)).fetchone()
        if kept is None:
            return None
        content, parts = codecs.decode_document(kept[0])
        user, _ = codecs.decode_metadata(generation.metadata)
        return Document(
            source_id=source_id,
            content=content,
            namespace=self._namespace,
            parts=parts,
            title=generation.title,
            metadata=user,
            **codecs.decode_facts(generation.facts),
        )

    def generation(
        self, connection: sqlite3.Connection, source_id: str, number: int | None = None
    ) -> Generation | None:
        """The visible generation of a source, or the last revision of an earlier one.

        None when none is visible; NotFound (code ``collected``) when the one asked for is not kept.
        """
        which = VISIBLE if number is None else "g.published_seq <= :seq AND g.number = :number AND NOT g.collected"
        row = connection.execute(
            "SELECT g.pk, g.title, g.document, g.facts, d.json FROM source s JOIN generation g ON g.source = s.pk"
            f" JOIN metadata d ON d.pk = g.metadata WHERE s.ns = :ns AND s.source_id = :source AND {which}"
            " ORDER BY g.published_seq DESC LIMIT 1",
            {**self._values, "source": source_id, "number": number},
        ).fetchone()
        if row is not None:
            return Generation._make((*row, number is None))
        if number is None:
            return None
        raise NotFound(f"generation {number} of {source_id!r} is not kept", code="collected", source_id=source_id)

    def passing(self, connection: sqlite3.Connection, source_id: str, generation: Generation) -> list[bool]:
        """For each kind of chunk a generation has (itself, when it has none) whether the floor lets it through."""
        if self._floor is None:
            return [True]
        records = connection.execute(
            "SELECT DISTINCT d.json FROM manifest m JOIN row r ON r.pk = m.row JOIN metadata d ON d.pk = r.metadata"
            " WHERE m.generation = ?",
            (generation.pk,),
        ).fetchall()
        decoded = [codecs.decode_metadata(record) for (record,) in records or [(generation.metadata,)]]
        return [self._passes(user, system, source_id) for user, system in decoded]

    def _passes(self, user: Mapping[str, Any], system: Mapping[str, Any], source_id: str) -> bool:
        return self._floor is None or self._fields.matches(self._floor, user, {**system, "$source_id": source_id})

    def _chunks(self, rows: Iterable[tuple[Any, ...]], active: bool = True) -> dict[int, Chunk]:
        found = {}
        for pk, source_id, chunk_id, content, context, record, ordinal, provenance, parent, number, at in rows:
            user, system = codecs.decode_metadata(record)
            if self._passes(user, system, source_id):
                found[pk] = Chunk(
                    source_id=source_id,
                    content=content,
                    namespace=self._namespace,
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

    def _parents(self, rows: Iterable[tuple[Any, ...]], active: bool = True) -> list[ParentChunk]:
        found = []
        for key, source_id, parent_id, content, ordinal, title, summary, record, provenance, number, at in rows:
            user, system = codecs.decode_metadata(record)
            if self._passes(user, system, source_id):
                found.append(
                    ParentChunk(
                        source_id=source_id,
                        parent_id=parent_id,
                        content=content,
                        key=key,
                        namespace=self._namespace,
                        ordinal=ordinal,
                        title=title,
                        summary=summary,
                        metadata=user,
                        provenance=codecs.decode_provenance(provenance),
                        generation_id=number,
                        active=active,
                        created_at=codecs.moment(at),
                    )
                )
        return found
