"""``load``: one name for files, folders, globs, addresses and bytes."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import unquote

from florilege.ingest.containers.region import Region
from florilege.ingest.files import FileSource, FolderListing, Walk, os_error
from florilege.ingest.ignore import glob_regex
from florilege.ingest.paths import enclosing_store, project_root, source_id
from florilege.ingest.reading import MAX_BYTES, Reading, asked_readers, bytes_id, failed, with_plugins
from florilege.ingest.remote.buckets import SCHEME, open_bucket
from florilege.ingest.remote.objects import ObjectListing
from florilege.ingest.source import ByteSource
from florilege.ingest.web.access import Access, Crawl
from florilege.interfaces.sources import Container, Reader, Source
from florilege.model.document import Document, Failed, Loaded
from florilege.model.errors import ConfigError, LoadError

if TYPE_CHECKING:
    from florilege.ingest.web.site import SiteListing
    from florilege.isolation import WorkerPool

_MAGIC = re.compile(r"[*?\[]")

AnyListing: TypeAlias = "FolderListing | ObjectListing | SingleListing | SiteListing"
What = str | os.PathLike[str] | bytes


def load(
    what: What | Iterable[What],
    *,
    namespace: str | None = None,
    root: str | os.PathLike[str] | None = None,
    include: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    ignore_files: bool = True,
    hidden: bool = False,
    links: bool = False,
    name: str | None = None,
    media_type: str | None = None,
    readers: str | Sequence[Reader | str] = (),
    max_bytes: int = MAX_BYTES,
    time_limit: float = 30.0,
    isolate: bool = True,
    pool: WorkerPool | None = None,
    allow_private: str | Sequence[str] = (),
    trust: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    crawl: Crawl | bool = False,
) -> LoadListing:
    """Find sources and read them lazily.

    ``what`` is a file, a folder (all below it), a glob (``**`` crosses folders), an http(s) address, an address in a
    storage (``s3://bucket/docs/``, ``gs://``, ``az://account/container/`` with the extra ``cloud``; any other that
    fsspec knows with the extra ``fsspec``), bytes, or an iterable of these; a source reached twice is listed once. Ids
    of files are relative to ``root`` (default: the folder of the project, see
    :func:`florilege.ingest.paths.project_root`), file URIs outside it; ids of others are their addresses.

    A folder or glob leaves out what ``.gitignore``, ``.florilegeignore``, the defaults (version control, caches) or
    ``ignore`` (patterns of the same language) say, hidden names unless ``hidden``, and links unless ``links`` (then
    only those that stay inside it); ``include`` patterns narrow it. A file named itself is always taken. Nothing
    inside a store is opened.

    Archives (zip, tar, gzip, bzip2, xz), mails with attachments and texts beyond 50 MB (CSV, JSONL, plain) hold other
    sources, listed behind them under their id, ``#`` and more, to a depth of two; 500 MB and 10,000 entries may come
    out of one.

    ``name`` is the source id (and file name) of bytes, ``media_type`` settles the kind of everything listed.
    ``readers`` are asked first: objects, run in this process, or names of the shipped ones that read only when asked
    (``"article"`` of the extra ``web``: web pages without what is around their main text; ``"ocr"``: pictures and
    scanned pages); then those of installed providers, in workers, then the shipped ones. ``max_bytes`` and
    ``time_limit`` (seconds, plus 0.2 a page) bound one source. Native parsers run in the worker processes of ``pool``
    (default: two, shared); ``isolate=False`` reads in this process, where a parser's crash is fatal.

    http(s) addresses are fetched from the public internet only; ``allow_private`` names hosts that may lie elsewhere,
    ``trust`` a file of certificates to trust besides the system's. ``storage_options`` go to the library that serves a
    storage; without any, obstore takes credentials from the environment. With ``crawl`` an address is where a site
    begins, whose pages are followed as :class:`Crawl` says.

    Iterating yields :class:`Loaded` and :class:`Failed` in a stable order, :meth:`LoadListing.documents` raises for the
    first failure. Raises :class:`ConfigError` for options.
    """
    if max_bytes < 1 or not time_limit > 0:
        raise ConfigError("max_bytes and time_limit must be above 0", code="bad_option")
    reading = with_plugins(
        Reading(
            namespace=namespace,
            readers=asked_readers(readers),
            max_bytes=max_bytes,
            time_limit=time_limit,
            isolate=isolate,
            media_type=media_type,
            pool=pool,
        )
    )
    walk = Walk(
        include=_strings(include), ignore=_strings(ignore), ignore_files=ignore_files, hidden=hidden, links=links
    )
    top = project_root(root)
    items: list[Any] = [what]
    if isinstance(what, Iterable) and not isinstance(what, (str, bytes, os.PathLike)):
        items = list(what)
    trusted = None if trust is None else os.fspath(trust)
    access = Access(private=frozenset(map(str.lower, _strings(allow_private))), trust=trusted)
    if trusted is not None:
        access.tls()
    followed = Crawl() if crawl is True else crawl or None
    place = _Place(top, reading, walk, access, storage_options or {}, followed)
    return LoadListing([_listing(item, place, name) for item in items])


class LoadListing:
    """Several listings as one: a file reached twice is listed once, an id that two files claim fails for the second."""

    def __init__(self, listings: Sequence[AnyListing]) -> None:
        self._listings = tuple(listings)

    @property
    def error(self) -> Failed | None:
        """Why the listing ended badly, once it has."""
        return next((listing.error for listing in self._listings if listing.error is not None), None)

    def sources(self) -> Iterator[Source | Failed]:
        """The sources, unread."""
        places: dict[str, str] = {}
        for listing in self._listings:
            for source in listing.sources():
                place = source.path if isinstance(source, FileSource) else source.source_id
                known = places.get(source.source_id)
                if known is None:
                    places[source.source_id] = place
                    yield source
                elif known != place:
                    message = "another file has the same id once its name is in Unicode normal form"
                    yield Failed(source.source_id, "duplicate_id", message)

    def __iter__(self) -> Iterator[Loaded | Failed]:
        for source in self.sources():
            yield from _read(source)

    def documents(self) -> Iterator[Document]:
        """The documents alone; the first source that fails ends it with a :class:`LoadError` of its code."""
        for outcome in self:
            if isinstance(outcome, Failed):
                message = f"{outcome.source_id}: {outcome.message}"
                raise LoadError(message, code=outcome.code, source_id=outcome.source_id, retryable=outcome.retryable)
            yield outcome.document

    def complete_for(self, source_id: str) -> bool:
        """Whether an unlisted ``source_id`` belongs to what was listed."""
        return self.error is None and any(listing.complete_for(source_id) for listing in self._listings)


class SingleListing:
    """One source named by itself, or why there is none."""

    def __init__(self, identity: str, source: Source | Failed) -> None:
        self.error: Failed | None = source if isinstance(source, Failed) else None
        self._identity = identity
        self._source = source

    def sources(self) -> Iterator[Source | Failed]:
        """The source."""
        yield self._source

    def complete_for(self, source_id: str) -> bool:
        """True for the source itself and what is cut from it."""
        return self.error is None and source_id.split("#", 1)[0] == self._identity


class BytesSource(ByteSource):
    """Bytes given by the caller."""

    def __init__(self, data: bytes, name: str | None, reading: Reading) -> None:
        super().__init__(name or bytes_id(data), reading, name=name)
        self.revision: str | None = bytes_id(data)
        self._data = data

    def region(self) -> Region:
        """The bytes."""
        return Region.of_bytes(self._data)

    def fetch(self) -> bytes:
        """The bytes."""
        return self._data


def _read(source: Source | Failed) -> Iterator[Loaded | Failed]:
    """The source and what lies inside it, read, the container first."""
    if isinstance(source, Failed):
        yield source
        return
    yield source.read()
    if isinstance(source, Container):
        for child in source.children():
            yield from _read(child)


class _Place(NamedTuple):
    """Where and how things are looked for."""

    root: str
    reading: Reading
    walk: Walk
    access: Access
    storage_options: Mapping[str, Any]
    crawl: Crawl | None


def _listing(item: Any, place: _Place, name: str | None) -> AnyListing:
    if isinstance(item, bytes):
        source = BytesSource(item, name, place.reading)
        return SingleListing(source.source_id, source)
    if not isinstance(item, (str, os.PathLike)):
        raise ConfigError(
            f"cannot load a {type(item).__name__}: give paths, globs, addresses or bytes", code="bad_option"
        )
    text = os.fspath(item)
    if isinstance(text, bytes):
        text = os.fsdecode(text)
    scheme = SCHEME.match(text)
    if scheme is not None and not os.path.lexists(text):
        if scheme[1].lower() in ("http", "https"):
            return _web(text, place)
        if scheme[1].lower() != "file":
            return ObjectListing(*open_bucket(text, place.storage_options), place.reading, place.walk)
        text = unquote(text[scheme.end() :])
    if _MAGIC.search(text) and not os.path.lexists(text):
        return _glob(text, place.root, place.reading, place.walk)
    return _path(text, place.root, place.reading, place.walk)


def _web(address: str, place: _Place) -> SingleListing | SiteListing:
    from florilege.ingest.web.http import fetch
    from florilege.ingest.web.urls import UrlSource

    if place.crawl is not None:
        from florilege.ingest.web.site import SiteListing

        return SiteListing(address, place.crawl, place.reading, place.access)
    source = UrlSource(address, place.reading, partial(fetch, access=place.access))
    return SingleListing(source.source_id, source)


def _path(text: str, root: str, reading: Reading, walk: Walk) -> FolderListing | SingleListing:
    path = os.path.realpath(text)
    identity = source_id(path, root)
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            return FolderListing(path, root, reading, walk)
        store = enclosing_store(os.path.dirname(path))
        if store is not None:
            raise LoadError(f"it belongs to the store {store} and must not be opened", code="store")
        if not stat.S_ISREG(status.st_mode):
            raise LoadError("it is neither a file nor a folder", code="not_a_file")
    except (OSError, LoadError) as error:
        problem = os_error(error) if isinstance(error, OSError) else error
        return SingleListing(identity, failed(identity, problem))
    return SingleListing(identity, FileSource(path, status, root=root, limit=path, reading=reading))


def _glob(pattern: str, root: str, reading: Reading, walk: Walk) -> FolderListing | SingleListing:
    parts = pattern.split("/")
    fixed = next(index for index, part in enumerate(parts) if _MAGIC.search(part))
    base = os.path.realpath("/".join(parts[:fixed]) or ("/" if pattern.startswith("/") else "."))
    if not os.path.isdir(base):
        identity = source_id(base, root)
        problem = Failed(
            identity, "not_found", f"there is no folder {base} for the pattern {pattern!r}", retryable=True
        )
        return SingleListing(identity, problem)
    return FolderListing(base, root, reading, walk, pattern=glob_regex("/".join(parts[fixed:])))


def _strings(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
