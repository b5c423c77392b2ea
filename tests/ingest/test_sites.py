"""Sites: what is followed, what is left alone, and how politely, on servers of our own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import florilege
from florilege.ingest import Crawl, load
from florilege.ingest.web.links import page_links
from florilege.ingest.web.robots import parse_robots
from florilege.model.document import Failed, Loaded
from florilege.model.errors import ConfigError

HTML = "text/html; charset=utf-8"


class Site:
    """Pages by path, as (type, body) or an address to redirect to; every request is noted."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[str, bytes] | str | int] = {}
        self.asked: list[tuple[str, str | None]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                known = self.headers.get("If-None-Match")
                site.asked.append((self.path, known))
                answer = site.pages.get(self.path, 404)
                if isinstance(answer, (int, str)):
                    self.send_response(answer if isinstance(answer, int) else 302)
                    if isinstance(answer, str):
                        self.send_header("Location", answer)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                kind, body = answer
                tag = f'"{hash(body)}"'
                self.send_response(304 if known == tag else 200)
                self.send_header("Content-Type", kind)
                self.send_header("ETag", tag)
                body = b"" if known == tag else body
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                del args

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def page(self, path: str, *links: str, extra: str = "") -> None:
        anchors = "".join(f'<p>see <a href="{link}">that</a></p>' for link in links)
        self.pages[path] = HTML, f"<html>{extra}<body><h1>Page {path}</h1>{anchors}</body></html>".encode()

    def listed(self, start: str = "/", **options: object) -> dict[str, str]:
        """What a crawl lists: the path of each source, and its title or code."""
        crawl = Crawl(**{"delay": 0.0, **options})  # type: ignore[arg-type]
        found: dict[str, str] = {}
        for outcome in load(self.address + start, crawl=crawl, allow_private="localhost", isolate=False):
            if isinstance(outcome, Failed):
                found[outcome.source_id.removeprefix(self.address)] = outcome.code
            else:
                found[outcome.document.source_id.removeprefix(self.address)] = outcome.document.title or ""
        return found


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_links_are_followed_breadth_first_to_a_depth(site: Site) -> None:
    site.page("/", "/b", "a#part", "./a", "http://elsewhere.example/", "mailto:a@b.example", "logo.png")
    site.page("/a", "/a/deep", "/")
    site.page("/b", "notes.txt", "dead")
    site.page("/a/deep", "/a/deeper")
    site.page("/a/deeper")
    site.pages["/notes.txt"] = "text/plain", b"plain words"
    assert list(site.listed().items()) == [
        ("/", "Page /"),
        ("/b", "Page /b"),
        ("/a", "Page /a"),
        ("/notes.txt", ""),
        ("/dead", "not_found"),
        ("/a/deep", "Page /a/deep"),
        ("/a/deeper", "Page /a/deeper"),
    ]
    assert list(site.listed(depth=1)) == ["/", "/b", "/a"]
    assert list(site.listed(depth=0)) == ["/"]
    assert ("/logo.png", None) not in site.asked


def test_only_what_lies_below_the_start_is_taken(site: Site) -> None:
    site.page("/guide/", "/guide/one", "/other", "../up", "/guidelines")
    site.page("/guide/one", "/guide/moved", "/guide/away")
    site.page("/guide/two")
    site.page("/other")
    site.pages["/guide/moved"] = "/guide/two"
    site.pages["/guide/away"] = "/other"
    site.pages["/start"] = "/guide/"
    assert list(site.listed("/start")) == ["/guide/", "/guide/one", "/guide/two"]
    assert {path for path, _ in site.asked} & {"/other", "/up", "/guidelines"} == set()


def test_a_site_in_a_private_network_is_refused(site: Site) -> None:
    site.page("/")
    (found,) = load(site.address, crawl=True)
    assert isinstance(found, Failed)
    assert found.code == "blocked"
    assert site.asked == []
    site.page("/", f"http://127.0.0.1:{site.server.server_port}/a", "/b")
    site.pages["/b"] = f"http://127.0.0.1:{site.server.server_port}/a"
    assert list(site.listed()) == ["/"]
    assert "/a" not in {path for path, _ in site.asked}


def test_robots_are_obeyed(site: Site) -> None:
    site.pages["/robots.txt"] = "text/plain", b"User-agent: *\nDisallow: /private\nAllow: /private/open\n"
    site.page("/", "/private/closed", "/private/open", "/sly")
    site.page("/private/closed")
    site.page("/private/open")
    site.pages["/sly"] = "/private/closed"
    assert list(site.listed()) == ["/", "/private/open"]
    assert "/private/closed" not in {path for path, _ in site.asked}
    site.pages["/robots.txt"] = "text/plain", b"User-agent: Florilege\nDisallow: /\n\nUser-agent: *\nAllow: /\n"
    assert site.listed() == {site.address[len(site.address) :] + "/": "robots"}
    site.pages["/robots.txt"] = 503
    site.asked.clear()
    assert site.listed() == {"/": "unavailable"}
    assert site.asked == [("/robots.txt", None)]


def test_pages_may_ask_not_to_be_followed(site: Site) -> None:
    site.page("/", "/a", extra='<head><meta name="robots" content="noarchive, nofollow"></head>')
    assert list(site.listed()) == ["/"]


def test_limits_end_a_crawl_and_are_told(site: Site) -> None:
    for number in range(30):
        site.page(f"/{number}", f"/{number + 1}", f"/x{number}.txt")
        site.pages[f"/x{number}.txt"] = "text/plain", b"words " * 100
    found = site.listed("/0", depth=100, pages=7)
    assert len(found) == 8
    assert list(found.values()).count("limit") == 1
    found = site.listed("/0", depth=100, bytes=2000)
    assert list(found.values())[-1] == "limit"
    assert len(found) < 12


def test_requests_keep_their_distance(site: Site) -> None:
    site.page("/", "/a", "/b")
    site.page("/a")
    site.page("/b")
    started = time.monotonic()
    assert len(site.listed(delay=0.2)) == 3
    assert time.monotonic() - started >= 0.4
    site.pages["/robots.txt"] = "text/plain", b"User-agent: *\nCrawl-delay: 0.3\n"
    started = time.monotonic()
    assert len(site.listed()) == 3
    assert time.monotonic() - started >= 0.6


def test_a_second_sync_reads_what_changed_and_drops_what_is_gone(site: Site, tmp_path: Path) -> None:
    site.page("/", "/a", "/b", "/c.txt")
    for name in "/a", "/b":
        site.page(name)
    site.pages["/c.txt"] = "text/plain", b"unchanging words"
    listing = {"crawl": Crawl(delay=0.0), "allow_private": "localhost", "isolate": False}

    def synced(corpus: florilege.Corpus) -> dict[str, str]:
        found = load(site.address, **listing)  # type: ignore[arg-type]
        result = corpus.sync(found, source_set="complete", stale="delete")
        return {source.source_id.removeprefix(site.address): source.action for source in result.sources}

    with florilege.open(tmp_path / "store", dense=None) as corpus:
        assert synced(corpus) == dict.fromkeys(("/", "/a", "/b", "/c.txt"), "added")
        site.asked.clear()
        assert synced(corpus) == dict.fromkeys(("/", "/a", "/b", "/c.txt"), "unchanged")
        assert dict(site.asked)["/c.txt"] is not None
        site.page("/", "/a", "/c.txt")
        assert synced(corpus) == {"/": "changed", "/a": "unchanged", "/c.txt": "unchanged", "/b": "deleted"}
        site.pages["/a"] = 503
        site.page("/", "/a")
        assert "deleted" not in synced(corpus).values(), "an inner page that fails may hide others"


def test_links_beyond_the_limit_are_not_gone_when_those_before_lead_away(site: Site, tmp_path: Path) -> None:
    site.page("/", "/keep")
    site.page("/keep")
    with florilege.open(tmp_path / "store", dense=None) as corpus:
        for pages in (9, 3):
            found = load(site.address, crawl=Crawl(delay=0.0, pages=pages), allow_private="localhost", isolate=False)
            result = corpus.sync(found, source_set="complete", stale="delete")
            assert "deleted" not in {source.action for source in result.sources}
            for number in range(8):
                site.pages[f"/away{number}"] = "http://elsewhere.example/"
            site.page("/", *(f"/away{number}" for number in range(8)), "/keep")
        kept = corpus.get_source(f"{site.address}/keep")
        assert kept is not None
        assert kept.status == "indexed"


def test_what_is_fetched_later_stays_within_the_bytes_of_a_crawl(site: Site) -> None:
    site.page("/", *(f"/{number}.txt" for number in range(9)))
    for number in range(9):
        site.pages[f"/{number}.txt"] = "text/plain", b"words " * 1000
    crawl = Crawl(delay=0.0, bytes=10_000)
    sources = list(load(site.address, crawl=crawl, allow_private="localhost", isolate=False).sources())
    assert len(sources) == 10
    found = [source.read() for source in sources if not isinstance(source, Failed)]
    assert [item.code if isinstance(item, Failed) else "" for item in found] == [""] * 3 + ["limit"] * 7


def test_pages_made_by_programs_are_pages(site: Site) -> None:
    site.page("/index.php", "/read.md?plain=0")
    site.page("/read.md?plain=0")
    found = load(site.address + "/index.php", crawl=Crawl(delay=0.0), allow_private="localhost", isolate=False)
    kinds = {item.document.media_type if isinstance(item, Loaded) else item.code for item in found}
    assert kinds == {"text/html"}


@pytest.mark.parametrize("options", [{"depth": -1}, {"pages": 0}, {"bytes": 0}, {"delay": -1.0}])
def test_bad_limits(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        Crawl(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rules", "target", "allowed"),
    [
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a/b", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x/y.pdf?z", True),
        ("User-agent: *\nDisallow: /a*b*c", "/a-b-c-d", False),
        ("User-agent: *\nDisallow: /a*b*c", "/a-c-b", True),
        ("User-agent: *\nDisallow: /a$", "/a", False),
        ("User-agent: *\nDisallow: /a$", "/ab", True),
        ("User-agent: *\nDisallow: /caf%C3%A9", "/café", False),
        ("User-agent: *\nDisallow: /a%2Fb", "/a/b", True),
        ("User-agent: other\nUser-agent: florilege/2\nDisallow: /\n\nUser-agent: *\nDisallow:", "/a", False),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("user-agent: florilege\ndisallow: /a\nuser-agent: x\nallow: /\nuser-agent: florilege\ndisallow: /b", "/b", 0),
        ("Disallow: /", "/a", True),
        ("User-agent: *\nDisallow: /" + "*a" * 2000, "/" + "a" * 1999, True),
    ],
)  # fmt: skip
def test_robots_rules(rules: str, target: str, allowed: bool) -> None:
    assert parse_robots(rules.encode()).allows(target) is bool(allowed)


def test_robots_that_are_no_rules() -> None:
    assert parse_robots(b"\xef\xbb\xbf\x00\xff<html>: x").rules == ()
    assert parse_robots(b"User-agent: *\nCrawl-delay: 7\nCrawl-delay: soon").delay == 7.0


def test_links_of_hostile_pages_are_found_in_time() -> None:
    page = """<base href="/x/"><!-- <a href="no"> --><script>"<a href='no'>"</script>
        <a class=b href = 'one?a=1&amp;b=2#c'>1</a> <A HREF=two>2</A> <a rel="nofollow" href="no">n</a> <a name=q>"""
    assert list(page_links(page, "http://h/d/")) == ["http://h/x/one?a=1&b=2", "http://h/x/two"]
    started = time.process_time()
    for hostile in (
        "<a " * 300_000,
        "<!--" * 300_000,
        "<a href" + " " * 300_000,
        "<script>" * 200_000,
        "<a " + "a=" * 400_000 + ">",
    ):
        assert list(page_links(hostile, "http://h/")) == []  # fmt: skip
    assert list(page_links('<a href="http://[">', "http://h/")) == []
    assert time.process_time() - started < 5
