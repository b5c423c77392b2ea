"""Many items a few at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from florilege.interfaces.stores import DataStore
    from florilege.model.ledger import SourceRecord


def batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """``items`` in lists of at most ``size``, in order."""
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch


def source_pages(store: DataStore, namespace: str, *, limit: int = 1000, **which: Any) -> Iterator[list[SourceRecord]]:
    """Ledger rows by source id, ``limit`` a page and no page empty; ``which`` as in ``DataStore.list_sources``."""
    cursor = None
    while True:
        page, cursor = store.list_sources(namespace, limit=limit, cursor=cursor, **which)
        if page:
            yield page
        if cursor is None:
            return
