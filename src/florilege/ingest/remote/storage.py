"""Reading files by key, below a root that no key leaves."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any

from florilege.ingest.paths import enclosing_store, is_inside
from florilege.ingest.reading import MAX_BYTES
from florilege.ingest.remote.buckets import SCHEME, Bucket, open_bucket
from florilege.model.errors import ConfigError, LoadError


class Storage:
    """The files below ``root``: a folder, or an address that :func:`florilege.load` understands (``s3://bucket/docs``).

    A key is relative, with slashes on every system. What it leads to must lie under the root when it is opened, links
    followed. ``max_bytes`` bounds one file; ``storage_options`` go to the library that serves the address.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        max_bytes: int = MAX_BYTES,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if max_bytes < 1:
            raise ConfigError("Storage max_bytes: must be above 0", code="bad_option")
        self._max_bytes = max_bytes
        self._bucket: Bucket | None = None
        place = os.fspath(root)
        if SCHEME.match(place):
            self._bucket, _, prefix = open_bucket(place, storage_options or {})
            self._root = prefix.strip("/")
            return
        self._root = os.path.realpath(place)
        if not os.path.isdir(self._root):
            raise ConfigError(f"Storage root: {place!r} is not a folder", code="bad_root")

    def read(self, key: str) -> bytes:
        """The bytes under ``key``.

        Raises :class:`LoadError`: ``bad_key``, ``outside``, ``not_found``, ``too_large``, ``permission``, ...
        """
        checked = _checked(key)
        if self._bucket is None:
            return self._from_folder(key, checked)
        data = bytearray()
        _, pieces = self._bucket.stream(f"{self._root}/{checked}" if self._root else checked)
        for piece in pieces:
            data += piece
            self._check_size(key, len(data))
        return bytes(data)

    def _from_folder(self, key: str, checked: str) -> bytes:
        path = os.path.realpath(os.path.join(self._root, checked))
        if not is_inside(path, self._root) or enclosing_store(os.path.dirname(path)):
            raise LoadError(f"key {key!r} leads out of the storage", code="outside")
        try:
            descriptor = _opened(self._root, path[len(self._root) :].strip("/"))
        except OSError as error:
            code = "not_found" if isinstance(error, (FileNotFoundError, NotADirectoryError)) else "unreadable"
            raise LoadError(f"key {key!r} cannot be opened ({error.strerror})", code=code, retryable=True) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise LoadError(f"key {key!r} is no file", code="not_a_file")
        with os.fdopen(descriptor, "rb") as stream:
            data = stream.read(self._max_bytes + 1)
        self._check_size(key, len(data))
        return data

    def _check_size(self, key: str, size: int) -> None:
        if size > self._max_bytes:
            raise LoadError(f"key {key!r} is larger than {self._max_bytes:,} bytes (max_bytes=)", code="too_large")


def _checked(key: str) -> str:
    """``key`` when it is a plain relative one."""
    if not isinstance(key, str) or not key or "\x00" in key:
        raise LoadError("a key is a text that is not empty", code="bad_key")
    steps = key.replace("\\", "/").split("/")
    if any(step in ("", ".", "..") for step in steps) or SCHEME.match(key):
        raise LoadError(f"key {key!r} is not a relative path without dots", code="bad_key")
    return key


def _opened(root: str, relative: str) -> int:
    """Open a resolved path step by step from ``root``, following no link that came in between."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    place = os.open(root, flags | os.O_DIRECTORY)
    try:
        *folders, name = relative.split("/")
        for folder in folders:
            inner = os.open(folder, flags | os.O_DIRECTORY, dir_fd=place)
            os.close(place)
            place = inner
        return os.open(name, flags | os.O_NONBLOCK, dir_fd=place)
    finally:
        os.close(place)
