"""Stored records read back at one sequence number, behind a floor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from florilege.model.chunk import Chunk, ParentChunk
from florilege.model.document import Document
from florilege.model.errors import NotFound
from florilege.model.filters import Filter
from florilege.stores import codecs
from florilege.stores.fields import Fields
from florilege.stores.postgres.server.connection import Connection
from florilege.stores.postgres.server.wire import decode_halves, escape, unescape

VISIBLE = "g.published_seq <= %(seq)s AND (g.retired_seq IS NULL OR g.retired_seq > %(seq)s)"

_CHUNK = (
    "SELECT r.row, s.source_id, r.chunk_id, t.content, t.context, d.record, m.ordinal, m.provenance, r.parent,"
    " g.number, r.created"
)
_CHUNK_PARTS = " JOIN text t ON t.row = r.row JOIN facet d ON d.pk = r.facet"
_PARENT = (
    "SELECT p.key, s.source_id, p.parent_id, p.content, p.ordinal, p.title, p.summary, d.record, p.provenance,"
    " g.number, g.published_at"
)
_GENERATION = (
    "SELECT s.source_id, g.pk, g.title, g.document, g.facts, d.record FROM source s"
    " JOIN generation g ON g.source = s.pk JOIN facet d ON d.pk = g.facet WHERE s.ns = %(ns)s"
)
_PARENT_PARTS = " JOIN source s ON s.pk = g.source JOIN facet d ON d.pk = p.facet"


class Generation(NamedTuple):
    """One publication of a source. ``visible``: it is the one its snapshot sees."""

    pk: int
    title: bytes | None
    document: bytes | None
    facts: bytes | None
    record: str
    visible: bool = True


class Records:
    """Reads records of one namespace at ``seq``; what ``floor`` is not true of is not there."""

    def __init__(self, namespace: str, key: int | None, seq: int, floor: Filter | None, fields: Fields) -> None:
        self._namespace = namespace
        self._values = {"ns": key, "seq": seq}
        self._floor = floor
        self._fields = fields

    def chunks_by_row(self, connection: Connection, rows: Sequence[int]) -> dict[int, Chunk]:
        """The visible ones among ``rows``, in one query."""
        query = (
            f"{_CHUNK} FROM published r JOIN source s ON s.pk = r.source"
            f" JOIN generation g ON g.source = r.source AND {VISIBLE}"
            f" JOIN manifest m ON m.generation = g.pk AND m.row = r.row {_CHUNK_PARTS}"
            " WHERE r.row = ANY(%(rows)s) AND r.ns = %(ns)s"
        )
        return self._chunks(connection.execute(query, {**self._values, "rows": list(rows)}, binary=True))

    def chunks(self, connection: Connection, generation: Generation) -> dict[int, Chunk]:
        """The chunks of a generation by row, ordered by ordinal."""
        query = (
            f"{_CHUNK} FROM generation g JOIN source s ON s.pk = g.source JOIN manifest m ON m.generation = g.pk"
            f" JOIN published r ON r.row = m.row {_CHUNK_PARTS} WHERE g.pk = %s ORDER BY m.ordinal"
        )
        return self._chunks(connection.execute(query, (generation.pk,), binary=True), generation.visible)

    def with_vectors(self, connection: Connection, chunks: Mapping[int, Chunk]) -> dict[int, Chunk]:
        """The same with their vectors of the spaces the namespace is bound to (of any, where it is bound to none)."""
        found = dict(chunks)
        rows = connection.execute(
            "SELECT v.row, p.identity, p.dimensions, x.sparse, halfvec_send(x.dense) FROM namespace n"
            " JOIN row_vector v ON v.row = ANY(%(rows)s) AND v.seq <= %(seq)s"
            " JOIN vector x ON x.pk = v.vector JOIN space p ON p.pk = v.space WHERE n.pk = %(ns)s"
            " AND p.identity = coalesce(CASE WHEN p.sparse THEN n.sparse_space ELSE n.space END, p.identity)",
            {**self._values, "rows": list(chunks)},
            binary=True,
        )
        for row, identity, dimensions, weights, data in rows:
            if data is None:
                _, ids, values = codecs.decode_sparse([weights])
                vector = dict(zip(ids.tolist(), values.tolist(), strict=True))
                found[row] = replace(found[row], sparse_embedding=vector)
            else:
                dense = decode_halves([data], dimensions)[0].astype("float32").tolist()
                found[row] = replace(found[row], embedding=dense, embedding_space=identity)
        return found

    def vector_keys(self, connection: Connection, generation: Generation, identity: str) -> dict[str, bytes]:
        """By chunk id, the keys of the vectors a generation's chunks have, or wait for, in a space."""
        found = connection.execute(
            "SELECT r.chunk_id, coalesce(x.key, q.key) FROM space p JOIN manifest m ON m.generation = %s"
            " JOIN published r ON r.row = m.row"
            " LEFT JOIN row_vector v ON v.row = r.row AND v.space = p.pk LEFT JOIN vector x ON x.pk = v.vector"
            " LEFT JOIN embed_queue q ON q.space = p.pk AND q.row = r.row"
            " WHERE p.identity = %s AND coalesce(x.key, q.key) IS NOT NULL",
            (generation.pk, identity),
        )
        return {unescape(chunk_id): key for chunk_id, key in found}

    def parents_by_key(self, connection: Connection, keys: Sequence[str]) -> dict[str, ParentChunk]:
        """The visible parents with these keys."""
        query = (
            f"{_PARENT} FROM parent p JOIN generation g ON g.pk = p.generation AND {VISIBLE} {_PARENT_PARTS}"
            " WHERE p.ns = %(ns)s AND p.key = ANY(%(keys)s) ORDER BY s.source_id DESC"
        )
        rows = connection.execute(query, {**self._values, "keys": list(map(escape, keys))})
        return {parent.key: parent for parent in self._parents(rows) if parent.key is not None}

    def parents(self, connection: Connection, generation: Generation) -> list[ParentChunk]:
        """The parents of a generation by ordinal."""
        query = (
            f"{_PARENT} FROM generation g JOIN parent p ON p.generation = g.pk {_PARENT_PARTS}"
            " WHERE g.pk = %s ORDER BY p.ordinal"
        )
        return self._parents(connection.execute(query, (generation.pk,)), generation.visible)

    def document(self, connection: Connection, source_id: str, generation: Generation) -> Document | None:
        """The document of a generation; None when its content was not kept."""
        kept = connection.execute(
            "SELECT data FROM document WHERE hash = %s", (generation.document,), binary=True
        ).fetchone()
        if kept is None:
            return None
        content, parts = codecs.decode_document(kept[0])
        user, _ = codecs.decode_metadata(generation.record)
        return Document(
            source_id=source_id,
            content=content,
            namespace=self._namespace,
            parts=parts,
            title=_text(generation.title),
            metadata=user,
            **codecs.decode_facts(generation.facts),
        )

    def generation(self, connection: Connection, source_id: str, number: int | None = None) -> Generation | None:
        """The visible generation of a source, or the last revision of an earlier one.

        None when none is visible; NotFound (code ``collected``) when the one asked for is not kept.
        """
        if number is None:
            return self.generations(connection, [source_id]).get(source_id)
        row = connection.execute(
            f"{_GENERATION} AND s.source_id = %(source)s AND g.published_seq <= %(seq)s AND g.number = %(number)s"
            " ORDER BY g.published_seq DESC LIMIT 1",
            {**self._values, "source": escape(source_id), "number": number},
        ).fetchone()
        if row is None:
            raise NotFound(f"generation {number} of {source_id!r} is not kept", code="collected", source_id=source_id)
        return Generation(*row[1:])._replace(visible=False)

    def generations(self, connection: Connection, source_ids: Sequence[str]) -> dict[str, Generation]:
        """The visible generations of these sources."""
        found = connection.execute(
            f"{_GENERATION} AND s.source_id = ANY(%(sources)s) AND {VISIBLE}",
            {**self._values, "sources": list(map(escape, source_ids))},
        )
        return {unescape(name): Generation(*rest) for name, *rest in found}

    def passing(self, connection: Connection, source_id: str, generation: Generation) -> list[bool]:
        """For each kind of chunk a generation has (itself, when it has none) whether the floor lets it through."""
        if self._floor is None:
            return [True]
        records = connection.execute(
            "SELECT DISTINCT d.record FROM manifest m JOIN published r ON r.row = m.row JOIN facet d ON d.pk = r.facet"
            " WHERE m.generation = %s",
            (generation.pk,),
        ).fetchall()
        decoded = [codecs.decode_metadata(record) for (record,) in records or [(generation.record,)]]
        return [self._passes(user, system, source_id) for user, system in decoded]

    def _passes(self, user: Mapping[str, Any], system: Mapping[str, Any], source_id: str) -> bool:
        return self._floor is None or self._fields.matches(self._floor, user, {**system, "$source_id": source_id})

    def _chunks(self, rows: Iterable[tuple[Any, ...]], visible: bool = True) -> dict[int, Chunk]:
        found = {}
        for pk, name, chunk_id, content, context, record, ordinal, provenance, parent, number, at in rows:
            user, system = codecs.decode_metadata(record)
            source_id = unescape(name)
            if self._passes(user, system, source_id):
                found[pk] = Chunk(
                    source_id=source_id,
                    content=content.decode(),
                    namespace=self._namespace,
                    chunk_id=unescape(chunk_id),
                    ordinal=ordinal,
                    context=context.decode(),
                    metadata=user,
                    provenance=codecs.decode_provenance(provenance),
                    parent=codecs.decode_parent(parent),
                    generation_id=number,
                    active=visible,
                    created_at=codecs.moment(at),
                )
        return found

    def _parents(self, rows: Iterable[tuple[Any, ...]], visible: bool = True) -> list[ParentChunk]:
        found = []
        for key, name, parent_id, content, ordinal, title, summary, record, provenance, number, at in rows:
            user, system = codecs.decode_metadata(record)
            source_id = unescape(name)
            if self._passes(user, system, source_id):
                found.append(
                    ParentChunk(
                        source_id=source_id,
                        parent_id=unescape(parent_id),
                        content=content.decode(),
                        key=unescape(key),
                        namespace=self._namespace,
                        ordinal=ordinal,
                        title=_text(title),
                        summary=_text(summary),
                        metadata=user,
                        provenance=codecs.decode_provenance(provenance),
                        generation_id=number,
                        active=visible,
                        created_at=codecs.moment(at),
                    )
                )
        return found


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()
