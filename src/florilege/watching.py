"""Keep a corpus in step with folders while they change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from florilege.corpus import Corpus
from florilege.ingest import load
from florilege.model.errors import ConfigError
from florilege.model.ledger import SyncResult

DEBOUNCE_SECONDS = 1.0


class Stop(Protocol):
    """Anything with ``is_set``; a ``threading.Event`` will do."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...


def watch(
    corpus: Corpus,
    paths: Sequence[str | os.PathLike[str]],
    *,
    stop: Stop | None = None,
    debounce: float = DEBOUNCE_SECONDS,
    **options: Any,
) -> Iterator[SyncResult]:
    """Sync ``paths`` once, then after every burst of changes; yields each result.

    ``debounce`` seconds must pass without another change before a sync begins. ``options`` go to
    :meth:`florilege.Corpus.sync`. Ends when ``stop`` is set. What changes inside a store is no change. Needs the extra
    ``florilege[watch]`` (ConfigError without it).
    """
    try:
        import watchfiles
    except ImportError as error:
        raise ConfigError("watching needs the extra: pip install 'florilege[watch]'", code="missing_extra") from error
    changes = watchfiles.watch(
        *[os.fspath(path) for path in paths],
        watch_filter=_outside_stores(),
        debounce=int(debounce * 4000),
        step=int(debounce * 1000),
        stop_event=stop,
        rust_timeout=200,
        yield_on_timeout=True,
    )
    # The first answer, empty or not, says that the watch has begun: what changes during the first sync is not missed.
    next(changes, None)
    while True:
        yield corpus.sync(load(list(paths)), **{"source_set": "complete", **options})
        if not any(changes):  # skips the empty answers of a quiet time; ends when it is stopped
            return


def _outside_stores() -> Callable[[Any, str], bool]:
    known: dict[str, bool] = {}

    def wanted(_: Any, path: str) -> bool:
        folder = os.path.dirname(path)
        if folder not in known:
            parts = folder.split(os.sep)
            known[folder] = not any(
                os.path.exists(os.path.join(os.sep.join(parts[:end]) or os.sep, "store.db"))
                for end in range(1, len(parts) + 1)
            )
        return known[folder]

    return wanted
