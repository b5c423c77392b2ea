"""The embedded store."""

from florilege.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
