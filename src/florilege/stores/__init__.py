"""Stores: where a corpus lives. Importing this is cheap; arrays load with the first search."""

from florilege.stores.opening import open_store
from florilege.stores.sqlite import SQLiteStore

__all__ = ["SQLiteStore", "open_store"]
