"""Who may be spoken to."""

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
