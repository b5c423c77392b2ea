"""The writer's side of words: counting texts, and words that another analyser made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from florilege.stores.postgres.server.connection import Connection, Database
from florilege.stores.postgres.server.names import made_namespace, namespace_key, next_seq
from florilege.stores.postgres.server.wire import copy
from florilege.stores.postgres.writing import rows as sql
from florilege.stores.postgres.writing.words import StatDelta, TermKeys, Words, add_block, pack
from florilege.stores.preparation import Row
from florilege.stores.terms import TextAnalyzer, count_terms

_PAGE_ROWS = 2000


class Vocabulary:
    """Turns texts into words of a namespace."""

    def __init__(self, database: Database, analyzer: Callable[[], TextAnalyzer]) -> None:
        self._database = database
        self._analyzer = analyzer
        self._keys: dict[int, TermKeys] = {}
        self._settled: set[str] = set()

    @property
    def version(self) -> str:
        """The analyser's version."""
        return self._analyzer().version

    def keys(self, namespace: int) -> TermKeys:
        """The numbers of the namespace's terms."""
        return self._keys.setdefault(namespace, TermKeys(namespace))

    def count(self, rows: Sequence[Row]) -> dict[int, Counter[str]]:
        """The counted terms of new rows whose words no other row lends, by ordinal."""
        fresh = [row for row in rows if row.carried is None and row.twin is None]
        counted = count_terms(self._analyzer(), (row.chunk.full_text for row in fresh))
        return dict(zip((row.ordinal for row in fresh), counted, strict=True))

    def words(
        self,
        connection: Connection,
        namespace: int,
        rows: Sequence[tuple[int, Row]],
        counted: Mapping[int, Counter[str]],
    ) -> list[Words]:
        """The words of new rows: counted, or those of their twins."""
        packed = dict(zip(counted, pack(self.keys(namespace), list(counted.values())), strict=True))
        lent = sql.words_of(connection, [row.twin for _, row in rows if row.twin is not None])
        return [packed[row.ordinal] if row.twin is None else lent[row.twin] for _, row in rows]

    def settle(self, namespace: str) -> None:
        """Make sure the namespace's words are this analyser's, before this handle's first write to it.

        All words are made anew in one publication; snapshots from before it are collected.
        """
        if namespace in self._settled:
            return
        analyzer = self._analyzer()

        def work(connection: Connection) -> None:
            ns = made_namespace(connection, namespace)
            found = connection.execute("SELECT analyzer FROM namespace WHERE pk = %s FOR UPDATE", (ns,)).fetchone()
            if found is not None and found[0] not in (None, analyzer.version):
                self.rebuild(connection, ns)
            connection.execute("UPDATE namespace SET analyzer = %s WHERE pk = %s", (analyzer.version, ns))

        if self._database.read(lambda connection: _version(connection, namespace)) != analyzer.version:
            self._database.write(work)
        self._settled.add(namespace)

    def rebuild(self, connection: Connection, namespace: int) -> None:
        """Make the words, postings and counts of the visible rows anew; snapshots from before are collected."""
        seq, _ = next_seq(connection, namespace)
        connection.execute("UPDATE namespace SET horizon = %s WHERE pk = %s", (seq, namespace))
        sql.delete_blocks(connection, "ns = %s AND space IS NULL", (namespace,))
        connection.execute("DELETE FROM stat_delta WHERE ns = %s", (namespace,))
        keys = self.keys(namespace)
        stats = StatDelta(keys)
        for space, count in connection.execute(
            "SELECT v.space, count(*) FROM live l JOIN row_vector v ON v.row = l.row WHERE l.ns = %s GROUP BY 1",
            (namespace,),
        ).fetchall():
            stats.count(keys.vectors(space), count)
        connection.execute("CREATE TEMP TABLE reworded (row bigint, length int, words bytea) ON COMMIT DROP")
        after = 0
        while rows := connection.execute(
            "SELECT t.row, t.content, t.context FROM text t JOIN live l ON l.row = t.row"
            " WHERE l.ns = %s AND t.row > %s ORDER BY t.row LIMIT %s",
            (namespace, after, _PAGE_ROWS),
        ).fetchall():
            after = rows[-1][0]
            texts = (
                f"{context.decode()}\n\n{text.decode()}" if context else text.decode() for _, text, context in rows
            )
            words = pack(keys, count_terms(self._analyzer(), texts))
            pks = [pk for pk, _, _ in rows]
            lines = ((pk, item.length, item.packed) for pk, item in zip(pks, words, strict=True))
            copy(connection, "reworded", "row int8, length int4, words bytea", lines)
            connection.execute("UPDATE text t SET words = r.words FROM reworded r WHERE t.row = r.row")
            connection.execute("UPDATE live l SET length = r.length FROM reworded r WHERE l.row = r.row")
            connection.execute("TRUNCATE reworded")
            add_block(connection, namespace, pks, words)
            stats.add(words, 1)
        stats.write(connection, namespace, seq)


def _version(connection: Connection, namespace: str) -> str | None:
    ns = namespace_key(connection, namespace)
    found = connection.execute("SELECT analyzer FROM namespace WHERE pk = %s", (ns,)).fetchone()
    return None if found is None else found[0]
