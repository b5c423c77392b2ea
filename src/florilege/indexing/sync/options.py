"""The options of a sync, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from florilege.indexing.publication import EmbedWhen
from florilege.indexing.stages import CacheMode
from florilege.model.errors import ConfigError


class Cancel(Protocol):
    """Anything that can be asked whether to stop; a ``threading.Event`` will do."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOptions:
    """The options of :meth:`florilege.Corpus.sync`, checked."""

    mode: Literal["replace_changed", "append_only"] = "replace_changed"
    source_set: Literal["partial", "complete"] = "partial"
    stale: Literal["keep", "delete"] = "keep"
    dry_run: bool = False
    max_delete_fraction: float = 0.5
    allow_mass_delete: bool = False
    embed: EmbedWhen = "before"
    cache: CacheMode | None = None
    chunking: dict[str, Any] | None = None
    concurrency: int = 2
    deadline: float | None = None
    cancel: Cancel | None = None

    def __post_init__(self) -> None:
        choices = {
            "mode": ("replace_changed", "append_only"),
            "source_set": ("partial", "complete"),
            "stale": ("keep", "delete"),
            "embed": ("before", "after"),
        }
        for option, allowed in choices.items():
            if getattr(self, option) not in allowed:
                raise ConfigError(f"sync {option}: {getattr(self, option)!r} is not one of {', '.join(allowed)}")
        if self.stale == "delete" and self.source_set != "complete":
            raise ConfigError('sync stale="delete" needs source_set="complete": a partial set cannot say what is gone')
        if not 0 <= self.max_delete_fraction <= 1:
            raise ConfigError(f"sync max_delete_fraction: {self.max_delete_fraction!r} is not between 0 and 1")
        if self.concurrency < 1:
            raise ConfigError(f"sync concurrency: {self.concurrency!r} is less than 1")
