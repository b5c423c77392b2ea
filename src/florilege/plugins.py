"""Plugins put together: who offers what, the page chunkers of others, and the pipeline that asks them first."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from florilege.discovery import FACTORIES, Offer, Snapshot, factory, offers, snapshot, third_parties
from florilege.indexing.pipeline import Pipeline
from florilege.interfaces.chunking import Chunker, PageChunks, PageOutput

if TYPE_CHECKING:
    from florilege.ingest.workers import WorkerPool

CHUNKER_SECONDS = 30.0

_log = logging.getLogger(__name__)

__all__ = [
    "FACTORIES",
    "IsolatedChunker",
    "Offer",
    "Snapshot",
    "default_pipeline",
    "factory",
    "offers",
    "page_chunkers",
    "snapshot",
]


@dataclass(frozen=True, slots=True)
class IsolatedChunker:
    """Somebody else's page chunker, asked in a worker process that is killed past ``time_limit`` seconds.

    ``name`` says whose it is: distribution, entry point and class; ``version`` is the distribution's.
    """

    name: str
    version: str
    target: str
    number: int
    fallback: bool = False
    time_limit: float = CHUNKER_SECONDS
    pool: WorkerPool | None = None

    def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> tuple[PageChunks, ...]:
        """What it claims. Raises :class:`florilege.ReadError` when it hangs, crashes, raises or answers nonsense."""
        from florilege.ingest.workers import default_pool

        pool = self.pool or default_pool()
        return pool.chunk(self.target, self.number, content, media_type, outputs, time_limit=self.time_limit)


def page_chunkers(*, time_limit: float = CHUNKER_SECONDS, pool: WorkerPool | None = None) -> tuple[Chunker, ...]:
    """The page chunkers that others have installed, by distribution and entry point.

    A provider that cannot give its own is logged and has none. Raises :class:`florilege.ConfigError` when two
    capabilities have one id.
    """
    return tuple(
        IsolatedChunker(
            name=f"{offer.distribution}:{offer.name}:{type(chunker).__qualname__}",
            version=offer.version,
            target=offer.target,
            number=number,
            fallback=bool(getattr(chunker, "fallback", False)),
            time_limit=time_limit,
            pool=pool,
        )
        for offer in third_parties()
        for number, chunker in enumerate(_chunkers(offer))
    )


def default_pipeline() -> Pipeline:
    """Structured chunking; installed page chunkers are asked first, and the pages they claim are theirs."""
    from florilege import chunkers

    installed = [chunker for chunker in page_chunkers() if not getattr(chunker, "fallback", False)]
    if not installed:
        return Pipeline()
    return Pipeline(chunker=chunkers.pages(installed, rest=chunkers.structured(), time_limit=None))


def _chunkers(offer: Offer) -> Iterator[Chunker]:
    if hasattr(offer.provider, "chunkers"):
        try:
            yield from offer.provider.chunkers()
        except Exception:  # noqa: BLE001 - a third party's failure costs its chunkers only
            _log.exception("provider %s has no page chunkers to give", offer)
