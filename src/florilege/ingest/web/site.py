"""A site as a listing: its pages, breadth first, as far as the site's own rules and the caller's limits go."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from mimetypes import MimeTypes
from urllib.parse import unquote, urlsplit, urlunsplit

from florilege.ingest.containers import may_hold
from florilege.ingest.reading import Reading, builtin_reader, failed
from florilege.ingest.sniff import by_name
from florilege.ingest.web.access import Access, Crawl
from florilege.ingest.web.http import Fetched, fetch, normal_address
from florilege.ingest.web.links import page_links
from florilege.ingest.web.robots import Robots, parse_robots
from florilege.ingest.web.urls import UrlSource, as_utf8
from florilege.model.document import Failed
from florilege.model.errors import LoadError

_LONGEST_DELAY = 10.0
_PAGES = ("text/html", "application/xhtml+xml")
_TYPES = MimeTypes()


class SiteListing:
    """The pages and files that ``address`` leads to.

    Pages are fetched as they are listed, since only their text tells what comes next; files, and pages at the last
    depth, are fetched when they are read, and conditionally. A limit that is reached is a :class:`Failed` under the
    first address left out (``limit``), and what was not reached then never counts as gone.
    """

    def __init__(self, address: str, crawl: Crawl, reading: Reading, access: Access) -> None:
        self.error: Failed | None = None
        self._address = address
        self._crawl = crawl
        self._reading = reading
        self._access = access
        self._visit = _Visit(access, crawl)

    def sources(self) -> Iterator[UrlSource | Failed]:
        """The start, what it links to, what that links to, unread."""
        self._visit = visit = _Visit(self._access, self._crawl)
        try:
            start = self._first(visit)
        except LoadError as error:
            self.error = failed(self._address, error)
            yield self.error
            return
        self.error = None
        queue = deque([(start, 0)])
        seen = {start.source_id}
        count = 0
        while queue:
            source, depth = queue.popleft()
            if count >= self._crawl.pages or visit.size >= self._crawl.bytes:
                visit.is_whole = False
                yield _limit(source.source_id, count, visit.size)
                return
            found = source
            if depth < self._crawl.depth and _may_be_page(source.source_id):
                opened = self._opened(source, seen)
                if not isinstance(opened, UrlSource):
                    if opened is not None:
                        count += 1
                        yield opened
                    continue
                found = opened
                queue.extend((link, depth + 1) for link in self._links(found, seen, len(queue) + count))
            count += 1
            yield found

    def complete_for(self, source_id: str) -> bool:
        """Whether the crawl would have come upon ``source_id`` if it were still linked."""
        return self.error is None and self._visit.is_whole and self._visit.holds(source_id)

    def _first(self, visit: _Visit) -> UrlSource:
        """The first page, under the address it is really at."""
        got = visit.get(normal_address(self._address), None)
        assert got is not None
        address = normal_address(got.address)
        parts = urlsplit(address)
        visit.scope = urlunsplit((parts.scheme, parts.netloc, parts.path.rpartition("/")[0] + "/", "", ""))
        return UrlSource(address, self._reading, visit.get, got)

    def _opened(self, source: UrlSource, seen: set[str]) -> UrlSource | Failed | None:
        """The page under the address it is really at; None when that is known already or lies outside."""
        try:
            got = source.got()
        except LoadError as error:
            self._visit.is_whole &= not error.retryable
            return None if error.code in ("outside", "robots") else failed(source.source_id, error)
        address = normal_address(got.address)
        if address == source.source_id:
            return source
        if address in seen:
            return None
        seen.add(address)
        return UrlSource(address, self._reading, self._visit.get, got)

    def _links(self, source: UrlSource, seen: set[str], known: int) -> Iterator[UrlSource]:
        """What a page links to that is new and wanted, until enough are known to reach the limit."""
        got = source.got()
        if got.media_type not in _PAGES:
            return
        for link in page_links(as_utf8(got).decode("utf-8", "replace"), got.address):
            try:
                address = normal_address(link)
            except LoadError:
                continue
            if address in seen or not self._visit.holds(address) or not _is_wanted(address):
                continue
            if known > self._crawl.pages:
                self._visit.is_whole = False  # some of those that are known may turn out to be none
                return
            known += 1
            seen.add(address)
            yield UrlSource(address, self._reading, self._visit.get)


@dataclass
class _Visit:
    """One crawl's manners: how long it waits, what it may ask for, how much it took."""

    access: Access
    crawl: Crawl
    scope: str | None = None
    size: int = 0
    is_whole: bool = True
    _next: float = 0.0
    _robots: dict[str, Robots] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, address: str, known: str | None) -> Fetched | None:
        """Fetch, in turn. Raises :class:`LoadError`, also ``robots``, ``outside`` and ``limit``."""
        if self.size >= self.crawl.bytes:
            raise LoadError(f"the crawl has its {self.crawl.bytes:,} bytes (crawl=)", code="limit", retryable=True)
        got = fetch(address, known, access=self.access, judge=self._judge)
        with self._lock:
            self.size += len(got.data) if got else 0
        return got

    def holds(self, address: str) -> bool:
        """Whether an address belongs to the site, and its robots.txt allows it."""
        inside = self.scope is not None and address.startswith(self.scope)
        return inside and self._rules(address).allows(_target(address))

    def _judge(self, address: str) -> None:
        if self.scope is not None and not normal_address(address).startswith(self.scope):
            raise LoadError("it leads to a place outside the site", code="outside")
        with self._lock:
            rules = self._rules(address)
            if not rules.allows(_target(address)):
                raise LoadError("the site's robots.txt does not allow it", code="robots")
            time.sleep(max(0.0, self._next - time.monotonic()))
            self._next = time.monotonic() + max(self.crawl.delay, min(rules.delay or 0.0, _LONGEST_DELAY))

    def _rules(self, address: str) -> Robots:
        """The robots.txt of an address's host: no rules when there is none, an error when the host cannot tell."""
        parts = urlsplit(normal_address(address))
        place = urlunsplit((parts.scheme, parts.netloc, "/robots.txt", "", ""))
        if place not in self._robots:
            try:
                got = fetch(place, access=self.access)
                self._robots[place] = parse_robots(got.data if got else b"")
            except LoadError as error:
                if error.code not in ("not_found", "permission", "http_status"):
                    raise
                self._robots[place] = Robots()
        return self._robots[place]


def _target(address: str) -> str:
    parts = urlsplit(address)
    return urlunsplit(("", "", parts.path or "/", parts.query, ""))


def _may_be_page(address: str) -> bool:
    named = by_name(unquote(urlsplit(address).path))
    return named is None or named == "text/html" or named.startswith("text/x-")


def _is_wanted(address: str) -> bool:
    """Whether its name leaves it open that there is something to read: no picture, script or program."""
    path = unquote(urlsplit(address).path)
    named = by_name(path)
    if named is not None:
        return named.startswith("text/x-") or builtin_reader(named) is not None or may_hold(named, None)
    guess = _TYPES.guess_type(path.rsplit("/", 1)[-1])[0]
    return guess is None or guess.startswith("text/")


def _limit(address: str, count: int, size: int) -> Failed:
    message = f"the crawl ended at its limit, after {count:,} sources and {size:,} bytes (crawl=)"
    return Failed(address, "limit", message, retryable=True)
