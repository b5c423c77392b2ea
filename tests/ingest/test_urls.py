"""Sources at addresses: what is fetched, what is refused, on servers of our own."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import florilege
from florilege.ingest import load
from florilege.ingest.web import http as urls
from florilege.interfaces import Conditional
from florilege.model.document import Document, Failed, Loaded
from florilege.model.errors import ConfigError, LoadError
from tests.ingest.build import zipped

BIG = 300_000
DAY = "Wed, 21 Oct 2015 07:28:00 GMT"
PAGES = {
    "/utf8-called-latin": ("text/html; charset=iso-8859-1", "<p>Größe</p>".encode()),
    "/latin-called-utf8": ("text/html; charset=utf-8", b"<meta charset=iso-8859-1><p>Gr\xf6\xdfe</p>"),
    "/latin-in-meta": ("text/html", b"<meta charset=iso-8859-1><p>Gr\xf6\xdfe</p>"),
    "/marked": ("text/html; charset=iso-8859-1", b"\xff\xfe" + "<p>Größe</p>".encode("utf-16-le")),
    "/japanese": ("text/html; charset=iso-2022-jp", "<p>日本語</p>".encode("iso-2022-jp")),
    "/nonsense": ("text/html; charset=klingon", "<p>Größe</p>".encode()),
}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path, port = self.path.split("?")[0], self.server.server_port
        headers: dict[str, str] = {"Content-Type": "text/html"}
        status, body = 200, b"<title>T</title><p>hello</p>"
        if path == "/latin":
            headers["Content-Type"] = "text/html; charset=iso-8859-1"
            body = "<p>Größe</p>".encode("latin-1")
        elif path == "/json":
            headers["Content-Type"] = "application/json"
            body = b'{"a": 1}'
        elif path == "/tagged":
            headers["ETag"] = '"v1"'
            self.server.asked.append(self.headers.get("If-None-Match"))  # type: ignore[attr-defined]
            status = 304 if self.headers.get("If-None-Match") == '"v1"' else 200
            body = b"" if status == 304 else body
        elif path == "/dated":
            headers["Last-Modified"] = DAY
            status = 304 if self.headers.get("If-Modified-Since") == DAY else 200
            body = b"" if status == 304 else body
        elif path in PAGES:
            headers["Content-Type"], body = PAGES[path]
        elif path == "/archive.zip":
            headers["ETag"], headers["Content-Type"] = '"z"', "application/zip"
            body = zipped({"a.txt": b"inside the archive"})
        elif path == "/packed":
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body)
        elif path == "/bomb":
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(bytes(5_000_000))
        elif path == "/big":
            body = b"x" * BIG
        elif path == "/slow":
            time.sleep(1.5)
        elif path.isascii() and path[1:].isdecimal():
            status = int(path[1:])
        elif path == "/once":
            status, headers["Location"] = 302, "/plain"
        elif path == "/round":
            status, headers["Location"] = 302, "/round"
        elif path == "/inside":
            status, headers["Location"] = 302, f"http://127.0.0.1:{port}/plain"
        elif path == "/file":
            status, headers["Location"] = 302, "file:///etc/passwd"
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        del args


ASKED: list[str | None] = []


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.handle_error = lambda *args: None  # type: ignore[method-assign]
    server.asked = ASKED  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def read(address: str, allowed: tuple[str, ...] = ("localhost",)) -> Document | Failed:
    (result,) = load(address, allow_private=allowed, isolate=False)
    return result.document if isinstance(result, Loaded) else result


def document(address: str) -> Document:
    found = read(address)
    assert isinstance(found, Document), found
    return found


def code(address: str, allowed: tuple[str, ...] = ("localhost",)) -> tuple[str, bool]:
    found = read(address, allowed)
    assert isinstance(found, Failed), found
    return found.code, found.retryable


def test_pages_are_read_by_what_they_are(port: int) -> None:
    page = document(f"HTTP://LocalHost:{port}/plain?q=1#part")
    assert page.source_id == f"http://localhost:{port}/plain?q=1"
    assert (page.title, page.content, page.media_type) == ("T", "hello", "text/html")
    assert document(f"http://localhost:{port}/latin").content == "Größe"
    assert document(f"http://localhost:{port}/json").parts[0].json_path == "$"
    assert document(f"http://localhost:{port}/packed").content == "hello"
    assert document(f"http://localhost:{port}/tagged").revision == '"v1"'
    assert document(f"http://localhost:{port}/plain").read_bytes().startswith(b"<title>")


@pytest.mark.parametrize("path", [path for path in PAGES if path != "/japanese"])
def test_the_charset_is_the_one_that_fits(port: int, path: str) -> None:
    assert document(f"http://localhost:{port}{path}").content == "Größe"


def test_a_charset_of_shifts_is_believed(port: int) -> None:
    assert document(f"http://localhost:{port}/japanese").content == "日本語"


def synced(corpus: florilege.Corpus, *addresses: str) -> list[str]:
    result = corpus.sync(load(addresses, allow_private="localhost", isolate=False))
    return [source.action for source in result.sources]


def test_a_second_sync_asks_whether_anything_changed(port: int, tmp_path: Path) -> None:
    addresses = [f"http://localhost:{port}/{name}" for name in ("tagged", "dated", "plain")]
    with florilege.open(tmp_path / "store", dense=None) as corpus:
        assert synced(corpus, *addresses) == ["added"] * 3
        ASKED.clear()
        assert synced(corpus, *addresses) == ["unchanged"] * 3
        assert ASKED == ['"v1"']
        row = corpus.get_source(addresses[0])
        assert row.revision == '"v1"'
        assert corpus.get_source(addresses[1]).revision == DAY
        (source,) = load(addresses[0], allow_private="localhost").sources()
        assert isinstance(source, Conditional)
        assert source.read_since('"v1"', row.reader or "") is None
        assert isinstance(source.read_since('"v0"', row.reader or ""), Loaded)
        assert isinstance(source.read_since('"v1"', "url/0"), Loaded)


def test_an_archive_at_an_address_is_looked_into(port: int, tmp_path: Path) -> None:
    with florilege.open(tmp_path / "store", dense=None) as corpus:
        assert synced(corpus, f"http://localhost:{port}/archive.zip") == ["added", "added"]
        assert synced(corpus, f"http://localhost:{port}/archive.zip") == ["unchanged", "unchanged"]
        assert corpus.retrieve("inside the archive")[0].metadata == {"entry": "a.txt"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for localhost that it signed itself, in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(secret + signed.public_bytes(serialization.Encoding.PEM))
    return path


def test_https_is_checked_and_can_be_told_whom_to_trust(certificate: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.handle_error = lambda *args: None  # type: ignore[method-assign]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    address = f"https://localhost:{server.server_port}/plain"
    try:
        assert code(address) == ("untrusted", False)
        (found,) = load(address, allow_private="localhost", trust=certificate, isolate=False)
        assert isinstance(found, Loaded)
        assert found.document.content == "hello"
    finally:
        server.shutdown()
        server.server_close()
    with pytest.raises(ConfigError):
        list(load(address, allow_private="localhost", trust="/nowhere.pem"))


def test_redirects_are_followed_and_counted(port: int) -> None:
    page = document(f"http://localhost:{port}/once")
    assert page.source_id.endswith("/once")
    assert page.uri == f"http://localhost:{port}/plain"
    assert code(f"http://localhost:{port}/round") == ("redirects", False)
    assert code(f"http://localhost:{port}/file") == ("bad_address", False)


def test_private_places_are_refused_however_they_are_reached(port: int) -> None:
    assert code(f"http://localhost:{port}/inside") == ("blocked", False)  # a redirect to a name that is not allowed
    spellings = [
        "localhost",
        "127.0.0.1",
        "127.1",
        "0x7f.0.0.1",
        "2130706433",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
    ]
    for host in [*spellings, "0.0.0.0", "169.254.169.254", "10.0.0.1", "192.168.1.1", "[fe80::1]", "[fd00::1]"]:
        found = code(f"http://{host}:{port}/plain", allowed=())
        assert found in (("blocked", False), ("unavailable", True)), host
        if host in spellings[:3]:
            assert found[0] == "blocked"


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("100.64.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:7f00:1::", False),
        ("224.0.0.1", False),
        ("::", False),
        ("fe80::1%eth0", False),
    ],
)
def test_public_addresses(address: str, public: bool) -> None:
    assert urls.is_public(address) is public


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [(0, 0, 0, "", ("8.8.8.8", 80)), (0, 0, 0, "", ("127.0.0.1", 80))]
    monkeypatch.setattr(urls.socket, "getaddrinfo", lambda *args, **options: answers)
    assert code("http://looks-public.example/") == ("blocked", False)


def test_size_and_time_are_capped(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urls, "MAX_BYTES", BIG - 1)
    assert code(f"http://localhost:{port}/big") == ("too_large", False)
    assert code(f"http://localhost:{port}/bomb") == ("too_large", False)
    monkeypatch.setattr(urls, "TOTAL_SECONDS", 0.5)
    assert code(f"http://localhost:{port}/slow") == ("unavailable", True)


def served(*pieces: bytes, pause: float = 0.0) -> int:
    """The port of a server that answers one request with ``pieces``, as they are, and closes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with listener, listener.accept()[0] as stream, suppress(OSError):
            stream.recv(65_536)
            for piece in pieces:
                stream.sendall(piece)
                time.sleep(pause)

    threading.Thread(target=answer, daemon=True).start()
    return int(listener.getsockname()[1])


def test_an_answer_that_trickles_in_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urls, "TOTAL_SECONDS", 0.6)
    ok = b"HTTP/1.1 200 OK\r\n"
    last = ok + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n1;"
    for pieces in ([ok, *[b"X"] * 100], [ok + b"\r\n", *[b"x"] * 100], [last, *[b"x"] * 100]):
        started = time.monotonic()
        assert code(f"http://localhost:{served(*pieces, pause=0.1)}/") == ("unavailable", True)
        assert time.monotonic() - started < 3


def test_an_answer_that_is_cut_short_is_no_page() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
    short = served(head + b"Content-Length: 100\r\n\r\nonly this")
    assert code(f"http://localhost:{short}/") == ("unavailable", True)
    packed = gzip.compress(b"words " * 10_000)
    short = served(head + b"Content-Encoding: gzip\r\n\r\n" + packed[:-20])
    assert code(f"http://localhost:{short}/") == ("unavailable", True)
    chunked = served(head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nwords\r\n")
    assert code(f"http://localhost:{chunked}/") == ("unavailable", True)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (404, ("not_found", False)),
        (403, ("permission", False)),
        (418, ("http_status", False)),
        (503, ("unavailable", True)),
    ],
)
def test_answers_other_than_200(port: int, status: int, expected: tuple[str, bool]) -> None:
    assert code(f"http://localhost:{port}/{status}") == expected


@pytest.mark.parametrize(
    "address", ["http://", "http://user:pw@host/", "http://host:99999/", "http://a b/", "http://[::1/"]
)
def test_bad_addresses(address: str) -> None:
    assert code(address) == ("bad_address", False)


def test_nobody_listening_is_worth_another_try() -> None:
    assert code("http://localhost:1/") == ("unavailable", True)


def test_normal_addresses() -> None:
    assert urls.normal_address("HTTPS://Example.COM:443/A%20b?q#f") == "https://example.com/A%20b?q"
    assert urls.normal_address("http://[::1]:8080") == "http://[::1]:8080/"
    with pytest.raises(LoadError):
        urls.normal_address("ftp://example.com/")
