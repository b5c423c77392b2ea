"""Progress of a sync in a terminal: an event subscriber that draws bars, and nothing when piped."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

from florilege.model.events import Event


class Progress:
    """Subscribe it to a sync's events; use it as a context manager."""

    def __init__(self, *, enabled: bool = True) -> None:
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._enabled = enabled and sys.stderr.isatty()

    def __enter__(self) -> Self:
        if self._enabled:
            from rich import progress
            from rich.console import Console

            columns = (
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TextColumn("{task.fields[rate]}"),
                progress.TimeRemainingColumn(),
            )
            self._bars = progress.Progress(*columns, console=Console(stderr=True), transient=True)
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if self._bars is None:
            return
        if event.kind.startswith("corpus.source."):
            self._bars.advance(self._task("sources", None))
        elif event.kind == "corpus.embed.progress":
            task = self._task("embedding", event.counts["total"])
            self._bars.update(task, completed=event.counts["done"], total=event.counts["total"])
        for name, task in self._tasks.items():
            speed = self._bars.tasks[task].speed if name in self._tasks else None
            self._bars.update(task, rate=f"{speed:.0f}/s" if speed else "")

    def _task(self, name: str, total: int | None) -> Any:
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=total, rate="")
        return self._tasks[name]
