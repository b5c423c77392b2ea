"""What adapters over vendors' libraries share: prices, imports, and their exceptions as ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from florilege.model.errors import ConfigError, ModelError
from florilege.model.ledger import Usage


class Price(NamedTuple):
    """What a model costs a million tokens, in ``currency``."""

    input: float
    output: float
    currency: str = "USD"

    def usage(self, tokens_in: int, tokens_out: int) -> Usage:
        """One call's usage with its cost."""
        cost = (self.input * tokens_in + self.output * tokens_out) / 1e6
        return Usage(calls=1, tokens=tokens_in + tokens_out, cost=cost, currency=self.currency)


def usage_of(tokens_in: int | None, tokens_out: int | None, price: Price | None) -> Usage:
    """One call's usage; ``price`` None leaves the cost unknown."""
    counts = (tokens_in or 0, tokens_out or 0)
    return Usage(calls=1, tokens=sum(counts)) if price is None else price.usage(*counts)


def library(name: str, extra: str) -> Any:
    """The vendor's library; ConfigError names the extra that brings it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(f"{name} is not installed: pip install 'florilege[{extra}]'", code="missing_extra") from error


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Whatever a vendor's client raises, as a ModelError; its message, which may repeat the prompt, is not kept."""
    try:
        yield
    except (ModelError, ConfigError):
        raise
    except Exception as error:
        status = getattr(error, "status_code", None)
        kind = type(error).__name__
        retryable = status in (408, 409, 429) or (isinstance(status, int) and status >= 500)
        retryable = retryable or "Timeout" in kind or "Connect" in kind or isinstance(error, (TimeoutError, OSError))
        told = f"{kind}, status {status}" if isinstance(status, int) else kind
        raise ModelError(f"{what} failed: {told}", retryable=retryable) from error


def named(model: str | None, default: str | None, what: str) -> str:
    """The model to call; ConfigError when neither call nor adapter names one."""
    chosen = model or default
    if not chosen:
        raise ConfigError(f"{what}: no model named; give model= to the call or to the adapter")
    return chosen


def secret(variable: str, what: str) -> str:
    """What the environment holds under ``variable``; ConfigError when it holds nothing."""
    if not os.environ.get(variable):
        raise ConfigError(f"{what}: the environment variable {variable} is not set", code="missing_secret")
    return os.environ[variable]
