"""Connections, the one writer lock, and what SQLite's errors mean to a caller.

SQLite before 3.51.3 can lose commits when a checkpoint and a writer meet in an unlucky way, and closing any other
descriptor of the database file drops this process's locks on it. Hence: nobody but sqlite3 opens the file while a
connection may be open; automatic checkpoints are off; every write transaction, every checkpoint and every close of a
connection happens under one mutex of this process and an exclusive ``flock`` on ``writer.lock``.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from urllib.parse import quote

from florilege.model.errors import ConfigError, NotFound, StoreError, Unavailable
from florilege.stores.sqlite.database import schema
from florilege.stores.sqlite.database.errors import system_errors, translated
from florilege.stores.sqlite.database.locks import WRITER, Locks

CHECKPOINT_BYTES = 16 << 20
LOCK_SECONDS = 30.0

_opened: set[tuple[int, int]] = set()
"""Database files (device, inode) this process has ever connected to: never opened by other means again."""


class Database:
    """A store folder's database. Safe to use from many threads, and after a fork."""

    def __init__(self, folder: Path, *, create: bool = True, read_only: bool = False) -> None:
        if sys.platform == "win32":
            raise ConfigError("the embedded store needs Linux or macOS", code="platform")
        self.folder = folder
        self.path = folder / "store.db"
        self.read_only = read_only
        self.on_rollback: list[Callable[[], None]] = []
        self.on_fork: list[Callable[[], None]] = []
        self._closed = False
        self._immutable = False
        self._place: tuple[int, int] | None = None
        self._next_checkpoint = CHECKPOINT_BYTES
        self._start()
        if read_only:
            self._open_read_only()
        else:
            self._open_or_create(create)

    # -- opening ------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        self._pid = os.getpid()
        self._pool: list[sqlite3.Connection] = []
        self.locks = Locks(self.folder)
        self._mutex = threading.RLock()
        weakref.finalize(self, _close_all, self._pid, self._pool, self.locks)

    def _open_read_only(self) -> None:
        if not self.path.is_file():
            raise NotFound(f"there is no store at {self.folder}", code="no_store")
        if not os.access(self.folder, os.W_OK):
            wal = self.path.with_name("store.db-wal")
            if wal.exists() and wal.stat().st_size:
                raise Unavailable(
                    f"{self.folder} cannot be written and has changes not yet merged into store.db; "
                    "open it once where it can be written",
                    code="needs_recovery",
                )
            self._immutable = True
        self._check_file()
        with self.read() as connection:
            if not schema.current(connection, self.path):
                raise ConfigError(
                    f"{self.path} has an older schema; `florilege store migrate` brings it up to date",
                    code="older_store",
                )

    def _open_or_create(self, create: bool) -> None:
        if not self.path.exists():
            if not create:
                raise NotFound(f"there is no store at {self.folder}", code="no_store")
            if self.folder.exists() and not self.folder.is_dir():
                raise ConfigError(f"{self.folder} is a file; a store is a folder", code="not_a_store")
            if self.folder.is_dir() and any(not entry.name.endswith(".lock") for entry in self.folder.iterdir()):
                raise ConfigError(
                    f"{self.folder} holds other files; name a new folder for the store", code="not_a_store"
                )
            with system_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
        self._check_file()
        with self.read() as connection:
            if schema.current(connection, self.path) and _journal_mode(connection) == "wal":
                return
            with self._locked():
                if not schema.current(connection, self.path):
                    connection.execute("BEGIN IMMEDIATE")
                    schema.upgrade(connection)
                    connection.execute("COMMIT")
                if _journal_mode(connection, "WAL") != "wal":
                    raise ConfigError(f"{self.folder}: this file system cannot hold a store (no WAL)", code="no_wal")

    def _check_file(self) -> None:
        with system_errors(self.path):
            if self.path.exists() and self._identity() not in _opened:
                schema.check_header(self.path)

    def _check_place(self) -> None:
        """Refuse to write to a database that was removed or replaced: nobody would ever find what is written."""
        try:
            place = self._identity()
        except FileNotFoundError:
            place = None
        if self._place is None:
            self._place = place
        elif place != self._place:
            raise StoreError(
                f"the store {self.folder} was removed or replaced while it was open; open it again", code="store_gone"
            )

    def _identity(self) -> tuple[int, int]:
        status = self.path.stat()
        return status.st_dev, status.st_ino

    def _connect(self) -> sqlite3.Connection:
        mode = "ro" if self.read_only else "rwc"
        uri = f"file:{quote(str(self.path))}?mode={mode}" + ("&immutable=1" if self._immutable else "")
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, check_same_thread=False, timeout=LOCK_SECONDS, cached_statements=256
        )
        _opened.add(self._identity())
        for pragma in (
            "synchronous = NORMAL",
            "wal_autocheckpoint = 0",
            "mmap_size = 0",
            "foreign_keys = ON",
            "temp_store = MEMORY",
            "cache_size = -16384",
        ):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    # -- using --------------------------------------------------------------------------------------------------

    def _here(self) -> None:
        """Refuse use after close; start afresh in a forked child, whose inherited handles belong to the parent."""
        if self._closed:
            raise StoreError(f"the store {self.folder} is closed", code="closed")
        if os.getpid() != self._pid:
            _close_all(self._pid, self._pool, self.locks)
            self._start()
            for forget in self.on_fork:
                forget()

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection outside any transaction."""
        self._here()
        with self.translated():
            connection = self._borrow()
            try:
                yield connection
            finally:
                self._give_back(connection)

    @contextmanager
    def view(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a read transaction: every statement sees the same moment. Keep it short."""
        with self.read() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A connection inside the only write transaction; an exception rolls it back."""
        self._here()
        if self.read_only:
            raise StoreError(f"the store {self.folder} is open for reading only", code="read_only")
        self._check_place()
        with self.translated(), self._locked():
            connection = self._borrow()
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    for forget in self.on_rollback:
                        forget()
                    raise
                self._checkpoint_when_due(connection)
            finally:
                self._give_back(connection)

    def _borrow(self) -> sqlite3.Connection:
        try:
            return self._pool.pop()
        except IndexError:
            return self._connect()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        if self._closed or connection.in_transaction:
            connection.close()
        else:
            self._pool.append(connection)

    # -- the lock -----------------------------------------------------------------------------------------------

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._mutex:
            descriptor = self.locks.take(WRITER, shared=False, wait=LOCK_SECONDS)
            if descriptor is None:
                raise Unavailable(
                    f"another process has been writing to {self.folder} for {LOCK_SECONDS:.0f} s; try again",
                    code="locked",
                    retryable=True,
                )
            try:
                yield
            finally:
                self.locks.release(descriptor)

    def _checkpoint_when_due(self, connection: sqlite3.Connection) -> None:
        size = self.wal_bytes()
        if size < self._next_checkpoint:
            return
        connection.execute("PRAGMA busy_timeout = 20")
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(LOCK_SECONDS * 1000)}")
        left = self.wal_bytes()
        self._next_checkpoint = CHECKPOINT_BYTES if left < CHECKPOINT_BYTES else left + CHECKPOINT_BYTES // 4

    def wal_bytes(self) -> int:
        """The size of the write-ahead log."""
        try:
            return self.path.with_name("store.db-wal").stat().st_size
        except FileNotFoundError:
            return 0

    # -- ending -------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close every connection; those in use close when they are given back."""
        if self._closed:
            return
        if os.getpid() != self._pid:
            self._here()
        locked: AbstractContextManager[None] = nullcontext() if self.read_only else self._locked()
        with suppress(Unavailable), self.translated(), locked:
            while self._pool:
                self._pool.pop().close()
        self._closed = True
        _close_all(self._pid, self._pool, self.locks)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """SQLite's errors as ours, naming the store and the way out."""
        try:
            yield
        except sqlite3.Error as error:
            raise translated(error, self.path) from error
        except UnicodeEncodeError as error:
            raise ConfigError("text with lone surrogates cannot be stored; clean it first", code="bad_text") from error


def _close_all(owner: int, pool: list[sqlite3.Connection], locks: Locks) -> None:
    while pool:
        connection = pool.pop()
        if owner == os.getpid():
            connection.close()
        else:  # inherited by a fork: closing it here would touch what the parent still uses, so it is kept for ever
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    locks.close()


def _journal_mode(connection: sqlite3.Connection, wanted: str = "") -> str:
    (mode,) = connection.execute("PRAGMA journal_mode" + (f" = {wanted}" if wanted else "")).fetchone()
    return str(mode)
