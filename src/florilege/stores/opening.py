"""Stores by path or URL."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from florilege.model.errors import ConfigError
from florilege.stores.sqlite.store import SQLiteStore


def open_store(
    path_or_url: str | os.PathLike[str],
    *,
    create: bool = True,
    read_only: bool = False,
    fields: Mapping[str, type | str] | None = None,
) -> SQLiteStore:
    """The store at a path or a ``sqlite:///path`` URL; options and errors as :class:`SQLiteStore`.

    ConfigError for a URL of a kind no installed store opens.
    """
    text = str(path_or_url)
    if "://" in text:
        url = urlsplit(text)
        if url.scheme != "sqlite" or url.netloc:
            raise ConfigError(f"no store opens {url.scheme}:// URLs; give a path or sqlite:///path", code="bad_url")
        path_or_url = unquote(url.path)
    return SQLiteStore(path_or_url, create=create, read_only=read_only, fields=fields)
