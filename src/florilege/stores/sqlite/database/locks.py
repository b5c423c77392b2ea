"""The lock files of a store's folder: who writes, who stages, who seals."""

from __future__ import annotations

import os
import time
from pathlib import Path

from florilege.stores.sqlite.database.errors import system_errors

WRITER = "writer.lock"


class Locks:
    """Advisory locks on files beside the database, whose descriptors are kept for the next time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptors: dict[str, int] = {}
        self._closed = False

    def take(self, name: str, *, shared: bool, wait: float = 0.0) -> int | None:
        """A locked descriptor of a lock file of this store, or None when ``wait`` seconds did not suffice."""
        import fcntl

        with system_errors(self._folder / name):
            descriptor = self._descriptors.pop(name, None)
            if descriptor is None:
                descriptor = os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        mode = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
        give_up = time.monotonic() + wait
        pause = 0.0005
        while True:
            try:
                fcntl.flock(descriptor, mode)
            except OSError:
                if time.monotonic() >= give_up:
                    self._keep(name, descriptor)
                    return None
                time.sleep(pause)
                pause = min(pause * 2, 0.02)
            else:
                return descriptor

    def release(self, descriptor: int, name: str = WRITER) -> None:
        """Release what :meth:`take` gave."""
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)
        self._keep(name, descriptor)

    def _keep(self, name: str, descriptor: int) -> None:
        if self._closed or self._descriptors.setdefault(name, descriptor) != descriptor:
            os.close(descriptor)

    def close(self) -> None:
        """Close what is kept; what is taken closes when it is released."""
        self._closed = True
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])
