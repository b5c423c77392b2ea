"""What adapters over vendors' libraries share: prices, names, and their exceptions as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from florilege.model.errors import ConfigError, ModelError
from florilege.model.ledger import Usage
from florilege.vendors import failure


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


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Whatever a vendor's client raises, as a ModelError; its message, which may repeat the prompt, is not kept."""
    try:
        yield
    except (ModelError, ConfigError):
        raise
    except Exception as error:
        failed = failure(error)
        raise ModelError(f"{what} failed: {failed.told}", retryable=failed.retryable) from error


def called(adapter: str, model: str, client: Any) -> str:
    """What errors call a model: its adapter, its name, and the host that ``client`` asks."""
    host = getattr(getattr(client, "base_url", None), "netloc", b"")
    return f"{adapter} model {model!r}" + (f" at {host.decode()}" if isinstance(host, bytes) and host else "")


def named(model: str | None, default: str | None, what: str) -> str:
    """The model to call; ConfigError when neither call nor adapter names one."""
    chosen = model or default
    if not chosen:
        raise ConfigError(f"{what}: no model named; give model= to the call or to the adapter")
    return chosen
