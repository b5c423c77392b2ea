"""What the errors of SQLite and of the system mean to a caller, and the way out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from florilege.model.errors import ConfigError, Corrupt, StoreError, Unavailable


@contextmanager
def system_errors(path: Path) -> Iterator[None]:
    """The system's errors as ours."""
    try:
        yield
    except PermissionError as error:
        raise StoreError(f"no permission to write {path}; open the store read-only", code="read_only") from error
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror or error}", code="os_error") from error


def translated(error: sqlite3.Error, path: Path) -> StoreError | ConfigError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Unavailable(f"{path} is locked by another writer; try again", code="locked", retryable=True)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Corrupt(f"{path} is damaged ({error}); run `florilege verify`, or restore a backup", code="corrupt")
    if code == sqlite3.SQLITE_FULL:
        return StoreError(f"the disk under {path} is full; nothing was written", code="disk_full", retryable=True)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreError(f"{path} cannot be written; open the store read-only", code="read_only")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR):
        return Unavailable(f"{path} cannot be read or written ({error})", code="io", retryable=True)
    return StoreError(f"{path}: {error}", code="sqlite")
