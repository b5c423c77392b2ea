"""What a complete set no longer holds: found, weighed against the brakes, deleted when asked."""

from __future__ import annotations

from collections.abc import Collection

from florilege.indexing.sync.options import SyncOptions
from florilege.interfaces.sources import Listing
from florilege.interfaces.stores import DataStore
from florilege.model.errors import IndexingError
from florilege.model.ledger import SourceRecord

BRAKE_FLOOR = 20
"""Up to this many deletions pass without asking what share of the corpus they are."""


def own_sources(store: DataStore, namespace: str, corpus_id: str) -> list[SourceRecord]:
    """The sources that belong to this corpus and are not deleted."""
    rows: list[SourceRecord] = []
    cursor = None
    while True:
        some, cursor = store.list_sources(
            namespace, corpus_id=corpus_id, status=("indexed", "failed"), limit=1000, cursor=cursor
        )
        rows += some
        if cursor is None:
            return rows


def gone(own: Collection[SourceRecord], seen: Collection[str], listing: Listing | None) -> list[SourceRecord]:
    """The own sources that a complete set did not bring, inside what its listing covered."""
    return [
        row for row in own if row.source_id not in seen and (listing is None or listing.complete_for(row.source_id))
    ]


def refusal(options: SyncOptions, corpus_id: str, *, deletions: int, own: int, listed: int) -> IndexingError | None:
    """The error that stops a delete no listing should cause by accident, or None when it may go on."""
    if options.allow_mass_delete:
        return None
    if listed == 0:
        why = "the listing is empty"
    elif deletions > BRAKE_FLOOR and deletions > options.max_delete_fraction * own:
        why = f"that is more than {options.max_delete_fraction:.0%} of them"
    else:
        return None
    return IndexingError(
        f"refused to delete {deletions} of {own} sources of corpus {corpus_id!r}: {why}; "
        "check the input, or pass allow_mass_delete=True",
        code="mass_delete",
    )
