"""Any other storage that fsspec has a file system for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from florilege.ingest.remote.buckets import Bucket, Entry
from florilege.model.errors import ConfigError, LoadError

_PIECE = 1 << 20
_MARKS = ("ETag", "etag", "e_tag", "version", "sha", "md5Hash", "mtime", "LastModified", "last_modified", "modified")


def opened(scheme: str, rest: str, options: Mapping[str, Any]) -> tuple[Bucket, str, str]:
    """The file system of ``scheme://rest``."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ConfigError(
            f"{scheme}:// needs the extra: pip install 'florilege[fsspec]'", code="missing_extra"
        ) from error
    try:
        system, path = url_to_fs(f"{scheme}://{rest}", **options)
    except (ImportError, ValueError, TypeError, OSError) as error:
        message = f"{scheme}:// cannot be opened with these storage_options ({type(error).__name__})"
        raise ConfigError(message, code="bad_option") from error
    key = str(path).lstrip("/")
    host = rest.removesuffix("/").removesuffix(key) if key else rest
    return FileSystemBucket(system), f"{scheme}://{host}", key


class FileSystemBucket:
    """An fsspec file system."""

    def __init__(self, system: Any) -> None:
        self._system = system

    def entries(self, prefix: str) -> Iterator[Entry]:
        """The files at and below ``prefix``, sorted."""
        with _told():
            found: dict[str, Any] = self._system.find(prefix, detail=True)
        if not found:
            raise LoadError("there is nothing", code="not_found", retryable=True)
        for path, info in sorted(found.items()):
            yield Entry(str(path).lstrip("/"), info.get("size"), _revision(info))

    def stream(self, key: str) -> tuple[str | None, Iterator[bytes]]:
        """A file's revision and bytes."""
        with _told():
            stream = self._system.open(key, "rb")
            revision = _revision(self._system.info(key))
        return revision, _pieces(stream)


def _pieces(stream: Any) -> Iterator[bytes]:
    with stream, _told():
        while piece := stream.read(_PIECE):
            yield bytes(piece)


def _revision(info: Mapping[str, Any]) -> str | None:
    mark = next((str(info[name]) for name in _MARKS if info.get(name)), None)
    return None if mark is None else f"{info.get('size')}-{mark}"


@contextmanager
def _told() -> Iterator[None]:
    """Whatever a file system raises, as :class:`LoadError`."""
    try:
        yield
    except LoadError:
        raise
    except FileNotFoundError as error:
        raise LoadError("there is no such file", code="not_found", retryable=True) from error
    except PermissionError as error:
        raise LoadError("it may not be read (permission denied)", code="permission", retryable=True) from error
    except Exception as error:  # every file system raises its own
        message = f"the storage does not answer as it should ({type(error).__name__})"
        raise LoadError(message, code="unavailable", retryable=True) from error
