"""The exceptions of vendors' clients as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from florilege.model.errors import ConfigError, EmbeddingError, FlorilegeError
from florilege.vendors import failure

_REFUSED = {401: "the key is not accepted", 403: "the key may not do this", 404: "there is no such model or address"}


@contextmanager
def translated(what: str, count: int) -> Iterator[None]:
    """Whatever a vendor's client raises, as an EmbeddingError; its message, which may repeat the input, is not kept.

    ConfigError (code ``refused``) when no call with this key and model can succeed.
    """
    try:
        yield
    except FlorilegeError:
        raise
    except Exception as error:
        failed = failure(error)
        if failed.status in _REFUSED:
            raise ConfigError(f"{what}: {_REFUSED[failed.status]} ({failed.told})", code="refused") from error
        if failed.status == 429 and getattr(error, "code", None) == "insufficient_quota":
            raise ConfigError(f"{what}: the account's quota is spent", code="refused") from error
        raised = EmbeddingError(
            f"{what} failed on {count} texts: {failed.told}", stage="embedding", retryable=failed.retryable
        )
        raised.retry_after = failed.retry_after
        raise raised from error
