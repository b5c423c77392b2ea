"""Fetching from http(s) addresses, safely.

Every hop of a redirect is resolved here and the address itself is judged before a connection to exactly that address
is opened: private, loopback, link-local and other non-public networks are refused, however they are spelled, unless
the host is allowed by name. Size, time and redirects are capped on what really arrives.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urljoin, urlsplit, urlunsplit

from florilege._version import __version__
from florilege.ingest.web.access import Access
from florilege.model.errors import LoadError

MAX_BYTES = 50_000_000
MAX_REDIRECTS = 5
CONNECT_SECONDS = 10.0
TOTAL_SECONDS = 60.0
_CHUNK = 65_536
_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_CODES = {401: "permission", 403: "permission", 404: "not_found", 410: "not_found"}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response: its bytes, the address that gave them, its type and charset as declared, and its mark: the entity
    tag, else when it was last modified."""

    data: bytes
    address: str
    media_type: str
    charset: str | None
    revision: str | None


def normal_address(address: str) -> str:
    """``address`` with scheme and host in lower case, without default port and fragment, otherwise as it is.

    Raises :class:`LoadError` (``bad_address``) when it is no http(s) address or carries a user name.
    """
    parts = _split(address)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return urlunsplit((parts.scheme, host + port, parts.path or "/", parts.query, ""))


def fetch(
    address: str, known: str | None = None, *, access: Access, judge: Callable[[str], None] | None = None
) -> Fetched | None:
    """GET ``address``, following at most five redirects; None when what is there still has the mark ``known``.

    ``judge`` is given the address of every hop before it is asked, and may raise. Raises :class:`LoadError`:
    ``bad_address``, ``blocked``, ``redirects``, ``too_large``, ``not_found``, ``permission``, ``http_status``,
    ``untrusted``, or, worth trying again, ``unavailable``.
    """
    deadline = time.monotonic() + TOTAL_SECONDS
    for _ in range(MAX_REDIRECTS + 1):
        parts = _split(address)
        if judge is not None:
            judge(address)
        try:
            with _connected(parts, access, deadline) as connection, _asked(connection, parts, known) as response:
                location = response.getheader("Location")
                if response.status in (301, 302, 303, 307, 308) and location:
                    address = urljoin(address, location)
                    continue
                if response.status == 304 and known is not None:
                    return None
                return _received(response, address, deadline)
        except ssl.SSLCertVerificationError as error:
            message = f"the certificate of {parts.hostname} is not trusted (trust= names others that are)"
            raise LoadError(message, code="untrusted") from error
        except (OSError, http.client.HTTPException) as error:
            message = f"{parts.hostname} does not answer as it should ({type(error).__name__})"
            raise LoadError(message, code="unavailable", retryable=True) from error
    raise LoadError(f"more than {MAX_REDIRECTS} redirects", code="redirects")


def is_public(address: str) -> bool:
    """Whether an IP address lies in the public internet; IPv4 inside IPv6 counts as what it is."""
    found = ipaddress.ip_address(address.split("%", 1)[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is None and found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast


def _split(address: str) -> SplitResult:
    try:
        parts = urlsplit(address.strip())
        port = parts.port
    except ValueError as error:
        raise LoadError("the address cannot be parsed", code="bad_address") from error
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise LoadError("only http and https addresses can be loaded", code="bad_address")
    if parts.username is not None or parts.password is not None:
        raise LoadError("an address with a user name or password is not loaded", code="bad_address")
    if any(ord(character) <= 32 or ord(character) == 127 for character in address.strip()):
        raise LoadError("the address has blanks or control characters in it", code="bad_address")
    return parts


def _connected(parts: SplitResult, access: Access, deadline: float) -> _Closing:
    """A connection to an address of the host that may be spoken to."""
    host = (parts.hostname or "").lower()
    port = parts.port or _PORTS[parts.scheme]
    try:
        spelled = host if ":" in host else host.encode("idna").decode("ascii")
        found = socket.getaddrinfo(spelled, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise LoadError("the host name is not valid", code="bad_address") from error
    places = [str(entry[4][0]) for entry in found]
    if host not in access.private and not all(map(is_public, places)):
        message = f"{host} is not in the public internet (allow_private= admits it by name)"
        raise LoadError(message, code="blocked")
    timeout = min(CONNECT_SECONDS, _left(deadline))
    connection = _Closing(spelled, port)
    connection.sock = socket.create_connection((places[0], port), timeout=timeout)
    try:
        if parts.scheme == "https":
            connection.sock = access.tls().wrap_socket(
                connection.sock, server_hostname=spelled, do_handshake_on_connect=False
            )
        connection.cut_at(deadline)
        if isinstance(connection.sock, ssl.SSLSocket):
            connection.sock.do_handshake()
        connection.sock.settimeout(_left(deadline))
    except BaseException:
        connection.end()
        raise
    return connection


class _Closing(http.client.HTTPConnection):
    """A connection that closes when its block ends, and never opens one of its own."""

    auto_open = 0
    _timer: threading.Timer | None = None

    def cut_at(self, deadline: float) -> None:
        """Cut it off at ``deadline``: a timeout alone begins anew with every byte that trickles in."""
        # The socket itself: the connection lets go of it with the head of an answer that ends with the connection.
        self._timer = threading.Timer(_left(deadline), _cut, (self.sock,))
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """Close it, and let it be."""
        if self._timer is not None:
            self._timer.cancel()
        self.close()

    def __enter__(self) -> _Closing:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def _cut(sock: socket.socket) -> None:
    with suppress(OSError):
        # Not the method of TLS sockets, which has what comes next read as if it were in the clear.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _asked(connection: http.client.HTTPConnection, parts: SplitResult, known: str | None) -> http.client.HTTPResponse:
    target = quote(urlunsplit(("", "", parts.path or "/", parts.query, "")), safe="/%?&=+,;:@!$'()*~-._[]|")
    headers = {"User-Agent": f"florilege/{__version__}", "Accept": "*/*", "Accept-Encoding": "identity"}
    if known is not None:
        headers["If-None-Match" if known.startswith(('"', "W/")) else "If-Modified-Since"] = known
    connection.request("GET", target, headers=headers)
    return connection.getresponse()


def _received(response: http.client.HTTPResponse, address: str, deadline: float) -> Fetched:
    if response.status != 200:
        retryable = response.status in (408, 425, 429) or response.status >= 500
        code = "unavailable" if retryable else _CODES.get(response.status, "http_status")
        raise LoadError(f"the server answered {response.status}", code=code, retryable=retryable)
    inflate = zlib.decompressobj(47) if response.getheader("Content-Encoding", "") in ("gzip", "deflate") else None
    data = bytearray()
    while piece := response.read1(_CHUNK):
        try:
            data += inflate.decompress(piece, MAX_BYTES + 1) if inflate else piece
        except zlib.error as error:
            raise LoadError("the answer's compression is broken", code="unavailable", retryable=True) from error
        if len(data) > MAX_BYTES:
            raise LoadError(f"the answer is larger than {MAX_BYTES:,} bytes", code="too_large")
        _left(deadline)
    _left(deadline)
    if response.length or (inflate and data and not inflate.eof):
        raise LoadError("the answer ended before its end", code="unavailable", retryable=True)
    tag = response.getheader("ETag") or response.getheader("Last-Modified")
    kind = response.headers.get_content_type()
    return Fetched(bytes(data), address, kind, response.headers.get_content_charset(), tag)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("past the deadline")
    return left
