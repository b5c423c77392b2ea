"""The page chunkers that other distributions have installed, asked in processes that can be killed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from florilege.discovery import Offer, third_parties
from florilege.interfaces.chunking import Chunker, PageChunks, PageOutput
from florilege.isolation import CALL_SECONDS, WorkerPool, default_pool

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InstalledChunker:
    """Somebody else's page chunker, asked in a worker process that is killed past ``time_limit`` seconds.

    ``name`` says whose it is: distribution, entry point and class; ``version`` is the distribution's.
    """

    name: str
    version: str
    target: str
    number: int
    fallback: bool = False
    time_limit: float = CALL_SECONDS
    pool: WorkerPool | None = None

    def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> tuple[PageChunks, ...]:
        """What it claims. Raises :class:`florilege.ReadError` when it hangs, crashes, raises or answers nonsense."""
        import msgspec

        pages = msgspec.to_builtins(outputs)
        job = {
            "call": "chunk",
            "target": self.target,
            "number": self.number,
            "media_type": media_type,
            "outputs": pages,
        }
        decoder = msgspec.json.Decoder(tuple[int, tuple[PageChunks, ...]])
        pool = self.pool or default_pool()
        claims: tuple[PageChunks, ...] = pool.call(
            f"page chunker {self.name}", job, content, decoder, time_limit=self.time_limit
        )
        return claims


def installed(*, time_limit: float = CALL_SECONDS, pool: WorkerPool | None = None) -> tuple[Chunker, ...]:
    """The page chunkers that others have installed, by distribution and entry point.

    A provider that cannot give its own is logged and has none. Raises :class:`florilege.ConfigError` when two
    capabilities have one id.
    """
    return tuple(
        InstalledChunker(
            name=f"{offer.distribution}:{offer.name}:{type(chunker).__qualname__}",
            version=offer.version,
            target=offer.target,
            number=number,
            fallback=bool(getattr(chunker, "fallback", False)),
            time_limit=time_limit,
            pool=pool,
        )
        for offer in third_parties()
        for number, chunker in enumerate(_given(offer))
    )


def _given(offer: Offer) -> Iterator[Chunker]:
    if hasattr(offer.provider, "chunkers"):
        try:
            yield from offer.provider.chunkers()
        except Exception:  # noqa: BLE001 - a third party's failure costs its chunkers only
            _log.exception("provider %s has no page chunkers to give", offer)
