"""Stores: where a corpus lives. Importing this is cheap; drivers and arrays load with the first use."""

from typing import TYPE_CHECKING, Any

from florilege.stores.opening import open_store, postgres_store
from florilege.stores.sqlite import SQLiteStore

if TYPE_CHECKING:
    from florilege.stores.postgres import PostgresStore

__all__ = ["PostgresStore", "SQLiteStore", "open_store"]


def __getattr__(name: str) -> Any:
    if name == "PostgresStore":
        return postgres_store()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
