"""Vendors' libraries: brought in when they are used, and what their exceptions say that may be told."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any, NamedTuple

from florilege.model.errors import ConfigError

_BUSY = frozenset({408, 409, 425, 429})


def library(name: str, extra: str) -> Any:
    """The vendor's library; ConfigError names the extra that brings it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(f"{name} is not installed: pip install 'florilege[{extra}]'", code="missing_extra") from error


def client(module: str, kind: str, variable: str, options: Mapping[str, Any]) -> Any:
    """The client ``kind`` of a vendor's library, made with those ``options`` that are not None; ConfigError when it
    takes them for too few, which for want of a key names the environment ``variable`` it is read from.
    """
    make = getattr(library(module, module), kind)
    try:
        return make(**{name: value for name, value in options.items() if value is not None})
    except Exception as error:
        keyless = not (options.get("api_key") or os.environ.get(variable))
        why = f"no key is given, and {variable} is not set" if keyless else type(error).__name__
        code = "missing_secret" if keyless else "bad_option"
        raise ConfigError(f"{module}: no client could be made: {why}", code=code) from error


def secret(variable: str, what: str) -> str:
    """What the environment holds under ``variable``; ConfigError when it holds nothing."""
    if not os.environ.get(variable):
        raise ConfigError(f"{what}: the environment variable {variable} is not set", code="missing_secret")
    return os.environ[variable]


class Failure(NamedTuple):
    """What a client's exception says; its message, which may repeat the input, is not part of it.

    ``retry_after``: the seconds the other side asks to wait, where it is busy and names a time.
    """

    told: str
    status: int | None
    retryable: bool
    retry_after: float | None


def failure(error: Exception) -> Failure:
    """What may be told of ``error``, and whether the same call may succeed later."""
    status = getattr(error, "status_code", None)
    kind = type(error).__name__
    if not isinstance(status, int):
        lost = isinstance(error, (TimeoutError, OSError)) or "Timeout" in kind or "Connect" in kind
        return Failure(kind, None, lost, None)
    busy = status in _BUSY or status >= 500
    return Failure(f"{kind}, status {status}", status, busy, _retry_after(error) if busy else None)


def _retry_after(error: Exception) -> float | None:
    """``retry-after-ms``, or ``retry-after`` as seconds or as a date."""
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
