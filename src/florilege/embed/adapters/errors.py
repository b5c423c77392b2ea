"""Vendors' libraries: brought in when they are used, their exceptions as ours."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any

from florilege.model.errors import ConfigError, EmbeddingError, FlorilegeError

_BUSY = frozenset({408, 409, 425, 429})
_REFUSED = {401: "the key is not accepted", 403: "the key may not do this", 404: "there is no such model or address"}


def library(name: str, extra: str) -> Any:
    """The vendor's library; ConfigError names the extra that brings it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(f"{name} is not installed: pip install 'florilege[{extra}]'", code="missing_extra") from error


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
        status = getattr(error, "status_code", None)
        kind = type(error).__name__
        if status in _REFUSED:
            raise ConfigError(f"{what}: {_REFUSED[status]} ({kind}, status {status})", code="refused") from error
        if status == 429 and getattr(error, "code", None) == "insufficient_quota":
            raise ConfigError(f"{what}: the account's quota is spent", code="refused") from error
        busy = status in _BUSY or (isinstance(status, int) and status >= 500)
        lost = status is None and (
            isinstance(error, (TimeoutError, ConnectionError)) or "Timeout" in kind or "Connect" in kind
        )
        told = f"{kind}, status {status}" if isinstance(status, int) else kind
        failure = EmbeddingError(f"{what} failed on {count} texts: {told}", stage="embedding", retryable=busy or lost)
        failure.retry_after = _retry_after(error) if busy else None
        raise failure from error


def _retry_after(error: Exception) -> float | None:
    """The seconds the other side asks to wait: ``retry-after-ms``, or ``retry-after`` as seconds or as a date."""
    headers = getattr(error, "headers", None) or getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    named = {str(name).lower(): str(value) for name, value in headers.items()}
    if (exact := _number(named.get("retry-after-ms"))) is not None:
        return exact / 1000
    asked = named.get("retry-after")
    if asked is None or (seconds := _number(asked)) is not None:
        return None if asked is None else seconds
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None
