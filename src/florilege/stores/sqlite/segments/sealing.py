"""Sealing: rows that have become many are put into files, so that opening a store costs next to nothing.

The publisher does it, after its commit. More than ``seal_rows`` rows outside any file make one; eight files of a tier
become one of the next; a file of which an eighth is out of date, or which is missing or cut short, is made anew. All
of these are the same act: the rows born in a span of sequence numbers, from the files that hold them and else from
the database, are written aside, synced, renamed, and listed in place of what was listed there. What goes wrong on the
way costs nothing but time: the publication stands, and the next publisher tries again.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from florilege.model.errors import StoreError
from florilege.model.failpoints import failpoint
from florilege.stores import codecs
from florilege.stores.sqlite.database.connection import Database
from florilege.stores.sqlite.segments import listing
from florilege.stores.sqlite.segments.listing import Listed, listed

SEAL_ROWS = 4096
"""More rows than these outside any file become one."""

_LOCK = "sealing.lock"
_MOST = 8
"""So many seals' worth of rows go into a new file, and so many files of a tier become one."""

_TIERS = 2
"""Files of the tier above are never merged."""

_OUTDATED_SHARE = 0.125
_RETENTION = 600 * 1_000_000
"""Rows that died this long ago (microseconds) are left out of a new file."""


class Span(NamedTuple):
    """The sequence numbers a file is to cover, and what is listed there now."""

    first: int
    last: int
    parts: tuple[Listed, ...] = ()


class Sealer:
    """Keeps the files of a store in step with its rows."""

    def __init__(self, database: Database, seal_rows: int = SEAL_ROWS) -> None:
        self._database = database
        self._seal_rows = seal_rows
        self._changed: Counter[str] = Counter()
        self._seen: set[str] = set()

    def tend(self, namespace: str, changed: int) -> None:
        """After a publication of ``changed`` rows: do what is due. Looks into the database once a handle, and from
        then on once ``seal_rows`` rows have changed."""
        self._changed[namespace] += changed
        if namespace in self._seen and self._changed[namespace] <= self._seal_rows:
            return
        with suppress(OSError, StoreError):
            self._tend(namespace, thorough=self._changed[namespace] > self._seal_rows)
        self._seen.add(namespace)
        self._changed[namespace] = 0

    def _tend(self, namespace: str, thorough: bool) -> None:
        due = self._due(namespace, thorough)
        if due is None:
            return
        descriptor = self._database.locks.take(_LOCK, shared=False)
        if descriptor is None:
            return
        try:
            self._sweep()
            while (due := self._due(namespace, thorough=True)) is not None and self._make(*due):
                pass
        finally:
            self._database.locks.release(descriptor, _LOCK)

    # -- what is due ----------------------------------------------------------------------------------------------

    def _due(self, namespace: str, thorough: bool) -> tuple[int, Span] | None:
        """The key of the namespace, and what is to be put into one file next."""
        with self._database.view() as connection:
            found = connection.execute("SELECT pk FROM namespace WHERE name = ?", (namespace,)).fetchone()
            if found is None:
                return None
            (ns,) = found
            parts = listed(connection, ns)
            span = (
                _hole(parts, self._database.folder)
                or self._crowd(parts)
                or self._tail(connection, ns, parts[-1].last if parts else 0)
            )
            if span is None and thorough:
                span = _outdated(connection, ns, parts)
        return None if span is None else (ns, span)

    def _tail(self, connection: sqlite3.Connection, ns: int, after: int) -> Span | None:
        """The oldest rows outside any file, when there are enough."""
        count = 0
        for seq, rows in connection.execute(
            "SELECT g.published_seq, (SELECT count(*) FROM row r WHERE r.first_gen = g.pk) FROM generation g"
            " WHERE g.ns = ? AND g.published_seq > ? ORDER BY g.published_seq",
            (ns, after),
        ):
            count += rows
            if count > _MOST * self._seal_rows:
                return Span(after + 1, seq)
        if count <= self._seal_rows:
            return None
        (newest,) = connection.execute("SELECT max(seq) FROM change").fetchone()
        return Span(after + 1, newest)

    def _crowd(self, parts: Sequence[Listed]) -> Span | None:
        """The newest files of a tier and those below it, when they are eight."""
        bound = self._seal_rows
        for _ in range(_TIERS):
            bound *= _MOST
            small = 0
            while small < len(parts) and parts[-1 - small].rows < bound:
                small += 1
            if small >= _MOST:
                crowd = tuple(parts[-small:])
                return Span(crowd[0].first, crowd[-1].last, crowd)
        return None

    # -- doing it -------------------------------------------------------------------------------------------------

    def _make(self, ns: int, span: Span) -> bool:
        """Put a span into one file; whether it was listed."""
        from florilege.stores.resident import segments
        from florilege.stores.resident.feeds import Superseded
        from florilege.stores.resident.loading import merged
        from florilege.stores.sqlite.reading.feed import SQLiteFeed

        folder = self._database.folder / listing.FOLDER
        folder.mkdir(exist_ok=True)
        with self._database.view() as connection:
            store = listing.store_id(connection)
            feed = SQLiteFeed(connection, ns, self._database)
            low = max([_settled(connection), *(part.low for part in span.parts)])
            try:
                block = merged(feed.everything(low, span.first, span.last), low)
            except Superseded:
                return False
        name = f"{secrets.token_hex(16)}.segment"
        aside = folder / f"{name}.new"
        try:
            written = segments.write(aside, store, block)
            aside.rename(folder / name)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
        _sync_folder(folder)
        segment = Listed(name, span.first, span.last, low, feed.newest, len(block), *written)
        entered = self._enter(ns, span, segment)
        self._sweep()
        return entered

    def _enter(self, ns: int, span: Span, segment: Listed) -> bool:
        """List the file, unless what it was made from has changed in ways it cannot tell of."""
        with self._database.write() as connection:
            (horizon,) = connection.execute(
                "SELECT coalesce((SELECT value FROM meta WHERE key = 'horizon'), 0)"
            ).fetchone()
            reworded = connection.execute(
                "SELECT 1 FROM change WHERE seq > ? AND kind = 'lexemes'", (segment.sealed,)
            ).fetchone()
            now = tuple(part for part in listed(connection, ns) if part.last >= span.first and part.first <= span.last)
            if now != span.parts or reworded or horizon > segment.sealed:
                return False
            listing.enter(connection, ns, segment)
            failpoint("merge" if len(span.parts) > 1 else "seal")
        return True

    def _sweep(self) -> None:
        """Remove files nobody lists; the lock says that nobody is writing any."""
        folder = self._database.folder / listing.FOLDER
        if folder.is_dir():
            with self._database.read() as connection:
                names = {part.name for part in listing.every(connection)}
            for file in folder.iterdir():
                if file.name not in names and file.is_file():
                    file.unlink()


def _hole(parts: Sequence[Listed], folder: Path) -> Span | None:
    """A file that is missing or not of its size, or a span between two files that none covers."""
    after = 0
    for part in parts:
        if part.first > after + 1:
            return Span(after + 1, part.first - 1)
        if not part.intact(folder):
            return Span(part.first, part.last, (part,))
        after = part.last
    return None


def _outdated(connection: sqlite3.Connection, ns: int, parts: Sequence[Listed]) -> Span | None:
    """A file of which an eighth has died long enough ago, or has taken vectors since it was sealed."""
    if not parts:
        return None
    settled = _settled(connection)
    starts = [part.first for part in parts]
    stale: Counter[int] = Counter()
    for born, died, filled in connection.execute(
        "SELECT g.published_seq, r.died, 0 FROM row r JOIN generation g ON g.pk = r.first_gen"
        " WHERE r.died > ?2 AND r.died <= ?3 AND g.ns = ?1"
        " UNION ALL SELECT born, died, 0 FROM grave WHERE ns = ?1 AND died > ?2 AND died <= ?3"
        " UNION ALL SELECT g.published_seq, 0, v.seq FROM space s CROSS JOIN row_vector v ON v.space = s.pk"
        " AND v.seq > 0 AND v.seq > ?4"
        " CROSS JOIN row r ON r.pk = v.row CROSS JOIN generation g ON g.pk = r.first_gen WHERE g.ns = ?1",
        (ns, min(part.low for part in parts), settled, min(part.sealed for part in parts)),
    ):
        place = bisect_right(starts, born) - 1
        if place >= 0 and born <= parts[place].last and (died > parts[place].low or filled > parts[place].sealed):
            stale[place] += 1
    for place, count in stale.items():
        if count > _OUTDATED_SHARE * parts[place].rows:
            return Span(parts[place].first, parts[place].last, (parts[place],))
    return None


def _settled(connection: sqlite3.Connection) -> int:
    """The newest sequence number old enough that no reader asks for what died by it."""
    found = connection.execute(
        "SELECT seq FROM change WHERE at < ? ORDER BY seq DESC LIMIT 1", (codecs.now() - _RETENTION,)
    ).fetchone()
    return 0 if found is None else int(found[0])


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
