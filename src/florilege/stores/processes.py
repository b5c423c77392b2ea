"""Which processes of this machine are still running."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def _machine() -> str:
    """This boot of this machine and its process numbering, or "" where that cannot be told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def mark(pid: int) -> str | None:
    """A mark of a running process that no other one on this machine ever has; None when there is no such process."""
    try:
        started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None
    return f"{_machine()} {pid} {started}"


def ended(known: str | None) -> bool:
    """Whether the marked process is known to have ended."""
    if known is None or not _machine():
        return False
    machine, pid, _ = known.rsplit(" ", 2)
    return machine == _machine() and mark(int(pid)) != known
