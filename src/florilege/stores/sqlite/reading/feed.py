"""What resident arrays are fed with: one moment of the database, a namespace at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from florilege.stores import codecs
from florilege.stores.fields import Fields
from florilege.stores.resident.masks import Masks
from florilege.stores.resident.postings import NEVER, Ints, Postings, Words, offsets_of
from florilege.stores.resident.residents import Resident, SparseVectors, Vectors
from florilege.stores.resident.search import Search
from florilege.stores.sqlite.connection import Database

_VECTORS_OF = (
    "SELECT v.row, v.seq, x.data FROM json_each(?) j CROSS JOIN row_vector v ON v.row = j.value AND v.space = ?"
    " CROSS JOIN vector x ON x.pk = v.vector"
)
_VECTORS_SINCE = (
    "SELECT v.row, v.seq, x.data FROM row_vector v CROSS JOIN vector x ON x.pk = v.vector"
    " WHERE v.space = ? AND v.seq > 0 AND v.seq > ?"
)


class SQLiteFeed:
    """See :class:`florilege.stores.resident.residents.Feed`."""

    def __init__(self, connection: sqlite3.Connection, namespace: int) -> None:
        self._connection = connection
        self._namespace = namespace
        (self.newest,) = connection.execute("SELECT coalesce(max(seq), 0) FROM change").fetchone()

    def rows(self, after: int, alive_after: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        row, source, metadata, born, died = self._columns(
            "SELECT r.pk, r.source, r.metadata, g.published_seq, coalesce(r.died, ?1)"
            " FROM generation g CROSS JOIN row r ON r.first_gen = g.pk"
            " WHERE g.ns = ?2 AND g.published_seq > ?3 AND coalesce(r.died, ?1) > ?4",
            (NEVER, self._namespace, after, alive_after),
            5,
        )
        return row, source, metadata, born, died

    def died(self, after: int) -> tuple[Ints, Ints]:
        row, died = self._columns("SELECT pk, died FROM row WHERE died > ?", (after,), 2)
        return row, died

    def words(self, rows: Ints) -> tuple[Ints, Words]:
        found = self._connection.execute(
            "SELECT l.row, l.length, l.terms, l.counts FROM json_each(?) j CROSS JOIN lexeme l ON l.row = j.value",
            (_listed(rows),),
        ).fetchall()
        row, lengths, terms, counts = zip(*found, strict=True) if found else ((), (), (), ())
        return np.array(row, dtype=np.int64), Words.from_blobs(lengths, terms, counts)

    def vectors(self, space: int, rows: Ints) -> Vectors:
        return self._dense(_VECTORS_OF, (_listed(rows), space), space)

    def filled(self, space: int, after: int) -> Vectors:
        return self._dense(_VECTORS_SINCE, (space, after), space)

    def sparse(self, space: int, rows: Ints) -> SparseVectors:
        return self._sparse(_VECTORS_OF, (_listed(rows), space))

    def sparse_filled(self, space: int, after: int) -> SparseVectors:
        return self._sparse(_VECTORS_SINCE, (space, after))

    def dimensions(self, space: int) -> int:
        (dimensions,) = self._connection.execute("SELECT dimensions FROM space WHERE pk = ?", (space,)).fetchone()
        return int(dimensions)

    def reworded(self, after: int) -> bool:
        found = self._connection.execute("SELECT 1 FROM change WHERE seq > ? AND kind = 'lexemes'", (after,))
        return found.fetchone() is not None

    def _dense(self, query: str, values: tuple[Any, ...], space: int) -> Vectors:
        rows, since, blobs = self._vectors(query, values)
        return Vectors(rows, since, codecs.decode_vectors(blobs, self.dimensions(space)))

    def _sparse(self, query: str, values: tuple[Any, ...]) -> SparseVectors:
        rows, since, blobs = self._vectors(query, values)
        sizes, ids, weights = codecs.decode_sparse(blobs)
        return SparseVectors(rows, since, Postings(offsets_of(sizes), ids, weights))

    def _vectors(self, query: str, values: tuple[Any, ...]) -> tuple[Ints, Ints, list[bytes]]:
        found = self._connection.execute(query, values).fetchall()
        return (
            np.array([row for row, _, _ in found], dtype=np.int64),
            np.array([since for _, since, _ in found], dtype=np.int64),
            [data for _, _, data in found],
        )

    def _columns(self, query: str, values: tuple[Any, ...], count: int) -> list[Ints]:
        found = self._connection.execute(query, values).fetchall()
        flat = np.fromiter(chain.from_iterable(found), dtype=np.int64, count=len(found) * count)
        return list(flat.reshape(len(found), count).T.copy())


def _listed(rows: Ints) -> str:
    return str(rows.tolist())


def feed_of(database: Database, namespace: int) -> Callable[[], AbstractContextManager[SQLiteFeed]]:
    """Opens moments of one namespace."""

    @contextmanager
    def moment() -> Iterator[SQLiteFeed]:
        with database.view() as connection:
            yield SQLiteFeed(connection, namespace)

    return moment


def search_of(database: Database, fields: Fields, oldest: Callable[[], int]) -> Search:
    """The arrays' side of a store."""

    def records(keys: Sequence[int]) -> dict[int, Any]:
        with database.read() as connection:
            found = connection.execute(
                "SELECT d.pk, d.json FROM json_each(?) j CROSS JOIN metadata d ON d.pk = j.value", (str(list(keys)),)
            ).fetchall()
        return {key: msgspec.json.decode(text) for key, text in found}

    def sources(keys: Sequence[int]) -> dict[int, str]:
        with database.read() as connection:
            return dict(
                connection.execute(
                    "SELECT s.pk, s.source_id FROM json_each(?) j CROSS JOIN source s ON s.pk = j.value",
                    (str(list(keys)),),
                ).fetchall()
            )

    def space(identity: str) -> int | None:
        with database.read() as connection:
            found = connection.execute("SELECT pk FROM space WHERE identity = ?", (identity,)).fetchone()
        return None if found is None else int(found[0])

    return Search(
        lambda namespace, held: Resident(feed_of(database, namespace), held),
        Masks(records, sources, fields),
        space,
        oldest,
    )
