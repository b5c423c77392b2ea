"""The lease that keeps two syncs of one corpus apart."""

from __future__ import annotations

import os
import socket
import threading
from types import TracebackType
from typing import Self

from florilege.interfaces.stores import DataStore, Fence
from florilege.model.errors import Conflict, FlorilegeError

RENEW_SECONDS = 10.0


class Lease:
    """The corpus's lease, renewed in the background while the run lasts."""

    def __init__(self, store: DataStore, namespace: str, corpus_id: str) -> None:
        self._store = store
        self._key = (namespace, corpus_id)
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self.fence: Fence | None = None
        self.lost: Conflict | None = None

    def __enter__(self) -> Self:
        holder = f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"
        self.fence = self._store.acquire_lease(*self._key, holder)
        self._thread = threading.Thread(target=self._renew, args=(self.fence,), name="florilege-lease", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        if self.fence is not None and self.lost is None:
            self._store.release_lease(self.fence)

    def check(self) -> None:
        """Raise the Conflict when somebody else took the lease over."""
        if self.lost is not None:
            raise self.lost

    def _renew(self, fence: Fence) -> None:
        while not self._done.wait(RENEW_SECONDS):
            try:
                self._store.renew_lease(fence)
            except Conflict as error:
                self.lost = error
                return
            except FlorilegeError:
                continue
