"""Connections to one schema of a PostgreSQL database: who has them, what a transaction is, what an error means."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import conninfo, errors, sql
from psycopg.pq import TransactionStatus

from florilege.model.errors import ConfigError, FlorilegeError, NotFound, StoreError, Unavailable
from florilege.stores.postgres.server.wire import register

Connection = psycopg.Connection[tuple[Any, ...]]
_T = TypeVar("_T")

MOST_CONNECTIONS = 16
WAIT_SECONDS = 30.0
_RETRIES = 3
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SESSION = {
    "client_encoding": "utf8",
    "timezone": "UTC",
    "jit": "off",  # compiling costs more than any query here
    "extra_float_digits": "1",
}


# A refused connection carries no error code, only the server's words.
_REFUSALS = ("does not exist", "authentication failed", "no password supplied", "no pg_hba.conf entry")


class Unfinished(Exception):
    """A transaction failed before its commit was sent, and may be run again."""


class Database:
    """A bounded set of connections. Share one among threads; a forked child opens its own.

    Work is given as a function of a connection, so that what is safe to repeat can be: a read whose connection was
    lost, a write that deadlocked or lost its connection before the commit was sent. A connection lost at the commit
    itself is :class:`Unavailable`, and comparing versions tells whether the write was made.
    """

    def __init__(self, dsn: str, schema: str | None, *, read_only: bool = False) -> None:
        self.dsn, named = _split(dsn)
        self.schema = schema or named or "florilege"
        self.read_only = read_only
        self.shown = _shown(self.dsn)
        self._closed = False
        self._renew()

    def _renew(self) -> None:
        self._pid = os.getpid()
        self._idle: list[Connection] = []
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)

    # -- transactions ---------------------------------------------------------------------------------------------

    def read(self, work: Callable[[Connection], _T]) -> _T:
        """What ``work`` reads from one moment of the database."""

        def moment() -> _T:
            with self.connection() as connection:
                connection.execute(_READ)
                try:
                    return work(connection)
                finally:
                    if not connection.closed:
                        connection.rollback()

        return _tried_again(moment)

    def fetch(self, query: str, values: Any = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement that reads."""

        def work() -> list[tuple[Any, ...]]:
            with self.connection() as connection:
                return connection.execute(query, values).fetchall()

        return _tried_again(work)

    def write(self, work: Callable[[Connection], _T], connection: Connection | None = None) -> _T:
        """What ``work`` returns once its changes are committed; ``connection`` is one held already."""
        if self.read_only:
            raise StoreError(f"{self.shown} is open for reading only", code="read_only")
        for left in reversed(range(_RETRIES)):
            try:
                if connection is not None:
                    return self._transact(connection, work)
                with self.connection() as own:
                    return self._transact(own, work)
            except Unfinished as failure:
                if not left or (connection is not None and connection.closed):
                    raise self._translate(failure.__cause__) from failure.__cause__
                time.sleep(0.02 * (_RETRIES - left))
        raise AssertionError("unreachable")

    def _transact(self, connection: Connection, work: Callable[[Connection], _T]) -> _T:
        with self.translated():
            try:
                connection.execute("BEGIN")
                result = work(connection)
            except (errors.DeadlockDetected, errors.SerializationFailure, errors.UniqueViolation) as error:
                connection.rollback()
                raise Unfinished from error
            except BaseException as error:
                if connection.closed and isinstance(error, psycopg.Error):
                    raise Unfinished from error
                if not connection.closed:
                    connection.rollback()
                raise
            connection.commit()
            return result

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection outside any transaction, given back afterwards unless it broke."""
        if self._closed:
            raise StoreError(f"the store {self.shown} is closed", code="closed")
        if os.getpid() != self._pid:
            self._renew()  # the parent's connections stay with the parent: libpq leaves them alone here
        free = self._free
        if not free.acquire(timeout=WAIT_SECONDS):
            raise Unavailable(f"all {MOST_CONNECTIONS} connections to {self.shown} are in use", retryable=True)
        try:
            with self.translated():
                connection = self._take()
                try:
                    yield connection
                finally:
                    self._give(connection)
        finally:
            free.release()

    def _take(self) -> Connection:
        while self._idle:
            with suppress(IndexError):
                connection = self._idle.pop()
                if _alive(connection):
                    return connection
                connection.close()
        return self.connect()

    def _give(self, connection: Connection) -> None:
        if self._closed or connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
            connection.close()
        else:
            self._idle.append(connection)

    def connect(self) -> Connection:
        """A new connection with the store's schema first and pgvector's types known."""
        connection = psycopg.connect(
            conninfo.make_conninfo(self.dsn, options=_options(self.dsn)), autocommit=True, connect_timeout=10
        )
        try:
            found = connection.execute(
                "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
                " WHERE e.extname = 'vector'"
            ).fetchone()
            path = [self.schema, *([found[0]] if found else []), "public"]
            names = sql.SQL(", ").join(map(sql.Identifier, dict.fromkeys(path)))
            connection.execute(sql.SQL("SET search_path TO {}").format(names))
            register(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    # -- ending ---------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close what is idle; connections in use close when they are given back."""
        self._closed = True
        while self._idle and os.getpid() == self._pid:
            self._idle.pop().close()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """psycopg's errors as ours, naming the store and the way out."""
        try:
            yield
        except psycopg.Error as error:
            raise self._translate(error) from error
        except UnicodeEncodeError as error:
            raise ConfigError("text with lone surrogates cannot be stored; clean it first", code="bad_text") from error

    def _translate(self, error: BaseException | None) -> FlorilegeError:
        message = _told(error)
        if isinstance(error, (errors.UndefinedTable, errors.InvalidSchemaName)):
            return NotFound(f"no store in schema {self.schema!r} of {self.shown}; create it first", code="no_store")
        if isinstance(error, psycopg.OperationalError) and any(word in message for word in _REFUSALS):
            return ConfigError(f"{self.shown} refused the connection: {message}", code="bad_dsn")
        if isinstance(error, errors.InsufficientPrivilege):
            return StoreError(f"{self.shown}: {message}; grant it, or open read-only", code="no_grant")
        if isinstance(error, errors.QueryCanceled):
            return StoreError(f"{self.shown} ended the query: {message}", code="deadline", retryable=True)
        if isinstance(error, (errors.DiskFull, errors.OutOfMemory)):
            return StoreError(f"{self.shown}: {message}; nothing was written", code="disk_full", retryable=True)
        if isinstance(error, (psycopg.OperationalError, errors.DeadlockDetected, errors.UniqueViolation)):
            return Unavailable(f"{self.shown} cannot be reached or written now: {message}", retryable=True)
        return StoreError(f"{self.shown}: {message}", code="postgres")


def _told(error: BaseException | None) -> str:
    """What the server says, without its details and context, which may repeat what was written."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return " ".join((primary or str(error)).split())


def _tried_again(work: Callable[[], _T]) -> _T:
    """What ``work`` returns, tried again when a connection was lost."""
    for left in reversed(range(_RETRIES)):
        try:
            return work()
        except Unavailable:
            if not left:
                raise
            time.sleep(0.02 * (_RETRIES - left))
    raise AssertionError("unreachable")


def _alive(connection: Connection) -> bool:
    """Whether an idle connection has nothing to say; one that has was closed by the server, or nearly always."""
    if connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if not poll.poll(0):
        return True
    try:
        connection.pgconn.consume_input()
    except psycopg.Error:
        return False
    return not poll.poll(0)


def _split(dsn: str) -> tuple[str, str | None]:
    """The DSN without our own ``schema`` parameter, and that."""
    if "://" not in dsn:
        return dsn, None
    url = urlsplit(dsn)
    given = parse_qsl(url.query, keep_blank_values=True)
    kept = [pair for pair in given if pair[0] != "schema"]
    schema = dict(given).get("schema")
    bare = urlunsplit(url._replace(query=urlencode(kept)))
    try:
        conninfo.conninfo_to_dict(bare)
    except psycopg.Error as error:
        raise ConfigError(f"that is not a PostgreSQL URL: {' '.join(str(error).split())}", code="bad_dsn") from None
    return bare, schema


def _options(dsn: str) -> str:
    given = str(conninfo.conninfo_to_dict(dsn).get("options") or "")
    return " ".join([given, *(f"-c {name}={value}" for name, value in _SESSION.items())]).strip()


def _shown(dsn: str) -> str:
    """The DSN without its password."""
    parts = conninfo.conninfo_to_dict(dsn)
    place = parts.get("host") or parts.get("hostaddr") or "localhost"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{place}{port}/{parts.get('dbname') or parts.get('user') or ''}"
