"""Storage that knows keys: object stores and other file systems behind one small protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from florilege.model.errors import ConfigError

SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.I)
_OBJECTS = frozenset({"s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl"})
_NO_SECRETS = frozenset({"github"})
"""Schemes that have a colon and an at sign in their addresses for other ends."""
_PASSWORD = re.compile(r"[^/]*:[^/]*@")
_REFUSED = frozenset({"file", "local", "http", "https"})


class Entry(NamedTuple):
    """What a listing tells of an object; ``revision`` is None where nothing tells one state from the next."""

    key: str
    size: int | None
    revision: str | None


class Bucket(Protocol):
    """Objects under keys. Failures are :class:`LoadError`."""

    def entries(self, prefix: str) -> Iterator[Entry]:
        """Every object whose key is ``prefix``, or begins with it and a slash."""
        ...

    def stream(self, key: str) -> tuple[str | None, Iterator[bytes]]:
        """An object's revision and its bytes in pieces."""
        ...


def open_bucket(address: str, options: Mapping[str, Any]) -> tuple[Bucket, str, str]:
    """The bucket of a URL, the URL up to the key, and the key or pattern behind it.

    ``options`` go to the library that serves the scheme. Raises :class:`ConfigError` for a scheme nobody serves, or
    one whose extra is not installed.
    """
    match = SCHEME.match(address)
    scheme = match[1].lower() if match else ""
    if not match or scheme in _REFUSED or "::" in address:
        raise ConfigError(
            f"{address.split('://', 1)[0]}:// is not a storage that can be loaded from", code="bad_option"
        )
    if scheme not in _NO_SECRETS and _PASSWORD.match(address[match.end() :]):
        raise ConfigError(f"{scheme}://: give credentials as storage_options, not in the address", code="bad_option")
    if scheme in _OBJECTS:
        from florilege.ingest.remote.obstores import opened
    else:
        from florilege.ingest.remote.filesystems import opened
    return opened(scheme, address[match.end() :], options)
