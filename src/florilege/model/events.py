"""Events: what subscribers are told while work goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_log = logging.getLogger("florilege.events")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something happened.

    ``kind`` is a dotted literal: "index.start", "index.end", "corpus.sync.start", "corpus.source.added" (or changed,
    unchanged, skipped, failed, stale, deleted), "corpus.embed.progress", "corpus.sync.end", "recipe.step.start", ...
    ``counts`` and ``facts`` hold numbers and plain values, never document text. ``stages`` are the
    :class:`~florilege.model.ledger.StageRecord` of what ran: of one source, or, in "index.end", of all of the call.
    """

    kind: str
    namespace: str | None = None
    source_id: str | None = None
    operation: str | None = None
    span_id: str | None = None
    parent_id: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    stages: tuple[Any, ...] = ()


Subscriber = Callable[[Event], object]


def emit(subscriber: Subscriber | None, event: Event) -> None:
    """Tell ``subscriber``; its failure is logged and never fatal."""
    if subscriber is None:
        return
    try:
        subscriber(event)
    except Exception:  # noqa: BLE001 a subscriber is user code; the work goes on without it
        _log.exception("event subscriber failed on %s", event.kind)
