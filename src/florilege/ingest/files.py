"""Finding files: one sorted walk under ignore rules, and sources that are opened only when read.

Nothing inside a store is ever opened: closing any descriptor of a database file drops the locks the process holds on
it. Stores are recognised by name before opening, hard links to their files by device and inode.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

from florilege.ingest.containers.region import Region
from florilege.ingest.ignore import DEFAULT_PATTERNS, IgnoreRules, is_ignored
from florilege.ingest.paths import (
    enclosing_store,
    file_uri,
    id_path,
    is_inside,
    is_store,
    normal,
    revision,
    source_id,
    store_inodes,
    trusted_revision,
)
from florilege.ingest.reading import Reading, failed
from florilege.ingest.source import ByteSource
from florilege.model.document import Failed
from florilege.model.errors import LoadError, ReadError

_IGNORE_FILES = (".gitignore", ".florilegeignore")


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What a walk takes: ``include`` patterns a file must match (none: all), ``ignore`` patterns on top of ignore files
    and defaults, hidden names, links (followed only to what lies inside the folder walked)."""

    include: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ignore_files: bool = True
    hidden: bool = False
    links: bool = False


class FileSource(ByteSource):
    """A file that has been found. Its revision is taken from the directory; bytes are read when they are asked for."""

    def __init__(self, path: str, status: os.stat_result, *, root: str, limit: str, reading: Reading) -> None:
        super().__init__(source_id(path, root), reading, name=path)
        self.path = path
        self.uri = file_uri(path)
        self.revision: str | None = revision(status)
        self._limit = limit
        self._trusted: str | None = None

    @property
    def read_revision(self) -> str | None:
        """The mark of the bytes that were read; None when they were written so lately that it may not tell."""
        return self._trusted

    def region(self) -> Region:
        """The file, open as long as the region lives."""
        descriptor = self._open()
        self._trusted = trusted_revision(os.fstat(descriptor))
        return Region.of_file(descriptor)

    def fetch(self) -> bytes:
        """All bytes. A file that changes while it is read is read again, then fails with ``changed``."""
        for _ in range(3):
            try:
                with os.fdopen(self._open(), "rb") as stream:
                    before = os.fstat(stream.fileno())
                    self._trusted = trusted_revision(before)
                    if before.st_size > self.reading.max_bytes:
                        message = (
                            f"{before.st_size:,} bytes exceed the limit of {self.reading.max_bytes:,} (max_bytes=)"
                        )
                        raise ReadError(message, code="too_large", stage=self.reader)
                    data = stream.read(self.reading.max_bytes + 1)
                    after = os.fstat(stream.fileno())
            except OSError as error:
                raise os_error(error) from error
            if revision(before) == revision(after) and len(data) == after.st_size:
                return data
        raise LoadError("the file kept changing while it was read", code="changed", retryable=True)

    def _open(self) -> int:
        """Open what was found: the same inode, still inside the folder, still a file, no link."""
        try:
            if not is_inside(os.path.realpath(self.path), self._limit):
                raise LoadError("the file now lies outside the folder it was found in", code="outside", retryable=True)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise os_error(error) from error
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise LoadError("it is no longer a regular file", code="not_a_file", retryable=True)
        return descriptor


def os_error(error: OSError) -> LoadError:
    """An operating system's refusal as a :class:`LoadError` with a stable code."""
    if isinstance(error, FileNotFoundError):
        return LoadError("there is no such file", code="not_found", retryable=True)
    if isinstance(error, PermissionError):
        return LoadError("it may not be read (permission denied)", code="permission", retryable=True)
    return LoadError(
        f"it cannot be opened ({error.strerror or type(error).__name__})", code="unreadable", retryable=True
    )


@dataclass(slots=True)
class FolderListing:
    """The files under ``base`` (absolute, resolved) that ``walk`` takes and ``pattern`` matches (None: all)."""

    base: str
    root: str
    reading: Reading
    walk: Walk
    pattern: re.Pattern[str] | None = None
    error: Failed | None = None
    _unseen: list[str] = field(default_factory=list)
    _linked: set[tuple[int, int]] | None = None

    def sources(self) -> Iterator[FileSource | Failed]:
        """The files, sorted by path, unread."""
        store = enclosing_store(self.base)
        if store is not None:
            self.error = Failed(source_id(self.base, self.root), "store", f"{store} is a store, not source material")
            yield self.error
            return
        self._unseen.clear()
        top, layers = self._outer_layers()
        include = IgnoreRules(self.walk.include)
        yield from self._folder(self.base, top, layers, include, {_identity(os.stat(self.base))})

    def complete_for(self, identity: str) -> bool:
        """Whether this listing would have shown ``identity`` if it still existed."""
        path = id_path(identity, self.root)
        base = normal(self.base)
        if path is None or self.error is not None or not is_inside(path, base) or path == base:
            return False
        if any(is_inside(path, folder) for folder in self._unseen):
            return False
        for name in (path, path.split("#", 1)[0]):
            relative = name[len(base.rstrip("/")) + 1 :]
            if self._wanted(relative, IgnoreRules(self.walk.include)):
                return True
        return False

    def _wanted(self, relative: str, include: IgnoreRules) -> bool:
        if self.pattern is not None and not self.pattern.match(relative):
            return False
        return not include or include.decide(relative, is_folder=False) is True

    def _outer_layers(self) -> tuple[str, list[tuple[str, IgnoreRules]]]:
        """The topmost folder whose ignore files count, and the layers that hold above ``base``."""
        layers = [("", IgnoreRules(DEFAULT_PATTERNS))]
        folders = []
        folder = self.base
        while folder != self.root and not os.path.lexists(os.path.join(folder, ".git")):
            parent = os.path.dirname(folder)
            if parent == folder or not is_inside(folder, self.root):
                break
            folders.append(parent)
            folder = parent
        top = folders[-1] if folders else self.base
        for folder in reversed(folders):
            layers += self._own_layers(folder, top)
        return top, layers

    def _own_layers(self, folder: str, top: str) -> list[tuple[str, IgnoreRules]]:
        found = []
        prefix = folder[len(top.rstrip("/")) + 1 :]
        for name in _IGNORE_FILES if self.walk.ignore_files else ():
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                try:
                    with open(path, encoding="utf-8", errors="surrogateescape") as stream:
                        found.append((f"{prefix}/" if prefix else "", IgnoreRules(stream)))
                except OSError:
                    continue
        if folder == self.base and self.walk.ignore:
            found.append((f"{prefix}/" if prefix else "", IgnoreRules(self.walk.ignore)))
        return found

    def _folder(
        self,
        folder: str,
        top: str,
        layers: list[tuple[str, IgnoreRules]],
        include: IgnoreRules,
        above: set[tuple[int, int]],
    ) -> Iterator[FileSource | Failed]:
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: (normal(entry.name), entry.name))
        except OSError as error:
            self._unseen.append(normal(folder))
            yield failed(source_id(folder, self.root), os_error(error))
            return
        layers = layers + self._own_layers(folder, top)
        for entry in entries:
            path = os.path.join(folder, entry.name)
            try:
                status = self._look(entry, path)
            except OSError as error:
                yield failed(source_id(path, self.root), os_error(error))
                continue
            if status is None or (entry.name.startswith(".") and not self._shows_hidden(entry.name)):
                continue
            is_folder = stat.S_ISDIR(status.st_mode)
            relative = path[len(top.rstrip("/")) + 1 :]
            if is_ignored(relative, is_folder, layers) or (is_folder and is_store(path)):
                continue
            if is_folder:
                if _identity(status) not in above:
                    yield from self._folder(path, top, layers, include, above | {_identity(status)})
                continue
            wanted = stat.S_ISREG(status.st_mode) and self._wanted(path[len(self.base.rstrip("/")) + 1 :], include)
            if wanted and not self._is_store_file(status):
                real = os.path.realpath(path) if entry.is_symlink() else path
                yield FileSource(real, status, root=self.root, limit=self.base, reading=self.reading)

    def _look(self, entry: os.DirEntry[str], path: str) -> os.stat_result | None:
        """What the entry is; None for a link that is not to be followed."""
        if not entry.is_symlink():
            return entry.stat(follow_symlinks=False)
        if not self.walk.links or not is_inside(os.path.realpath(path), self.base):
            return None
        return entry.stat() if os.path.exists(path) else None

    def _shows_hidden(self, name: str) -> bool:
        return self.walk.hidden and name not in _IGNORE_FILES

    def _is_store_file(self, status: os.stat_result) -> bool:
        if status.st_nlink < 2:
            return False
        if self._linked is None:
            self._linked = store_inodes(self.base) | (store_inodes(self.root) if self.root != self.base else set())
        return _identity(status) in self._linked


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
