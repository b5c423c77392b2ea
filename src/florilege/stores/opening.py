"""Stores by path or URL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from florilege.discovery import factory, names
from florilege.model.errors import ConfigError
from florilege.stores.sqlite.store import SQLiteStore

if TYPE_CHECKING:
    from florilege.stores.postgres import PostgresStore

_POSTGRES = ("postgresql", "postgres")


def open_store(
    path_or_url: str | os.PathLike[str],
    *,
    create: bool = True,
    read_only: bool = False,
    fields: Mapping[str, type | str] | None = None,
) -> SQLiteStore | PostgresStore:
    """The store at a path, a ``sqlite:///path`` or a ``postgresql://`` URL, or a URL whose scheme is that of an entry
    point under ``florilege.stores``.

    Options and errors are those of :class:`SQLiteStore` and :class:`PostgresStore`; ConfigError for a URL of a kind no
    installed store opens.
    """
    text = str(path_or_url)
    if "://" in text:
        url = urlsplit(text)
        if is_server(text):
            return postgres_store()(text, create=create, read_only=read_only, fields=fields)
        if url.scheme in names("florilege.stores"):
            made: Any = factory("florilege.stores", url.scheme)(text, create=create, read_only=read_only, fields=fields)
            return made  # type: ignore[no-any-return]  # a third party's store keeps the contract by its own word
        if url.scheme != "sqlite" or url.netloc:
            raise ConfigError(
                f"no store opens {url.scheme}:// URLs; give a path, sqlite:///path or postgresql://host/database",
                code="bad_url",
            )
        path_or_url = unquote(url.path)
    return SQLiteStore(path_or_url, create=create, read_only=read_only, fields=fields)


def is_server(path_or_url: str | os.PathLike[str]) -> bool:
    """Whether this is the URL of a server's store."""
    return urlsplit(str(path_or_url)).scheme in _POSTGRES


def postgres_store() -> type[PostgresStore]:
    """The server store's class; ConfigError when its driver is not installed."""
    try:
        from florilege.stores.postgres import PostgresStore
    except ImportError as error:
        raise ConfigError(
            "a PostgreSQL store needs psycopg: pip install 'florilege[postgres]'", code="missing_extra"
        ) from error
    return PostgresStore
