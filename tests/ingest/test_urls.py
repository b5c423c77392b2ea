"""Sources at addresses: what is fetched, what is refused, on servers of our own."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from florilege.ingest import load, urls
from florilege.model.document import Document, Failed, Loaded
from florilege.model.errors import LoadError

BIG = 300_000


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


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.handle_error = lambda *args: None  # type: ignore[method-assign]
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
