"""Readers in killable processes: what a crash, a hang, a flood or a lie costs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from florilege.ingest import load
from florilege.ingest.reading import BUILTIN_READERS, NamedReader, Reading, builtin_reader, checked
from florilege.ingest.workers import read
from florilege.isolation import WorkerPool
from florilege.model.errors import ConfigError, ReadError
from tests.support import shared

FAULTY = NamedReader("faulty", "1", ("text/x-faulty",), "tests.ingest.faulty:Faulty")


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    found = WorkerPool(2, memory_bytes=1_000_000_000)
    yield found
    found.close()


def run(pool: WorkerPool, content: bytes, time_limit: float = 20.0) -> str:
    return read(pool, FAULTY, content, "text/x-faulty", time_limit=time_limit).content


def code(pool: WorkerPool, content: bytes, time_limit: float = 20.0) -> str:
    with pytest.raises(ReadError) as failure:
        run(pool, content, time_limit)
    assert "secret" not in failure.value.message
    return failure.value.code


@pytest.mark.crash
def test_what_goes_wrong_has_a_code_and_the_next_file_is_read(pool: WorkerPool) -> None:
    for content, expected in {
        b"segfault": "crashed",
        b"exit": "crashed",
        b"encrypted": "encrypted",
        b"raise": "damaged",
        b"hoard": "too_large",
    }.items():
        assert code(pool, content) == expected
        assert run(pool, b"next").endswith(" 4")


@pytest.mark.crash
def test_a_hanging_reader_is_killed_at_its_deadline(pool: WorkerPool) -> None:
    started = time.monotonic()
    assert code(pool, b"hang", time_limit=1.0) == "timeout"
    assert time.monotonic() - started < 5


def test_pages_buy_time(pool: WorkerPool) -> None:
    run(pool, b"warm")
    assert run(pool, b"slow", time_limit=1.0).endswith(" 4")


def test_what_a_reader_prints_does_not_reach_the_answer(pool: WorkerPool) -> None:
    assert run(pool, b"print").endswith(" 5")


def test_workers_see_no_credentials(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    assert "SOME_API_KEY" not in run(WorkerPool(1), b"environment").split()


def test_a_worker_serves_many_files_then_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("florilege.isolation._RECYCLE_FILES", 3)
    pool = WorkerPool(1)
    owners = [run(pool, b"x").split()[0] for _ in range(6)]
    pool.close()
    assert owners[:3] == [owners[0]] * 3
    assert owners[3:] == [owners[3]] * 3
    assert owners[0] != owners[3]
    assert str(os.getpid()) not in owners


def test_large_documents_cross_the_pipe(pool: WorkerPool) -> None:
    assert run(pool, b"y" * 30_000_000).endswith(" 30000000")


def test_workers_do_not_answer_for_what_their_parent_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("florilege.isolation._RECYCLE_BYTES", 400_000_000)
    ballast = b"x" * 500_000_000
    used = WorkerPool(1)
    assert run(used, b"a").split()[0] == run(used, b"b").split()[0]
    assert len(ballast) == 500_000_000
    used.close()


def test_threads_share_the_pool(pool: WorkerPool) -> None:
    results: list[str] = []
    threads = [threading.Thread(target=lambda n=n: results.append(run(pool, b"z" * n))) for n in range(10, 22)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(text.split()[1]) for text in results) == list(range(10, 22))
    assert len({text.split()[0] for text in results}) <= 2


def test_false_spans_are_caught(pool: WorkerPool) -> None:
    result = read(pool, FAULTY, b"lie", "text/x-faulty", time_limit=20)
    with pytest.raises(ReadError) as failure:
        checked(result)
    assert failure.value.code == "bad_reader"


def test_options_are_checked() -> None:
    for options in ({"count": 0}, {"memory_bytes": 1}):
        with pytest.raises(ConfigError):
            WorkerPool(**options)


def test_isolated_and_in_process_readings_are_the_same() -> None:
    for name in ("pdf/2305.03393v1-pg9.pdf", "docx/word_sample.docx", "xlsx/xlsx_01.xlsx", "html/example_03.html"):
        path = shared(f"files/{name}")
        isolated, direct = (
            Reading(isolate=isolate).document(path.read_bytes(), source_id=name, name=path.name)
            for isolate in (True, False)
        )
        assert isolated == direct


def test_the_registry_names_what_the_classes_say() -> None:
    for entry in BUILTIN_READERS:
        reader = entry.load()
        assert (reader.id, reader.version, reader.media_types) == (entry.id, entry.version, entry.media_types)
        assert builtin_reader(entry.media_types[0]) is entry


def test_a_script_without_a_main_guard_reads_isolated(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>hello there</p>")
    script = tmp_path / "script.py"
    script.write_text(
        "import florilege.ingest\n"
        "for result in florilege.ingest.load('page.html'):\n"
        "    print(result.document.content)\n"
    )
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("hello there\n", "")


def test_loading_isolates_by_default(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<h1>Title</h1>")
    used = WorkerPool(1)
    (result,) = load(tmp_path, root=tmp_path, pool=used)
    assert result.source_id == "a.html"
    assert len(used._idle) == 1
    used.close()
