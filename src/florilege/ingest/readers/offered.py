"""Readers and observers that other distributions have installed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from florilege.discovery import Offer, third_parties
from florilege.interfaces.chunking import CapabilityDescriptor
from florilege.interfaces.sources import SourceFacts, SourceObserver
from florilege.model.document import Document, IngestWarning
from florilege.model.hashing import hexdigest, plain
from florilege.text.clean import clean_value

_log = logging.getLogger(__name__)


def offered_readers() -> Iterator[tuple[Offer, CapabilityDescriptor]]:
    """The capabilities of kind ``reader``, with who offers them."""
    for offer in third_parties():
        for descriptor in offer.descriptors:
            if descriptor.kind == "reader":
                yield offer, descriptor


def observers() -> tuple[SourceObserver, ...]:
    """The observers there are. A provider that cannot give its own is logged and has none."""
    found: list[SourceObserver] = []
    for offer in third_parties():
        if hasattr(offer.provider, "observers"):
            try:
                found += offer.provider.observers()
            except Exception:  # noqa: BLE001 - a third party's failure costs its observers only
                _log.exception("provider %s has no observers to give", offer)
    return tuple(found)


def observed(document: Document, data: bytes, watching: Sequence[SourceObserver], seconds: float) -> Document:
    """``document`` with what observers add to its metadata; one that fails is a warning."""
    facts = SourceFacts(
        source_id=document.source_id,
        size=len(data),
        content_hash=hexdigest(data),
        media_type=document.media_type or "",
        reader=document.reader or "",
        read_seconds=seconds,
    )
    metadata, warnings = dict(document.metadata), list(document.warnings)
    for observer in watching:
        try:
            added = dict(observer.observe(facts) or {})
            plain(added)
        except Exception as error:  # noqa: BLE001 - a third party's failure is not the source's
            name = f"{type(observer).__module__}.{type(observer).__qualname__}"
            message = f"observer {name} failed ({type(error).__name__})"
            _log.warning("%s on %s", message, document.source_id)
            warnings.append(IngestWarning(code="observer_failed", message=message))
            continue
        metadata.update(clean_value(added))
    return replace(document, metadata=metadata, warnings=tuple(warnings))
