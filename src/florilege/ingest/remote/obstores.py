"""Object storage (Amazon S3, Google Cloud Storage, Azure Blob) over obstore."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from florilege.ingest.remote.buckets import Bucket, Entry
from florilege.model.errors import ConfigError, LoadError

_PAGE = 500


def opened(scheme: str, rest: str, options: Mapping[str, Any]) -> tuple[Bucket, str, str]:
    """The bucket of ``scheme://rest``; an Azure one is named by account and container."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise ConfigError(
            "object storage needs the extra: pip install 'florilege[cloud]'", code="missing_extra"
        ) from error
    steps = 2 if scheme == "az" else 1
    named = rest.split("/")
    base, key = f"{scheme}://{'/'.join(named[:steps])}/", "/".join(named[steps:])
    if not all(named[:steps]):
        raise ConfigError(f"{base} names no bucket", code="bad_option")
    try:
        return ObjectBucket(from_url(base, **options)), base, key
    except (BaseError, TypeError, ValueError) as error:
        message = f"{base} cannot be opened with these storage_options ({type(error).__name__})"
        raise ConfigError(message, code="bad_option") from error


class ObjectBucket:
    """A bucket of an object store."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def entries(self, prefix: str) -> Iterator[Entry]:
        """The objects at and below ``prefix``, as the service orders them."""
        import obstore

        with _told():
            if prefix:
                with suppress(FileNotFoundError):
                    yield _entry(obstore.head(self._store, prefix))
            for page in obstore.list(self._store, prefix or None, chunk_size=_PAGE):
                yield from map(_entry, page)

    def stream(self, key: str) -> tuple[str | None, Iterator[bytes]]:
        """An object's revision and bytes."""
        import obstore

        with _told():
            answer = obstore.get(self._store, key)
        return _entry(answer.meta).revision, _pieces(answer)


def _pieces(answer: Any) -> Iterator[bytes]:
    with _told():
        for piece in answer.stream(min_chunk_size=1 << 20):
            yield bytes(piece)


def _entry(meta: Any) -> Entry:
    mark = meta.get("version") or meta.get("e_tag") or meta["last_modified"].isoformat()
    return Entry(meta["path"], meta["size"], f"{meta['size']}-{mark}")


@contextmanager
def _told() -> Iterator[None]:
    """The store's failures as :class:`LoadError`, without what its messages may hold of credentials."""
    from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError

    try:
        yield
    except (NotFoundError, FileNotFoundError) as error:
        raise LoadError("there is no such object", code="not_found", retryable=True) from error
    except (PermissionDeniedError, UnauthenticatedError, PermissionError) as error:
        raise LoadError("the storage refuses it (permission denied)", code="permission", retryable=True) from error
    except (BaseError, OSError) as error:
        message = f"the storage does not answer as it should ({type(error).__name__})"
        raise LoadError(message, code="unavailable", retryable=True) from error
