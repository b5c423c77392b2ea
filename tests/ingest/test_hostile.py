"""Damaged and hostile files: each ends in a document or a coded failure, in time and in memory."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import os
import random
import time
import zipfile
from collections import Counter
from collections.abc import Iterator

import pytest

from florilege.ingest import load
from florilege.ingest.reading import Reading
from florilege.isolation import WorkerPool
from florilege.model.document import Document, Failed
from florilege.model.errors import ReadError
from tests.ingest.build import docx, tar, xlsx, zipped
from tests.ingest.test_containers import MAIL
from tests.support import shared

CODES = {
    "bad_reader",
    "crashed",
    "damaged",
    "empty",
    "encrypted",
    "timeout",
    "too_deep",
    "too_large",
    "unsupported_format",
}
MUTATIONS = 1000 if os.environ.get("FLORILEGE_SOAK") else 100


@pytest.fixture(scope="module")
def reading() -> Iterator[Reading]:
    pool = WorkerPool(2)
    yield Reading(pool=pool, time_limit=3.0)
    pool.close()


def outcome(reading: Reading, data: bytes, name: str) -> Document | str:
    started = time.monotonic()
    try:
        found: Document | str = reading.document(data, source_id=name, name=name)
    except ReadError as error:
        found = error.code
    assert time.monotonic() - started < 15
    return found


def mutated(data: bytes, chance: random.Random) -> bytes:
    piece = bytearray(data)
    for _ in range(chance.randint(1, 12)):
        place = chance.randrange(len(piece) + 1)
        match chance.randrange(5):
            case 0:
                piece[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del piece[place : place + chance.randint(1, 200)]
            case 2:
                piece[place:place] = chance.randbytes(chance.randint(1, 50))
            case 3:
                other = chance.randrange(len(piece) + 1)
                piece[place:place] = piece[other : other + 300]
            case _:
                piece = piece[: max(1, len(piece) - chance.randint(1, len(piece) // 4 + 1))]
        if not piece:
            break
    return bytes(piece)


@pytest.mark.crash
def test_mutated_files_end_in_a_document_or_a_code(reading: Reading) -> None:
    root = shared("files")
    files = sorted(path for path in root.rglob("*.*") if path.is_file() and path.stat().st_size)
    chance = random.Random(20240229)
    seen: Counter[str] = Counter()
    for number in range(MUTATIONS):
        path = files[number % len(files)]
        found = outcome(reading, mutated(path.read_bytes(), chance), path.name)
        seen[found if isinstance(found, str) else "document"] += 1
        assert isinstance(found, Document) or found in CODES, (path.name, number)
    assert seen["document"] > MUTATIONS // 4
    assert seen["bad_reader"] == seen["timeout"] == 0


def test_mutated_yaml_ends_in_a_document_or_a_code() -> None:
    whole = b"""title: A\nbase: &b {a: 1, b: [x, "y", 'z']}\nother:\n  <<: *b\n  text: |\n    two\n    lines\n  fold: >-
    a\n    b\n? [k, v]\n: !!str 12\nlist:\n- 1\n- {c: d}\n---\n%TAG ! tag:x,2000:\n---\n!foo bar\n...\n"""
    chance = random.Random(20240301)
    reading = Reading(isolate=False)
    for _ in range(MUTATIONS):
        found = outcome(reading, mutated(whole, chance), "x.yaml")
        assert isinstance(found, Document) or found in {"unsupported_format", "too_deep"}


def loaded(data: bytes, name: str, pool: WorkerPool) -> Counter[str]:
    """What comes of bytes and everything inside them, in time."""
    started = time.monotonic()
    seen: Counter[str] = Counter()
    for result in load(data, name=name, pool=pool, time_limit=3.0):
        seen[result.code if isinstance(result, Failed) else "document"] += 1
    assert time.monotonic() - started < 15, name
    return seen


@pytest.mark.crash
def test_mutated_containers_end_in_sources_or_codes(reading: Reading) -> None:
    inner = {"a.txt": b"alpha words", "b/c.csv": b"item,price\nharp,1\n" * 40, "d.md": b"# Head\n\ntext"}
    whole = {
        "x.zip": zipped({**inner, "inner.zip": zipped(inner)}),
        "x.tar": tar(inner),
        "x.tar.gz": gzip.compress(tar(inner)),
        "x.tar.bz2": bz2.compress(tar(inner)),
        "x.tar.xz": lzma.compress(tar(inner)),
        "x.csv.gz": gzip.compress(inner["b/c.csv"]),
        "x.eml": MAIL % base64.b64encode(zipped(inner)),
    }
    chance = random.Random(20240230)
    seen: Counter[str] = Counter()
    assert reading.pool is not None
    for number in range(MUTATIONS):
        name = sorted(whole)[number % len(whole)]
        seen += loaded(mutated(whole[name], chance), name, reading.pool)
    assert set(seen) <= {*CODES, "document"}
    assert seen["document"] > MUTATIONS // 4
    assert seen["bad_reader"] == seen["timeout"] == seen["crashed"] == 0


def test_bombs_inside_bombs_stop_early(reading: Reading) -> None:
    zeros = zipped({"zeros.txt": bytes(50_000_000)})
    layered = gzip.compress(gzip.compress(bytes(50_000_000)))
    assert reading.pool is not None
    assert loaded(zipped({f"{n}.zip": zeros for n in range(20)}), "x.zip", reading.pool) == {
        "document": 1,
        "too_large": 20,
    }
    assert loaded(layered, "x.gz", reading.pool)["too_large"] >= 1
    quine = zipped({"x.zip": zipped({"x.zip": zipped({"x.zip": b"PK\x05\x06" + bytes(18)})})})
    assert loaded(quine, "x.zip", reading.pool)["too_deep"] == 1
    lines = b"a" * 60_000_000
    assert loaded(lines, "line.txt", reading.pool) == {"document": 13}
    assert loaded(b'"' + lines, "quote.csv", reading.pool) == {"too_large": 1}
    assert loaded(lines, "line.jsonl", reading.pool) == {"too_large": 1}


def sheet(*cells: tuple[str, str]) -> bytes:
    rows = "".join(f'<row r="{"".join(filter(str.isdigit, r))}"><c r="{r}"><v>{v}</v></c></row>' for r, v in cells)
    return xlsx({"Sheet1": rows})


def test_two_cells_at_the_ends_of_a_sheet_are_two_cells(reading: Reading) -> None:
    found = outcome(reading, sheet(("A1", "1"), ("XFD1048576", "2")), "far.xlsx")
    assert isinstance(found, Document)
    assert found.content == "1\n2"
    assert found.parts[0].cell_range == "A1:XFD1048576"
    assert [warning.code for warning in found.warnings] == ["sparse_sheet"]


def test_zip_bombs_stop_early(reading: Reading) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in zipped_parts(b"<w:t>" + b"0" * 300_000_000 + b"</w:t>").items():
            archive.writestr(name, data)
    assert len(bomb.getvalue()) < 1_000_000
    assert outcome(reading, bomb.getvalue(), "bomb.docx") == "too_large"
    crowd = zipped({**{f"x{n}": b"" for n in range(10_001)}, **zipped_parts(b"")})
    assert outcome(reading, crowd, "crowd.docx") == "too_large"


def zipped_parts(body: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(docx("<w:p><w:r>BODY</w:r></w:p>"))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return {name: data.replace(b"BODY", body) for name, data in parts.items()}


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("deep.html", b"<div>" * 300_000, "too_deep"),
        ("deep.json", b"[" * 100_000, "too_deep"),
        ("nested.json", b"[" * 300 + b"1" + b"]" * 300, "too_deep"),
        ("deep.xml", b"<?xml version='1.0'?>" + b"<a>" * 1000 + b"x" + b"</a>" * 1000, "too_deep"),
        ("deep.docx", docx("<w:sdt>" * 500 + "<w:p/>" + "</w:sdt>" * 500), "too_deep"),
    ],
)
def test_deep_nesting_is_refused(reading: Reading, name: str, data: bytes, expected: str) -> None:
    assert outcome(reading, data, name) == expected


def test_entities_do_not_expand(reading: Reading) -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "lol">{levels}]><x>&e11; and more</x>'
    found = outcome(reading, bomb.encode(), "bomb.xml")
    assert found == "damaged" or (isinstance(found, Document) and len(found.content) < 1000)
    outside = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY p SYSTEM "file:///etc/passwd">]><x>&p; kept text</x>'
    found = outcome(reading, outside, "outside.xml")
    assert isinstance(found, Document)
    assert "root:" not in found.content


def test_huge_spans_and_lines_stay_small(reading: Reading) -> None:
    spans = "<table>" + '<tr><td colspan="9000000000000000" rowspan="65534">a</td><td>b</td></tr>' * 3 + "</table>"
    found = outcome(reading, spans.encode(), "spans.html")
    assert isinstance(found, Document)
    assert len(found.content) < 100_000
    for name in ("line.txt", "line.md", "line.csv", "line.html", "line.py"):
        found = outcome(reading, b"word " * 1_000_000, name)
        assert isinstance(found, Document)
        assert len(found.content) > 4_000_000
