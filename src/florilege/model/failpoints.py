"""Named places where a test may kill the process.

``FLORILEGE_FAILPOINT=name:count`` in the environment makes the ``count``-th arrival at ``name`` (1 when left out) the
process's last act: SIGKILL, as a power cut would. Unset, a failpoint is one look into an empty dictionary.
"""

from __future__ import annotations

import os
import signal


def _armed(setting: str) -> dict[str, int]:
    name, _, count = setting.partition(":")
    return {name: int(count or 1)} if name else {}


_left = _armed(os.environ.get("FLORILEGE_FAILPOINT", ""))


def failpoint(name: str) -> None:
    """Die here if the environment says so."""
    if name in _left:
        _left[name] -= 1
        if _left[name] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
