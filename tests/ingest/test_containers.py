"""What lies inside archives, mails and large texts: what is listed, what is refused, what a second sync costs."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import random
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import florilege
from florilege.ingest import load
from florilege.ingest.containers import archives, children, kinds, limits, pieces
from florilege.ingest.reading import Reading
from florilege.ingest.source import ByteSource
from florilege.model.document import Document, Failed, Loaded
from tests.ingest.build import tar, zipped
from tests.support import shared

Read = dict[str, Document | str]


def inside(data: bytes, name: str, **options: object) -> Read:
    """Everything loaded from bytes: documents, and codes of failures, by the end of their ids."""
    found: Read = {}
    for result in load(data, name=name, **options):  # type: ignore[arg-type]
        value = result.document if isinstance(result, Loaded) else result.code
        found[result.source_id.removeprefix(name)] = value
    return found


def texts(found: Read) -> list[str]:
    return [value.content if isinstance(value, Document) else value for value in found.values()]


FILES = {"a/one.md": b"# One\n\nfirst words", "b/two.txt": b"second words"}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.zip", zipped(FILES)),
        ("x.tar", tar(FILES)),
        ("x.tar", tar(FILES, format=tarfile.GNU_FORMAT)),
        ("x.tar.gz", tar(FILES, "w:gz")),
        ("x.tgz", tar(FILES, "w:gz")),
        ("x.tar.bz2", tar(FILES, "w:bz2")),
        ("x.tar.xz", tar(FILES, "w:xz")),
        ("nameless", tar(FILES, "w:gz")),
    ],
)
def test_the_entries_of_an_archive_are_sources(name: str, data: bytes) -> None:
    found = inside(data, name)
    assert texts(found) == ["", "# One\n\nfirst words", "second words"]
    archive, first, _ = found.values()
    assert isinstance(archive, Document)
    assert isinstance(first, Document)
    assert archive.metadata == {"children": 2}
    assert first.metadata == {"entry": "a/one.md"}
    assert first.media_type == "text/markdown"
    assert first.read_bytes() == FILES["a/one.md"]
    assert [re.sub("~[0-9a-f]{12}$", "", key) for key in found] == ["", "#one.md", "#two.txt"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_file_is_one_source(pack: Callable[[bytes], bytes]) -> None:
    rows = random.Random(7).randbytes(200_000).hex(",").encode()
    found = inside(pack(b"a,b\nx,1\n") + pack(rows), "data.csv.gz", root=os.getcwd())
    _, inner = found.values()
    assert isinstance(inner, Document), inner
    assert inner.read_bytes() == b"a,b\nx,1\n" + rows
    assert list(found)[1].startswith("#data.csv~")


def test_names_of_entries_are_never_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [
        "../../up.txt",
        "/etc/passwd.txt",
        "C:\\x\\back.txt",
        "a\x00b.txt",
        "n" * 3000 + ".txt",
        "日本語.txt",
        "$*:?.txt",
    ]
    found = inside(tar(dict.fromkeys(names, b"words"), format=tarfile.PAX_FORMAT), "x.tar")
    assert len(found) == len(names) + 1
    for key in list(found)[1:]:
        assert re.fullmatch(r"#[\w.-]{1,60}~[0-9a-f]{12}", key), key
    assert os.listdir(tmp_path) == []


def test_entries_nobody_wants_are_left_out() -> None:
    names = [".hidden", "a/.git/config", "__MACOSX/._x", "node_modules/m/i.js", "src/x.pyc", "Thumbs.db"]
    assert list(inside(zipped({**dict.fromkeys(names, b"x"), "kept.txt": b"y"}), "x.zip").values())[1:] != []
    assert len(inside(zipped({**dict.fromkeys(names, b"x"), "kept.txt": b"y"}), "x.zip")) == 2


def test_links_and_devices_in_a_tar_are_passed_over() -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for kind, target in ((tarfile.SYMTYPE, "/etc/passwd"), (tarfile.LNKTYPE, "real.txt"), (tarfile.CHRTYPE, "")):
            entry = tarfile.TarInfo(f"odd{ord(kind)}.txt")
            entry.type, entry.linkname = kind, target
            archive.addfile(entry)
        entry = tarfile.TarInfo("real.txt")
        entry.size = 4
        archive.addfile(entry, io.BytesIO(b"real"))
    assert texts(inside(stream.getvalue(), "x.tar")) == ["", "real"]


def test_an_entry_that_cannot_be_read_is_one_failed_source() -> None:
    data = bytearray(zipped({"good.txt": b"good", "bad.txt": b"bad" * 50, "p.png": b"\x89PNG\r\n\x1a\n"}))
    place = data.index(b"bad.txt") + len(b"bad.txt") + 2
    data[place] ^= 0xFF
    assert texts(inside(bytes(data), "x.zip")) == ["", "good", "damaged", "unsupported_format"]


def nested(depth: int, data: bytes = b"words") -> bytes:
    for number in range(depth):
        data = zipped({f"{number}.zip" if number else "leaf.txt": data})
    return data


def test_archives_in_archives_end_at_a_depth() -> None:
    assert texts(inside(nested(2), "x.zip")) == ["", "", "words"]
    assert texts(inside(nested(3), "x.zip")) == ["", "", "too_deep"]


def bomb(size: int) -> bytes:
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros.txt", "w", force_zip64=True) as entry,
    ):
        for _ in range(size // 1_000_000):
            entry.write(bytes(1_000_000))
    return stream.getvalue()


def test_bombs_are_refused_on_what_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bomb(150_000_000)
    assert len(whole) < 200_000
    lying = bytearray(whole)
    for mark, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = lying.index(mark) + offset
        lying[at : at + 4] = (5).to_bytes(4, "little")
    crowd = zipped({f"{number}.txt": b"" for number in range(limits.MAX_ENTRIES + 1)})
    assert texts(inside(whole, "x.zip")) == ["too_large"]
    assert texts(inside(bytes(lying), "x.zip")) in (["too_large"], ["", "damaged"])
    assert texts(inside(gzip.compress(bytes(30_000_000)), "x.gz")) == ["too_large"]
    assert texts(inside(lzma.compress(bytes(30_000_000)), "x.xz")) == ["too_large"]
    assert texts(inside(crowd, "x.zip")) == ["too_large"]
    assert texts(inside(zipped({"inner.zip": whole}), "x.zip")) == ["", "too_large"]
    monkeypatch.setattr(limits, "MAX_UNPACKED", 1000)
    half = zipped({"b.txt": bytes(range(256)) * 2})
    assert texts(inside(zipped({"a.zip": half, "c.txt": b"x" * 400}), "x.zip")) == ["", "too_large", "x" * 400]


def test_a_directory_of_very_many_entries_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipped({f"{number:04}" * 300: b"" for number in range(20)})
    monkeypatch.setattr(archives, "MAX_ENTRIES", 10)
    monkeypatch.setattr(archives.zipfile, "ZipFile", lambda *_: pytest.fail("the directory was read"))
    assert texts(inside(data, "x.zip", media_type="application/zip")) == ["too_large"]


def test_encrypted_and_damaged_archives_have_their_codes() -> None:
    locked = bytearray(zipped({"a.txt": b"words"}))
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    whole = tar(FILES, "w:gz")
    assert texts(inside(bytes(locked), "x.zip")) == ["encrypted"]
    assert texts(inside(b"PK\x03\x04 and nothing", "x.zip")) == ["damaged"]
    assert texts(inside(whole[: len(whole) // 2], "x.tar.gz")) == ["damaged"]
    assert texts(inside(gzip.compress(b"words") + b"rubbish behind it", "x.gz")) == ["", "words"]
    assert texts(inside(tar(FILES)[:520], "x.tar")) == ["", "damaged"]


MAIL = b"""From: a@example.com
Subject: Numbers
Content-Type: multipart/mixed; boundary=XX

--XX
Content-Type: text/plain

Please find them attached.
--XX
Content-Type: text/csv; name="../../numbers.csv"
Content-Disposition: attachment; filename="../../numbers.csv"

item,price
harp,4200
--XX
Content-Type: application/zip
Content-Transfer-Encoding: base64

%s
--XX--
"""


def test_attachments_are_sources_behind_their_mail() -> None:
    import base64

    packed = zipped({"deep.zip": zipped({"deepest.zip": b"PK\x05\x06" + bytes(18)}), "note.txt": b"a note"})
    found = inside(MAIL % base64.b64encode(packed), "x.eml")
    mail, numbers, archive, deep, note = found.values()
    assert isinstance(mail, Document)
    assert isinstance(numbers, Document)
    assert mail.metadata["children"] == 2
    assert mail.title == "Numbers"
    assert numbers.metadata == {"attachment": "../../numbers.csv"}
    assert numbers.parts[0].columns == ("item", "price")
    assert isinstance(archive, Document)
    assert archive.metadata["attachment"] == "application-zip.zip"
    assert deep == "too_deep"
    assert isinstance(note, Document)


def test_attachments_of_an_outlook_message_are_sources() -> None:
    path = shared("files/msg/msg_with_attachment.msg")
    mail, text, broken = inside(path.read_bytes(), "x.msg").values()
    assert isinstance(mail, Document)
    assert mail.metadata["children"] == 2
    assert isinstance(text, Document)
    assert text.metadata == {"attachment": "test.txt"}
    assert broken == "damaged"  # the sample's PDF is 26 bytes


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are cut beyond 2,000 bytes, into pieces of 500 characters."""
    monkeypatch.setattr(kinds, "PIECES_ABOVE", 2000)
    monkeypatch.setattr(pieces, "PIECE_CHARS", 500)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_large_table_is_cut_between_rows_under_its_header(encoding: str, end: str) -> None:
    rows = [[str(n), f"näme {n}", f'says "{n}",{end}then leaves' if n % 7 == 0 else "x;y"] for n in range(1, 121)]
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator=end).writerows([["id", "name", "note"], *rows])
    found = inside(stream.getvalue().encode(encoding), "a.csv")
    whole, *cut = found.values()
    assert isinstance(whole, Document)
    assert whole.metadata == {"children": len(cut)}
    assert len(cut) > 5
    reached = 0
    seen = []
    for key, piece in list(found.items())[1:]:
        assert isinstance(piece, Document)
        assert len(piece.content) <= 500
        (table,) = piece.parts
        assert table.columns == ("id", "name", "note")
        first, last = (int(number) for number in key.removeprefix("#rows=").split("-"))
        assert (first, last) == (reached + 1, reached + len(table.rows))
        reached = last
        seen += [row[0] for row in table.rows]
        assert piece.read_bytes()
    assert seen == [row[0] for row in rows]


@pytest.mark.usefixtures("small")
def test_a_table_without_header_has_none_in_its_pieces() -> None:
    data = "".join(f"{n};{n * n}\n" for n in range(600)).encode()
    found = inside(data, "a.csv")
    tables = [piece.parts[0] for piece in list(found.values())[1:] if isinstance(piece, Document)]
    assert sum(len(table.rows) for table in tables) == 600
    assert {table.columns for table in tables} == {()}


@pytest.mark.usefixtures("small")
def test_json_lines_keep_their_paths() -> None:
    data = "".join(
        json.dumps({"n": n, "text": "wörds " * (n % 9)}, ensure_ascii=False) + "\n" for n in range(100)
    ).encode()
    found = list(inside(data, "a.jsonl").values())[1:]
    paths = [part.json_path for piece in found if isinstance(piece, Document) for part in piece.parts]
    assert paths == [f"$[{n}]" for n in range(100)]
    assert max(len(piece.content) for piece in found if isinstance(piece, Document)) <= 500


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("text", ["para one\n\npara two is ß\n\n" * 200, "läne\n" * 900, "word " * 900, "日本" * 900])
def test_plain_text_is_cut_and_loses_nothing(text: str) -> None:
    found = inside(text.encode(), "a.txt")
    cut = list(found.items())[1:]
    reached = 0
    for key, piece in cut:
        assert isinstance(piece, Document)
        start, end = (int(number) for number in key.removeprefix("#chars=").split("-"))
        assert start == reached
        assert text[start:end] == piece.content
        assert end - start <= 500
        reached = end
    assert reached == len(text)


@pytest.mark.usefixtures("small")
def test_a_record_too_long_for_any_document_fails_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MAX_CHARS", 3000)
    assert texts(inside(b"a,b\n" + b"x" * 4000 + b",y\n", "a.csv")) == ["too_large"]
    assert texts(inside(b'{"a": "' + b"x" * 4000 + b'"}\n', "a.jsonl")) == ["too_large"]
    monkeypatch.setattr(pieces, "MAX_STREAMED", 3000)
    assert texts(inside(b"word " * 1000, "a.txt")) == ["too_large"]


@pytest.mark.usefixtures("small")
def test_a_large_text_that_changes_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("line of words\n" * 400)
    (source,) = load(path).sources()
    assert isinstance(source, ByteSource)
    first, *_ = source.children()
    path.write_text("other kind of\n" * 400)
    found = first.read() if not isinstance(first, Failed) else first
    assert isinstance(found, Failed)
    assert (found.code, found.retryable) == ("changed", True)


def test_types_that_a_reader_of_the_caller_takes_are_no_containers() -> None:
    class Zips:
        id, version, media_types = "zips", "1", ("application/zip",)

        def read(self, content: bytes, media_type: str) -> object:
            from florilege.interfaces import ReadResult

            return ReadResult(content=f"{len(content)} bytes")

    assert texts(inside(zipped(FILES), "x.zip", readers=[Zips()]))[0].endswith(" bytes")


_MEASURED = """
import resource, sys
from florilege.ingest import load
(source,) = load(sys.argv[1]).sources()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
pieces = list(source.children())
found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(pieces), (found - before) // 1024, pieces[-1].source_id.split("#")[1])
"""


def test_a_large_file_is_cut_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    line = "12345,some words in a cell,more words in another cell,2024-02-29\n"
    count = limits.PIECES_ABOVE // len(line) + 10_000
    with path.open("w") as stream:
        stream.write("id,first,second,day\n")
        stream.writelines(line for _ in range(count))
    done = subprocess.run([sys.executable, "-c", _MEASURED, str(path)], capture_output=True, text=True, timeout=120)
    number, megabytes, last = done.stdout.split()
    assert int(number) >= 10, done.stderr
    assert last.endswith(f"-{count}")
    assert int(megabytes) < 30


# What syncing them costs


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The containers that were looked into."""
    calls: list[str] = []
    open_ = kinds.Inside.open

    def counted(self: kinds.Inside, source: ByteSource) -> object:
        calls.append(source.source_id)
        return open_(self, source)

    monkeypatch.setattr(kinds.Inside, "open", counted)
    monkeypatch.setattr("florilege.ingest.paths._YOUNG_NS", 0)
    return calls


def synced(corpus: florilege.Corpus, path: Path) -> dict[str, str]:
    result = corpus.sync(load(path, root=path), source_set="complete", stale="delete")
    return {re.sub("~[0-9a-f]{12}", "", source.source_id): source.action for source in result.sources}


def test_an_unchanged_container_is_not_looked_into(tmp_path: Path, looked: list[str]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "x.zip").write_bytes(
        zipped({"a.txt": b"alpha", "b.zip": zipped({"c.txt": b"gamma"}), "d.png": b"\x89PNG\r\n\x1a\n"})
    )
    with florilege.open(tmp_path / "store", dense=None) as corpus:
        first = synced(corpus, docs)
        assert first == {
            "x.zip": "added",
            "x.zip#a.txt": "added",
            "x.zip#b.zip": "added",
            "x.zip#b.zip#c.txt": "added",
            "x.zip#d.png": "failed",
        }
        assert len(looked) == 2
        assert corpus.retrieve("gamma")[0].metadata == {"entry": "c.txt"}
        looked.clear()
        again = synced(corpus, docs)
        assert looked == []
        assert again == {key: "failed" if action == "failed" else "unchanged" for key, action in first.items()}
        (docs / "x.zip").write_bytes(zipped({"a.txt": b"alpha", "e.txt": b"epsilon"}))
        assert synced(corpus, docs) == {
            "x.zip": "changed",
            "x.zip#a.txt": "unchanged",
            "x.zip#e.txt": "added",
            "x.zip#b.zip": "deleted",
            "x.zip#b.zip#c.txt": "deleted",
            "x.zip#d.png": "deleted",
        }
        (docs / "x.zip").write_bytes(b"PK\x03\x04 broken")
        assert synced(corpus, docs) == {"x.zip": "failed"}
        assert corpus.retrieve("epsilon")  # what lay in it stays
        looked.clear()
        assert synced(corpus, docs) == {"x.zip": "failed"}
        assert looked == []
        (docs / "x.zip").unlink()
        (docs / "y.txt").write_text("other")
        assert synced(corpus, docs) == {
            "y.txt": "added",
            "x.zip": "deleted",
            "x.zip#a.txt": "deleted",
            "x.zip#e.txt": "deleted",
        }


def test_a_child_that_is_missing_makes_its_container_looked_into(tmp_path: Path, looked: list[str]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "x.zip").write_bytes(zipped(FILES))
    with florilege.open(tmp_path / "store", dense=None) as corpus:
        synced(corpus, docs)
        (child,) = [row.source_id for row in corpus.list_sources()[0] if "one.md" in row.source_id]
        corpus.data.delete_sources("default", {child: None}, forget=True)
        looked.clear()
        assert synced(corpus, docs) == {"x.zip": "unchanged", "x.zip#one.md": "added", "x.zip#two.txt": "unchanged"}
        assert looked == ["x.zip"]


def test_another_reader_makes_every_container_looked_into(
    tmp_path: Path, looked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "x.zip").write_bytes(zipped(FILES))
    with florilege.open(tmp_path / "store", dense=None) as corpus:
        synced(corpus, docs)
        looked.clear()
        monkeypatch.setattr(Reading, "digest", "another")
        assert set(synced(corpus, docs).values()) == {"unchanged"}
        assert looked == ["x.zip"]


def test_ids_do_not_depend_on_the_order_of_entries() -> None:
    forth, back = zipped(FILES), zipped(dict(reversed(FILES.items())))
    assert set(inside(forth, "x.zip")) == set(inside(back, "x.zip"))
    assert children.ChildSource.above == 0
