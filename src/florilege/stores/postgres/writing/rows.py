"""The statements that put rows in and take them out. All of them run inside the caller's write transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from florilege.stores.fields import Fields
from florilege.stores.postgres.reading.filters import filter_doc
from florilege.stores.postgres.server.connection import Connection
from florilege.stores.postgres.server.names import spaces
from florilege.stores.postgres.server.tables import ROW_COLUMNS, vec_table
from florilege.stores.postgres.server.wire import copy, escape, numbers
from florilege.stores.postgres.writing.linking import Keyed
from florilege.stores.postgres.writing.words import Words
from florilege.stores.preparation import Prepared, Row
from florilege.stores.rules import Active

_SEARCH_ROW = (
    "row int8, ns int4, source int8, facet int8, length int4, chunk_id text, digest bytea, text_digest bytea,"
    " parent bytea"
)


@dataclass(slots=True)
class Draft:
    """A prepared write inside the transaction that stages it: its keys, and those of its new rows."""

    plan: Prepared
    active: Active
    generation: int
    facets: Mapping[bytes, int]
    rows: list[tuple[int, Row]]
    words: list[Words]
    piece: Sequence[Row] | None = None
    """The part of the plan's rows that is staged in this transaction; None: all."""

    @property
    def source(self) -> int:
        return self.active.source

    def carried(self) -> list[tuple[int, Row]]:
        """The rows carried over, with their keys."""
        rows = self.plan.rows if self.piece is None else self.piece
        return [(row.carried, row) for row in rows if row.carried is not None]

    def keyed(self, spaces: Mapping[str, int], rows: Sequence[tuple[int, Row]]) -> Iterator[Keyed]:
        """The vectors these rows want; ``spaces`` are keys by identity."""
        for vectors in self.plan.vectors:
            space = spaces[vectors.space.identity]
            for pk, row in rows:
                key = vectors.keys[row.ordinal]
                if key is not None:
                    yield space, pk, key


def keep_facets(
    connection: Connection,
    namespace: int,
    records: Mapping[int, Mapping[bytes, str]],
    names: Mapping[int, str],
    fields: Fields,
) -> dict[int, dict[bytes, int]]:
    """The keys of metadata records by source, stored where they are new."""
    lines = [(source, name, text) for source, texts in sorted(records.items()) for name, text in sorted(texts.items())]
    wanted = [source for source, _, _ in lines], [name for _, name, _ in lines]
    found: dict[int, dict[bytes, int]] = {source: {} for source in records}
    query = (
        "SELECT f.source, f.hash, f.pk FROM unnest(%s::bigint[], %s::bytea[]) AS u (source, hash)"
        " JOIN facet f ON f.source = u.source AND f.hash = u.hash"
    )
    for source, name, pk in connection.execute(query, wanted):
        found[source][name] = pk
    new = [line for line in lines if line[1] not in found[line[0]]]
    if new:
        docs = [filter_doc(text, names[source], fields) for source, _, text in new]
        added = connection.execute(
            "INSERT INTO facet (ns, source, hash, record, doc) SELECT %s, source, hash, record, doc FROM"
            " unnest(%s::bigint[], %s::bytea[], %s::text[], %s::jsonb[]) AS u (source, hash, record, doc)"
            " RETURNING source, hash, pk",
            (namespace, *map(list, zip(*new, strict=True)), docs),
        )
        for source, name, pk in added:
            found[source][name] = pk
    return found


def keep_documents(connection: Connection, plans: Sequence[Prepared]) -> None:
    """Store the documents that are new. In the order of their hashes, so that writers never wait in a circle."""
    documents = dict(plan.document for plan in plans if plan.document is not None)
    if documents:
        hashes = sorted(documents)
        connection.execute(
            "INSERT INTO document (hash, data) SELECT * FROM unnest(%s::bytea[], %s::bytea[]) ON CONFLICT DO NOTHING",
            (hashes, [documents[name] for name in hashes]),
        )


def add_generations(connection: Connection, namespace: int, drafts: Sequence[Draft]) -> None:
    """Generations nobody sees yet, with their parents."""
    keep_documents(connection, [draft.plan for draft in drafts])
    copy(
        connection,
        "generation",
        "pk int8, ns int4, source int8, title bytea, facet int8, document bytea, facts bytea, content_hash text,"
        " chunk_count int4, parent_count int4",
        (
            (
                draft.generation,
                namespace,
                draft.source,
                _bytes(draft.plan.write.record.title),
                draft.facets[draft.plan.source_metadata],
                draft.plan.document[0] if draft.plan.document else None,
                draft.plan.facts,
                draft.plan.write.record.content_hash,
                len(draft.plan.rows),
                len(draft.plan.parents),
            )
            for draft in drafts
        ),
    )
    inherit = [
        draft
        for draft in drafts
        if draft.plan.document is None and draft.plan.write.keep_generation and draft.plan.base
    ]
    for draft in inherit:
        connection.execute(
            "UPDATE generation g SET document = b.document, facts = b.facts FROM generation b"
            " WHERE g.pk = %s AND b.pk = %s",
            (draft.generation, draft.plan.base),
        )
    if any(draft.plan.parents for draft in drafts):
        copy(
            connection,
            "parent",
            "ns int4, generation int8, parent_id text, key text, ordinal int4, content bytea, title bytea,"
            " summary bytea, facet int8, provenance bytea",
            (
                (namespace, draft.generation, escape(name), escape(key), ordinal, content.encode(), _bytes(title),
                 _bytes(summary), draft.facets[metadata], provenance)
                for draft in drafts
                for name, key, ordinal, content, title, summary, metadata, provenance in draft.plan.parents
            ),
        )  # fmt: skip


def add_texts(connection: Connection, drafts: Sequence[Draft]) -> None:
    """The texts of new rows, and the manifests' lines."""
    copy(
        connection,
        "text",
        "row int8, content bytea, context bytea, words bytea",
        (
            (pk, row.chunk.content.encode(), row.chunk.context.encode(), words.packed)
            for draft in drafts
            for (pk, row), words in zip(draft.rows, draft.words, strict=True)
        ),
    )
    copy(
        connection,
        "manifest",
        "generation int8, row int8, ordinal int4, provenance bytea",
        (
            (draft.generation, pk, row.ordinal, row.provenance)
            for draft in drafts
            for pk, row in [*draft.carried(), *draft.rows]
        ),
    )


def add_search_rows(
    connection: Connection, table: str, namespace: int, drafts: Sequence[Draft], columns: str, *values: int
) -> None:
    """The search rows of new rows, in ``live`` or ``staged``; ``columns`` are that table's own, with their values."""
    copy(
        connection,
        table,
        f"{_SEARCH_ROW}, {columns}",
        (
            (pk, namespace, draft.source, draft.facets[row.metadata], words.length, escape(row.chunk.chunk_id or ""),
             row.digest, row.text_digest, row.parent, *values)
            for draft in drafts
            for (pk, row), words in zip(draft.rows, draft.words, strict=True)
        ),
    )  # fmt: skip


def publish_staged(connection: Connection, generation: int, seq: int, at: int) -> None:
    """Move the staged rows of a generation to where they are searched."""
    connection.execute(
        f"WITH moved AS (DELETE FROM staged WHERE generation = %s RETURNING {ROW_COLUMNS})"
        f" INSERT INTO live ({ROW_COLUMNS}, born, created) SELECT {ROW_COLUMNS}, %s, %s FROM moved",
        (generation, seq, at),
    )
    connection.execute("UPDATE block SET generation = NULL WHERE generation = %s", (generation,))


def retire_rows(connection: Connection, rows: Sequence[int], seq: int) -> dict[int, int]:
    """Move rows away from where they are searched, and out of the embed queue; how many had vectors, by space."""
    columns = f"{ROW_COLUMNS}, born, created"
    connection.execute(
        f"WITH gone AS (DELETE FROM live WHERE row = ANY(%s) RETURNING {columns})"
        f" INSERT INTO retired ({columns}, died) SELECT {columns}, %s FROM gone",
        (rows, seq),
    )
    connection.execute("DELETE FROM embed_queue WHERE row = ANY(%s)", (rows,))
    armed: dict[int, int] = dict(
        connection.execute(
            "SELECT space, count(*) FROM row_vector WHERE row = ANY(%s) GROUP BY space", (rows,)
        ).fetchall()
    )
    for space, sparse in spaces(connection).items():
        if not sparse:
            connection.execute(f"DELETE FROM {vec_table(space)} WHERE row = ANY(%s)", (rows,))
    return armed


def delete_rows(connection: Connection, rows: Sequence[int]) -> None:
    """Remove retired or staged rows and all that hangs on them except manifest lines and postings."""
    for table in ("text", "retired", "staged", "row_vector", "embed_queue"):
        connection.execute(f"DELETE FROM {table} WHERE row = ANY(%s)", (rows,))


def delete_generations(connection: Connection, generations: Sequence[int]) -> None:
    """Remove generations with their manifests and parents. Their rows are :func:`delete_rows`'s to remove."""
    for table, column in (("manifest", "generation"), ("parent", "generation"), ("generation", "pk")):
        connection.execute(f"DELETE FROM {table} WHERE {column} = ANY(%s)", (generations,))


def delete_blocks(connection: Connection, which: str, values: Sequence[Any]) -> None:
    """Remove blocks with their postings."""
    for pk, terms in connection.execute(f"DELETE FROM block WHERE {which} RETURNING pk, terms", values).fetchall():
        connection.execute(
            "DELETE FROM posting WHERE term = ANY(%s) AND block = %s", (numbers(np.frombuffer(terms, dtype="<i8")), pk)
        )


def words_of(connection: Connection, rows: Sequence[int]) -> dict[int, Words]:
    """The words of rows that are visible or staged."""
    if not rows:
        return {}
    found: Iterable[tuple[Any, ...]] = connection.execute(
        "SELECT t.row, l.length, t.words FROM text t JOIN live l ON l.row = t.row WHERE t.row = ANY(%s)", (rows,)
    )
    return {row: Words(length, packed) for row, length, packed in found}


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
