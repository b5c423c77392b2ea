"""Object storage, spoken to over its own protocol; other file systems; and reading by key below a root."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import florilege
from florilege.ingest import Storage, load
from florilege.model.document import Failed, Loaded
from florilege.model.errors import ConfigError, LoadError
from tests.ingest.build import docx, zipped

KEYS = {
    "docs/one.md": b"# One\n\nfirst words",
    "docs/sub/two.docx": docx("<w:p><w:r><w:t>second words</w:t></w:r></w:p>"),
    "docs/sub/three.zip": zipped({"in.txt": b"third words"}),
    "docs/.hidden.md": b"hidden",
    "docs/node_modules/x.js": b"ignored",
    "docsish.md": b"beside the prefix",
    "ünï.txt": "fourth wörds".encode(),
}


@pytest.fixture(scope="module")
def service() -> Iterator[int]:
    """A server that speaks S3, with one bucket."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("PUT", "/bucket")
    assert connection.getresponse().status == 200
    connection.close()
    yield port
    server.stop()


def options(port: int) -> dict[str, Any]:
    config = {
        "endpoint": f"http://127.0.0.1:{port}",
        "access_key_id": "key",
        "secret_access_key": "secret",
        "region": "us-east-1",
        "virtual_hosted_style_request": False,
    }
    return {"config": config, "client_options": {"allow_http": True}}


@pytest.fixture
def bucket(service: int) -> Any:
    """The bucket with these keys and no others."""
    import obstore
    from obstore.store import from_url

    store = from_url("s3://bucket", **options(service))
    for page in obstore.list(store):
        obstore.delete(store, [entry["path"] for entry in page])
    for key, data in KEYS.items():
        obstore.put(store, key, data)
    return store


def ids(what: str, port: int, **more: Any) -> list[str]:
    listing = load(what, storage_options=options(port), **more)
    return [source.source_id.removeprefix("s3://bucket/") for source in listing.sources()]


@pytest.mark.usefixtures("bucket")
def test_what_is_listed(service: int) -> None:
    below = ["docs/one.md", "docs/sub/three.zip", "docs/sub/two.docx"]
    assert ids("s3://bucket/docs/", service) == below
    assert ids("s3://bucket/docs", service) == below
    assert ids("s3://bucket", service) == [*below, "docsish.md", "ünï.txt"]
    assert ids("s3://bucket/docs/one.md", service) == ["docs/one.md"]
    assert ids("s3://bucket/**/*.md", service) == ["docs/one.md", "docsish.md"]
    assert ids("s3://bucket/docs/*", service) == ["docs/one.md"]
    assert ids("s3://bucket/docs", service, include="*.md", hidden=True) == ["docs/.hidden.md", "docs/one.md"]
    assert ids("s3://bucket/docs", service, ignore="sub/") == ["docs/one.md"]


@pytest.mark.usefixtures("bucket")
def test_objects_are_read_and_looked_into(service: int) -> None:
    found = {
        result.source_id.removeprefix("s3://bucket/").split("~")[0]: result.document.content
        for result in load("s3://bucket", storage_options=options(service))
        if isinstance(result, Loaded)
    }
    assert found == {
        "docs/one.md": "# One\n\nfirst words",
        "docs/sub/three.zip": "",
        "docs/sub/three.zip#in.txt": "third words",
        "docs/sub/two.docx": "second words",
        "docsish.md": "beside the prefix",
        "ünï.txt": "fourth wörds",
    }


@pytest.mark.usefixtures("bucket")
def test_google_storage_is_read_by_its_own_protocol(service: int) -> None:
    """Google's XML interface is that of S3 as far as reading goes, so the same server can answer for it."""
    connection = http.client.HTTPConnection("127.0.0.1", service)
    for name, data in KEYS.items():
        headers = {"x-amz-acl": "public-read", "Authorization": "AWS4-HMAC-SHA256 Credential=key/d/us-east-1/s3/x"}
        connection.request("PUT", f"/bucket/{quote(name)}", data, headers)
        assert connection.getresponse().read() == b""
    connection.close()
    key = {"gcs_base_url": f"http://127.0.0.1:{service}", "disable_oauth": True}
    secret = json.dumps({**key, "client_email": "", "private_key": "", "private_key_id": ""})
    google = {"config": {"service_account_key": secret}, "client_options": {"allow_http": True}}
    found = [item for item in load("gs://bucket/docs/", storage_options=google) if isinstance(item, Loaded)]
    assert [item.source_id.split("~")[0] for item in found] == [
        "gs://bucket/docs/one.md",
        "gs://bucket/docs/sub/three.zip",
        "gs://bucket/docs/sub/three.zip#in.txt",
        "gs://bucket/docs/sub/two.docx",
    ]
    assert [item.document.content for item in found[::3]] == ["# One\n\nfirst words", "second words"]
    (missing,) = load("gs://bucket/nothing.txt", storage_options=google)
    assert isinstance(missing, Failed)
    assert missing.code == "not_found"


def test_unchanged_objects_are_not_fetched_again(service: int, bucket: Any, tmp_path: Path, monkeypatch: Any) -> None:
    import obstore

    from florilege.ingest.remote.obstores import ObjectBucket

    fetched: list[str] = []
    stream = ObjectBucket.stream
    monkeypatch.setattr(ObjectBucket, "stream", lambda self, key: (fetched.append(key), stream(self, key))[1])

    def synced(corpus: florilege.Corpus) -> dict[str, str]:
        listing = load("s3://bucket/docs", storage_options=options(service))
        result = corpus.sync(listing, source_set="complete", stale="delete")
        return {source.source_id.rpartition("/")[2].split("~")[0]: source.action for source in result.sources}

    with florilege.open(tmp_path / "store", dense=None) as corpus:
        assert set(synced(corpus).values()) == {"added"}
        assert len(fetched) == 3
        fetched.clear()
        assert synced(corpus) == dict.fromkeys(("one.md", "three.zip", "three.zip#in.txt", "two.docx"), "unchanged")
        assert fetched == []
        obstore.put(bucket, "docs/one.md", b"# One\n\nother words")
        obstore.delete(bucket, "docs/sub/three.zip")
        assert synced(corpus) == {
            "one.md": "changed",
            "two.docx": "unchanged",
            "three.zip": "deleted",
            "three.zip#in.txt": "deleted",
        }
        assert fetched == ["docs/one.md"]


@pytest.mark.usefixtures("bucket")
def test_what_goes_wrong_has_a_code(service: int) -> None:
    def code(what: str, port: int, **more: Any) -> str:
        (found,) = load(what, storage_options=options(port), **more)
        assert isinstance(found, Failed)
        assert "secret" not in found.message
        return found.code

    assert code("s3://bucket/docs/none.md", service) == "not_found"
    assert code("s3://other/docs/", service) == "unavailable"
    assert code("s3://bucket/docs/one.md", service, max_bytes=5) == "too_large"
    for what in ("s3://", "nosuch://x/y", "s3://key:secret@bucket/x", "ftp://host::s3://bucket/x"):
        with pytest.raises((ConfigError, LoadError)) as failure:
            list(load(what, storage_options=options(service)))
        assert "secret@" not in failure.value.message
    with pytest.raises(ConfigError):
        load("s3://bucket/x", storage_options={"config": {"no_such_key": "secret"}})


def test_a_listing_that_breaks_off_makes_nothing_stale(service: int, bucket: Any, tmp_path: Path) -> None:
    del bucket
    good = load("s3://bucket/docs", storage_options=options(service))
    with florilege.open(tmp_path / "store", dense=None) as corpus:
        corpus.sync(good, source_set="complete")
        unreachable = options(1)
        unreachable["retry_config"] = {"max_retries": 0}
        bad = load("s3://bucket/docs", storage_options=unreachable)
        result = corpus.sync(bad, source_set="complete", stale="delete")
        assert [(source.action, source.reason) for source in result.sources] == [("failed", "unavailable")]
        assert bad.complete_for("s3://bucket/docs/one.md") is False


def test_any_file_system_of_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe({"/papers/a.txt": b"alpha", "/papers/b/c.md": b"# Gamma", "/other.txt": b"x"})
    found = {
        result.source_id: result.document.content for result in load("memory://papers") if isinstance(result, Loaded)
    }
    assert found == {"memory://papers/a.txt": "alpha", "memory://papers/b/c.md": "# Gamma"}
    (missing,) = load("memory://nothing/here.txt")
    assert isinstance(missing, Failed)
    assert missing.code == "not_found"
    assert Storage("memory://papers").read("b/c.md") == b"# Gamma"


def test_a_file_address_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_text("words")
    (found,) = load(f"file://{tmp_path}/a%20b.txt", root=tmp_path)
    assert found.source_id == "a b.txt"


BAD_KEYS = ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a\\..\\..\\x", "a\x00b", "s3://other/x", ".."]


def test_no_key_leaves_a_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "inner").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.txt").write_bytes(b"secret")
    (root / "inner/a.txt").write_bytes(b"words")
    (root / "out").symlink_to(outside)
    (root / "out.txt").symlink_to(outside / "secret.txt")
    (root / "in.txt").symlink_to(root / "inner/a.txt")
    (root / "round").symlink_to(root / "round")
    storage = Storage(root)
    assert storage.read("inner/a.txt") == storage.read("in.txt") == b"words"
    for key in [*BAD_KEYS, "out/secret.txt", "out.txt", "inner", "none.txt", "round", "in.txt/x"]:
        with pytest.raises(LoadError) as failure:
            storage.read(key)
        assert str(outside) not in failure.value.message
    with pytest.raises(LoadError) as failure:
        Storage(root, max_bytes=3).read("inner/a.txt")
    assert failure.value.code == "too_large"
    with pytest.raises(ConfigError):
        Storage(tmp_path / "nowhere")


def test_a_link_put_in_between_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "inner").mkdir(parents=True)
    outside.mkdir()
    (outside / "a.txt").write_bytes(b"secret")
    (root / "inner/a.txt").write_bytes(b"words")
    resolved = os.path.realpath

    def swapped(path: str) -> str:
        found = resolved(path)
        if path.endswith("a.txt"):
            (root / "inner/a.txt").unlink()
            (root / "inner").rmdir()
            (root / "inner").symlink_to(outside)
        return found

    storage = Storage(root)
    monkeypatch.setattr("florilege.ingest.remote.storage.os.path.realpath", swapped)
    with pytest.raises(LoadError):
        storage.read("inner/a.txt")


@pytest.mark.usefixtures("bucket")
def test_no_key_leaves_a_prefix(service: int) -> None:
    storage = Storage("s3://bucket/docs", storage_options=options(service))
    assert storage.read("one.md") == KEYS["docs/one.md"]
    for key in [*BAD_KEYS, "none.md"]:
        with pytest.raises(LoadError):
            storage.read(key)
