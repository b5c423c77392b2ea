"""Where sources lie and what they are called.

A source id is the path relative to the project's root: POSIX, in Unicode normal form C, case kept, bytes that are
no UTF-8 percent-encoded. Outside the root it is a file URI.
"""

from __future__ import annotations

import os
import stat
import time
import unicodedata
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from florilege.model.errors import ConfigError

_YOUNG_NS = 2_000_000_000


def project_root(root: str | os.PathLike[str] | None = None) -> str:
    """``root``, else the nearest folder from the working directory upward that holds ``florilege.toml`` or
    ``.florilege``, else the working directory; resolved."""
    if root is not None:
        found = os.path.realpath(root)
        if not os.path.isdir(found):
            raise ConfigError(f"root={os.fspath(root)!r} is not a folder", code="bad_root")
        return found
    here = Path(os.path.realpath(os.getcwd()))
    for folder in (here, *here.parents):
        if (folder / "florilege.toml").is_file() or (folder / ".florilege").is_dir():
            return str(folder)
    return str(here)


def normal(text: str) -> str:
    """A path in normal form C, with undecodable bytes percent-encoded."""
    shown = "".join(f"%{ord(c) - 0xDC00:02X}" if "\udc80" <= c <= "\udcff" else c for c in text)
    return unicodedata.normalize("NFC", shown)


def is_inside(path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or lies in it, by spelling alone."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def source_id(path: str, root: str) -> str:
    """The id of an absolute ``path``."""
    if is_inside(path, root) and path != root:
        return normal(path[len(root.rstrip("/")) + 1 :])
    return file_uri(path)


def file_uri(path: str) -> str:
    """``path`` as a file URI, in normal form C."""
    return "file://" + quote(unicodedata.normalize("NFC", path).encode("utf-8", "surrogateescape"), safe="/")


def id_path(identity: str, root: str) -> str | None:
    """The path a source id would have, in the spelling of :func:`normal`; None for ids of other kinds."""
    if identity.startswith("file://"):
        return normal(os.fsdecode(unquote_to_bytes(identity[7:])))
    if "://" in identity or identity.startswith("bytes:"):
        return None
    return normal(root.rstrip("/") + "/" + identity)


def revision(status: os.stat_result) -> str:
    """The cheap mark of a file's bytes: size, modification and change time, inode."""
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}-{status.st_ino}"


def trusted_revision(status: os.stat_result) -> str | None:
    """The mark, or None when the file changed less than two seconds ago: it may change again within one tick."""
    return None if time.time_ns() - status.st_ctime_ns < _YOUNG_NS else revision(status)


def is_store(folder: str) -> bool:
    """Whether ``folder`` is a store: nothing in it may be opened by anybody but its own code."""
    return os.path.lexists(os.path.join(folder, "store.db")) and os.path.lexists(os.path.join(folder, "writer.lock"))


def enclosing_store(path: str) -> str | None:
    """The store that ``path`` is or lies in."""
    folder = path
    while True:
        if is_store(folder):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def store_inodes(folder: str) -> set[tuple[int, int]]:
    """(device, inode) of every file of every store under ``folder``: what a hard link elsewhere may point to."""
    found: set[tuple[int, int]] = set()
    for place, _, names in os.walk(folder):
        if enclosing_store(place):
            for name in names:
                status = os.lstat(os.path.join(place, name))
                if stat.S_ISREG(status.st_mode):
                    found.add((status.st_dev, status.st_ino))
    return found
