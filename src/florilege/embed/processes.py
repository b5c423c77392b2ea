"""Things a process makes for itself: a forked child makes its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Calls give what ``make()`` made in this process, once, whichever thread asks first."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {}
        self._locks: dict[int, Lock] = {}

    def __call__(self) -> T:
        pid = os.getpid()
        if (made := self._made.get(pid)) is not None:
            return made
        with self._locks.setdefault(pid, Lock()):  # a lock by process: one held during a fork stays locked in the child
            if pid not in self._made:
                self._made[pid] = self._make()
            return self._made[pid]
