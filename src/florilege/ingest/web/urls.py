"""Sources at http(s) addresses."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from florilege.ingest.containers.region import Region
from florilege.ingest.readers.decode import is_utf8
from florilege.ingest.reading import Reading, builtin_reader, failed
from florilege.ingest.remote.source import RemoteSource
from florilege.ingest.sniff import by_name, sniff_bytes
from florilege.ingest.web.http import Fetched, normal_address
from florilege.model.document import Document, Failed, Loaded
from florilege.model.errors import LoadError

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SHIFTING = ("iso2022", "hz", "utf_7", "utf_16", "utf_32")
"""Encodings whose bytes may be valid UTF-8 without meaning it."""

Get = Callable[[str, str | None], Fetched | None]
"""Fetches an address; None when what is there still has the mark given."""


class UrlSource(RemoteSource):
    """A page or file at an address. What it holds is known only once it is fetched (or ``got`` beforehand), so it has
    no mark before; :meth:`read_since` asks the server whether it has changed."""

    transport = "url"

    def __init__(self, address: str, reading: Reading, get: Get, got: Fetched | None = None) -> None:
        self._problem: LoadError | None = None
        try:
            identity = normal_address(address)
        except LoadError as error:
            identity = address
            self._problem = error
        super().__init__(identity, reading, name=unquote(urlsplit(identity).path) if not self._problem else None)
        self.revision: str | None = None
        self._get = get
        self._got = got

    @property
    def read_revision(self) -> str | None:
        """The entity tag of what was read, or when it was last modified."""
        return self._got.revision if self._got else None

    def read_since(self, revision: str, reader: str) -> Loaded | Failed | None:
        """Read it; None when it is still what it was when ``reader`` read it and it had the mark ``revision``."""
        try:
            if reader == self.reader and not self._ask(revision):
                return None
        except LoadError as error:
            return failed(self.source_id, error, reader=self.reader)
        return self.read()

    def region(self) -> Region:
        """What was fetched."""
        return Region.of_bytes(self.fetch())

    def fetch(self) -> bytes:
        """Fetch it, once; a text in UTF-8."""
        return as_utf8(self.got())

    def got(self) -> Fetched:
        """The answer of its server, fetched once."""
        if self._got is None:
            self._ask(None)
        assert self._got is not None
        return self._got

    def _ask(self, known: str | None) -> bool:
        """Fetch it unless it still has the mark ``known``; whether it was fetched."""
        if self._problem is not None:
            raise self._problem
        if known is not None and self._got is not None:
            return self._got.revision != known
        self._got = self._get(self.source_id, known)
        return self._got is not None

    def _document(self) -> Document:
        if self.inside is not None and not self.inside.has_text:
            return super()._document()
        found = self.got()
        data = as_utf8(found)
        name = unquote(urlsplit(found.address).path).rsplit("/", 1)[-1]
        if found.media_type == "text/html" and sniff_bytes(data) == "text/html":
            name = ""  # of what made the page, as in index.php
        hint = found.media_type if by_name(name) is None and builtin_reader(found.media_type) else None
        return self.reading.document(
            data,
            source_id=self.source_id,
            name=name,
            hint=hint,
            uri=found.address,
            revision=found.revision,
            opener=UrlSource(self.source_id, self.reading, self._get).fetch,
        )


def as_utf8(found: Fetched) -> bytes:
    """The bytes of a text in UTF-8 when the server names another charset and is right about it.

    A byte order mark wins over the server, and so does text that is valid UTF-8 and has more than ASCII in it.
    """
    data, charset = found.data, found.charset
    if charset is None or not found.media_type.startswith("text/") or data.startswith(_MARKS):
        return data
    try:
        name = codecs.lookup(charset).name.replace("-", "_")
        if not name.startswith(_SHIFTING) and is_utf8(data):
            return data
        return data.decode(charset).encode("utf-8")
    except (UnicodeError, LookupError):
        return data
