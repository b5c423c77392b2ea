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
from florilege.stores.resident import segments
from florilege.stores.resident.blocks import Block
from florilege.stores.resident.feeds import Sealed, SparseVectors, Superseded, Vectors
from florilege.stores.resident.inverted import NEVER, Ints, offsets_of
from florilege.stores.resident.loading import Legs, load
from florilege.stores.resident.postings import Postings, Words
from florilege.stores.resident.residents import Resident
from florilege.stores.resident.searching.masks import Masks
from florilege.stores.resident.searching.search import Search
from florilege.stores.sqlite.database.connection import Database
from florilege.stores.sqlite.segments.listing import listed, store_id

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

    def __init__(self, connection: sqlite3.Connection, namespace: int, database: Database) -> None:
        self._connection = connection
        self._namespace = namespace
        self._database = database
        (self.newest,) = connection.execute("SELECT coalesce(max(seq), 0) FROM change").fetchone()
        (self.horizon,) = connection.execute(
            "SELECT coalesce((SELECT value FROM meta WHERE key = 'horizon'), 0)"
        ).fetchone()

    def sealed(self, alive_after: int) -> list[Sealed]:
        store = store_id(self._connection)
        found = []
        for part in listed(self._connection, self._namespace):
            if part.low > alive_after:
                continue
            try:
                block = segments.sealed(part.path(self._database.folder), store, part.rows, part.size)
            except segments.Unfit:
                with self._database.read() as connection:
                    if part not in listed(connection, self._namespace):
                        raise Superseded from None
                continue
            block.sealed = part.sealed
            found.append(Sealed(part.first, part.last, block))
        return found

    def everything(self, alive_after: int, first: int, last: int) -> list[Block]:
        """The rows born in a span with all their legs, of the spaces any of them has a vector of."""
        spaces = self._connection.execute("SELECT pk, sparse FROM space").fetchall()
        legs = Legs(
            True,
            frozenset(pk for pk, sparse in spaces if not sparse),
            frozenset(pk for pk, sparse in spaces if sparse),
        )
        blocks = load(self, alive_after, legs, first, last)
        for pk, _ in spaces:
            holders = [block.codes.get(pk) or block.weights[pk] for block in blocks]
            if all((holder.since == NEVER).all() for holder in holders):
                for block in blocks:
                    block.codes.pop(pk, None)
                    block.weights.pop(pk, None)
        return blocks

    def rows(self, after: int, upto: int, alive_after: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        row, source, metadata, born, died = self._columns(
            "SELECT r.pk, r.source, r.metadata, g.published_seq, coalesce(r.died, ?1)"
            " FROM generation g CROSS JOIN row r ON r.first_gen = g.pk"
            " WHERE g.ns = ?2 AND g.published_seq > ?3 AND g.published_seq <= ?4 AND coalesce(r.died, ?1) > ?5",
            (NEVER, self._namespace, after, upto, alive_after),
            5,
        )
        return row, source, metadata, born, died

    def died(self, after: int) -> tuple[Ints, Ints]:
        row, died = self._columns(
            "SELECT pk, died FROM row WHERE died > ?1"
            " UNION ALL SELECT row, died FROM grave WHERE ns = ?2 AND died > ?1",
            (after, self._namespace),
            2,
        )
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
            yield SQLiteFeed(connection, namespace, database)

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
