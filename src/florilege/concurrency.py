"""Waiting on others: threads with time limits, and one private event loop for asynchronous providers.

The engine is synchronous. What a caller hands in as a coroutine function runs on one loop thread that all share and
that never closes, so clients bound to it keep working from call to call; it works inside a running loop too, since the
private one is another.
"""

from __future__ import annotations

import contextvars
import inspect
import os
import threading
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from florilege.model.errors import ConfigError

T = TypeVar("T")


class Deadline:
    """A point in time ``seconds`` from now; None is never reached."""

    def __init__(self, seconds: float | None = None) -> None:
        if seconds is not None and (isinstance(seconds, bool) or not seconds >= 0):
            raise ConfigError(f"deadline: must be a number of seconds of at least 0, not {seconds!r}")
        self._at = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Seconds until then, at least 0; None when there is no end."""
        return None if self._at is None else max(0.0, self._at - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return self.left() == 0.0


class Outcome(NamedTuple, Generic[T]):
    """How a task ended: its value, or the exception, TimeoutError for one that was not waited for any longer."""

    value: T | None
    error: BaseException | None
    seconds: float

    def result(self) -> T:
        """The value; raises the error when there is one."""
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # None is then a value of T


def concurrently(
    tasks: Sequence[Callable[[], T]],
    *,
    limit: int = 4,
    timeouts: Sequence[float | None] = (),
    deadline: Deadline | None = None,
) -> list[Outcome[T]]:
    """Run ``tasks``, at most ``limit`` at a time, and tell how each ended, in order.

    ``timeouts`` are seconds for each task from its own start. A task that outlasts its time or the deadline is left
    alone (a thread cannot be stopped) and its place given to the next. Tasks see the caller's context variables.
    """
    bounded = any(seconds is not None for seconds in timeouts) or (deadline is not None and deadline.left() is not None)
    if not bounded and (len(tasks) < 2 or limit < 2):
        return [_run(task) for task in tasks]
    return _Board(tasks, timeouts or [None] * len(tasks), deadline or Deadline()).run(min(limit, len(tasks)))


def _run(task: Callable[[], T]) -> Outcome[T]:
    started = time.perf_counter()
    try:
        value = task()
    except Exception as error:  # noqa: BLE001 told to the caller as this task's outcome
        return Outcome(None, error, time.perf_counter() - started)
    return Outcome(value, None, time.perf_counter() - started)


class _Board(Generic[T]):
    """The tasks of one call, and who works on which."""

    def __init__(self, tasks: Sequence[Callable[[], T]], timeouts: Sequence[float | None], deadline: Deadline) -> None:
        self._tasks = tasks
        self._timeouts = timeouts
        self._deadline = deadline
        self._contexts = [contextvars.copy_context() for _ in tasks]
        self._outcomes: list[Outcome[T] | None] = [None] * len(tasks)
        self._started: dict[int, float] = {}
        self._next = 0
        self._change = threading.Condition()

    def run(self, workers: int) -> list[Outcome[T]]:
        with self._change:
            for _ in range(workers):
                self._hire()
            while any(outcome is None for outcome in self._outcomes):
                self._change.wait(self._patience())
                self._give_up()
        return [outcome for outcome in self._outcomes if outcome is not None]

    def _hire(self) -> None:
        threading.Thread(target=self._work, name="florilege-work", daemon=True).start()

    def _work(self) -> None:
        index = self._take()
        while index is not None:
            try:
                outcome = self._contexts[index].run(_run, self._tasks[index])
            except BaseException as error:  # noqa: BLE001 an exit asked for in a task is the waiting caller's to see
                outcome = Outcome(None, error, 0.0)
            with self._change:
                if self._outcomes[index] is not None:
                    return  # this task was given up, and another worker took this one's place
                self._outcomes[index] = outcome
                del self._started[index]
                self._change.notify()
            index = self._take()

    def _take(self) -> int | None:
        with self._change:
            index = self._next
            if index >= len(self._tasks) or self._outcomes[index] is not None:
                return None
            self._next += 1
            self._started[index] = time.monotonic()
            self._change.notify()
            return index

    def _patience(self) -> float | None:
        """Seconds until the next task is to be given up."""
        now = time.monotonic()
        limits = [
            started + seconds - now
            for index, started in self._started.items()
            if (seconds := self._timeouts[index]) is not None
        ]
        left = self._deadline.left()
        limits += [] if left is None else [left]
        return max(0.0, min(limits)) if limits else None

    def _give_up(self) -> None:
        now = time.monotonic()
        for index, started in list(self._started.items()):
            seconds = self._timeouts[index]
            if seconds is not None and now - started >= seconds:
                del self._started[index]
                self._outcomes[index] = Outcome(None, TimeoutError(f"no answer within {seconds:g} s"), now - started)
                self._hire()
        if self._deadline.passed:
            for index, outcome in enumerate(self._outcomes):
                if outcome is None:
                    started = self._started.pop(index, now)
                    self._outcomes[index] = Outcome(None, TimeoutError("the deadline passed"), now - started)


class _Loop:
    """The private loop and its thread."""

    def __init__(self) -> None:
        import asyncio

        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="florilege-loop", daemon=True)
        self._thread.start()

    def run(self, awaitable: Awaitable[T]) -> T:
        if threading.get_ident() == self._thread.ident:
            if inspect.iscoroutine(awaitable):
                awaitable.close()
            raise ConfigError(
                "a synchronous call that needs an asynchronous provider was made from inside one; "
                "await its twin in florilege.aio there instead",
                code="nested_loop",
            )
        import asyncio

        return asyncio.run_coroutine_threadsafe(_awaited(awaitable), self._loop).result()


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


_lock = threading.Lock()
_loop: _Loop | None = None


def resolve(value: Any) -> Any:
    """``value``, or what it gives when awaited on the private loop; works inside a running loop too.

    Raises ConfigError (code ``nested_loop``) on the private loop itself, where waiting would wait for itself.
    """
    if not inspect.isawaitable(value):
        return value
    global _loop
    with _lock:
        if _loop is None or _loop.pid != os.getpid():
            _loop = _Loop()
        loop = _loop
    return loop.run(value)


_END: Any = object()


def pulled(items: AsyncIterable[T]) -> Iterator[T]:
    """The items of an asynchronous iterable, each awaited on the private loop when it is asked for."""
    iterator = aiter(items)

    async def following() -> T:
        return await anext(iterator, _END)

    try:
        while (item := resolve(following())) is not _END:
            yield item
    finally:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            resolve(close())
