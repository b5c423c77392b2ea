"""Who may be spoken to, and how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from florilege.model.errors import ConfigError

if TYPE_CHECKING:
    import ssl


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """``private`` names hosts that may lie in private networks, ``trust`` is a file of certificates that are trusted
    besides the system's."""

    private: frozenset[str] = frozenset()
    trust: str | None = None

    def tls(self) -> ssl.SSLContext:
        """What connections are checked with. Raises :class:`ConfigError` for a file that holds no certificates."""
        import ssl

        context = ssl.create_default_context()
        if self.trust is not None:
            try:
                context.load_verify_locations(cafile=self.trust)
            except OSError as error:
                raise ConfigError(f"trust={self.trust!r} is not a file of certificates", code="bad_option") from error
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl:
    """How far a site is followed from a page: ``depth`` links away, ``pages`` sources and ``bytes`` in all.

    Only what lies on the same host and below the folder of the first page is taken, if ``robots.txt`` allows it;
    requests are at least ``delay`` seconds apart, more (to 10 s) if it asks for more. Raises :class:`ConfigError`.
    """

    depth: int = 3
    pages: int = 500
    bytes: int = 200_000_000
    delay: float = 0.5

    def __post_init__(self) -> None:
        if self.depth < 0 or self.pages < 1 or self.bytes < 1 or not 0 <= self.delay < 3600:
            raise ConfigError("Crawl takes depth and delay of 0 or more, pages and bytes above 0", code="bad_option")
