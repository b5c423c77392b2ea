"""What a complete set no longer holds: found, weighed against the brakes, deleted when asked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from florilege.indexing.sync.options import SyncOptions
from florilege.interfaces.paging import source_pages
from florilege.interfaces.sources import Listing
from florilege.interfaces.stores import DataStore
from florilege.model.errors import IndexingError
from florilege.model.ledger import SourceRecord, SourceResult

BRAKE_FLOOR = 20
"""Up to this many deletions pass without asking what share of the corpus they are."""


def own_sources(store: DataStore, namespace: str, corpus_id: str) -> list[SourceRecord]:
    """The sources that belong to this corpus and are not deleted."""
    pages = source_pages(store, namespace, corpus_id=corpus_id, status=("indexed", "failed"))
    return list(chain.from_iterable(pages))


def gone(
    own: Collection[SourceRecord], seen: Mapping[str, SourceResult | None], listing: Listing | None
) -> list[SourceRecord]:
    """The own sources that a complete set did not bring, inside what its listing covered.

    What lay in a container (ids continue behind ``#``) that failed this time may still be there.
    """
    failed = {source_id for source_id, result in seen.items() if result is not None and result.action == "failed"}
    return [
        row
        for row in own
        if row.source_id not in seen
        and (listing is None or listing.complete_for(row.source_id))
        and not (failed and any(outer in failed for outer in _containers(row.source_id)))
    ]


def _containers(source_id: str) -> Iterator[str]:
    """The ids of the sources this one could lie in."""
    at = source_id.rfind("#")
    while at > 0:
        yield source_id[:at]
        at = source_id.rfind("#", 0, at)


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
        "check the input, or allow it (allow_mass_delete=True, --allow-mass-delete)",
        code="mass_delete",
    )
