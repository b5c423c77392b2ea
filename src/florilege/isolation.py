"""Work in processes that can be killed.

A native parser, or somebody else's code, may crash, hang or fill memory; here that costs one source. Workers are plain
subprocesses (no fork, no multiprocessing), one file in flight each, spoken to over pipes in length-framed JSON. They
get the bytes of a file and no credentials; what they answer is decoded by type and checked. Address space is limited
where the system can. Their other end is :mod:`florilege.ingest._worker`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from florilege.model.errors import ConfigError, ReadError

FRAME = struct.Struct(">cQ")
"""A message's kind and length. To the worker: ``S`` settings, ``J`` job, ``D`` document bytes. From it: ``P`` pages,
``R`` result, ``E`` error."""
CALL_SECONDS = 30.0
MEMORY_BYTES = 2_000_000_000
SECONDS_PER_PAGE = 0.2
_MAX_SECONDS = 600.0
_RECYCLE_FILES = 200
_RECYCLE_BYTES = 1_000_000_000
_CHUNK = 1 << 18
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")


class Decoder(Protocol):
    """Decodes an answer: the worker's peak memory in bytes, and what it made."""

    def decode(self, body: bytes, /) -> tuple[int, Any]:
        """Raises a msgspec error for what does not fit."""
        ...


class WorkerPool:
    """At most ``count`` workers, started when needed, replaced after 200 files, 1 GB or a crash. Thread-safe."""

    def __init__(self, count: int = 2, *, memory_bytes: int = MEMORY_BYTES) -> None:
        if count < 1 or memory_bytes < 100_000_000:
            raise ConfigError("a worker pool needs count >= 1 and memory_bytes >= 100 MB", code="bad_option")
        self._memory = memory_bytes
        self._slots = threading.BoundedSemaphore(count)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._process = os.getpid()
        atexit.register(self.close)

    def call(
        self, who: str, job: Mapping[str, Any], content: bytes, decoder: Decoder, *, time_limit: float = CALL_SECONDS
    ) -> Any:
        """What a worker answers to ``job`` on ``content``, decoded by ``decoder``.

        ``job["call"]`` names what is to be done; see :mod:`florilege.ingest._worker`. Raises :class:`ReadError`: what
        the worker raises, ``timeout`` past ``time_limit`` seconds (plus 0.2 for each page the worker finds),
        ``crashed`` when two workers died of it. ``who`` is to blame then.
        """
        with self._slots:
            for attempt in (1, 2):
                worker = self._take()
                try:
                    result = worker.call(job, content, time_limit, decoder)
                except _Died as death:
                    worker.kill()
                    if attempt == 2:
                        raise ReadError(f"{who} crashed on it twice ({death})", code="crashed") from None
                except ReadError as error:
                    self._give_back(worker, broken=error.code == "timeout")
                    raise
                except BaseException:
                    worker.kill()
                    raise
                else:
                    self._give_back(worker)
                    return result
        raise AssertionError("unreachable")

    def close(self) -> None:
        """End the idle workers. The pool stays usable."""
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.kill()

    def _take(self) -> _Worker:
        with self._lock:
            if self._process != os.getpid():  # a forked child leaves its parent's workers alone
                self._idle, self._process = [], os.getpid()
            worker = self._idle.pop() if self._idle else None
        if worker is not None and worker.is_alive():
            return worker
        return _Worker(self._memory)

    def _give_back(self, worker: _Worker, *, broken: bool = False) -> None:
        if broken or worker.is_worn():
            worker.kill()
            return
        with self._lock:
            self._idle.append(worker)


class _Died(Exception):
    """The worker's pipe closed."""


class _Worker:
    """One subprocess."""

    def __init__(self, memory_bytes: int) -> None:
        package = Path(__file__).resolve().parents[1]
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        environment["PYTHONPATH"] = str(package)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "florilege.ingest._worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            bufsize=0,
        )
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
        self._files = 0
        self._peak = 0
        self._settings = _frame(b"S", json.dumps({"path": sys.path, "memory": memory_bytes}).encode())

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def is_worn(self) -> bool:
        return self._files >= _RECYCLE_FILES or self._peak > _RECYCLE_BYTES

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def call(self, job: Mapping[str, Any], content: bytes, time_limit: float, decoder: Decoder) -> Any:
        outgoing = [
            self._settings,
            _frame(b"J", json.dumps(dict(job)).encode()),
            FRAME.pack(b"D", len(content)),
            content,
        ]
        self._settings = b""
        self._files += 1
        started = time.monotonic()
        deadline = started + time_limit
        with _Exchange(self._process, outgoing) as exchange:
            while True:
                kind, body = exchange.receive(deadline)
                if kind == b"P":
                    pages = min(json.loads(body), 100_000)
                    deadline = started + min(_MAX_SECONDS, time_limit + SECONDS_PER_PAGE * pages)
                elif kind == b"E":
                    error = json.loads(body)
                    raise ReadError(error["message"], code=error["code"], retryable=error["retryable"])
                else:
                    return self._decoded(body, decoder)

    def _decoded(self, body: bytes, decoder: Decoder) -> Any:
        import msgspec

        try:
            self._peak, result = decoder.decode(body)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise _Died("its answer makes no sense") from error
        return result


class _Exchange:
    """Sends some bytes and receives frames at the same time, so that neither side can block the other for good."""

    def __init__(self, process: subprocess.Popen[bytes], outgoing: list[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._input, self._output = process.stdin.fileno(), process.stdout.fileno()
        self._outgoing = [memoryview(piece) for piece in outgoing if piece]
        self._received = bytearray()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._output, selectors.EVENT_READ)
        self._selector.register(self._input, selectors.EVENT_WRITE)

    def __enter__(self) -> _Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def receive(self, deadline: float) -> tuple[bytes, bytes]:
        """The next frame; raises ``timeout`` past ``deadline``, :class:`_Died` when the pipe closes."""
        while True:
            if len(self._received) >= FRAME.size:
                kind, length = FRAME.unpack_from(self._received)
                if len(self._received) >= FRAME.size + length:
                    body = bytes(self._received[FRAME.size : FRAME.size + length])
                    del self._received[: FRAME.size + length]
                    return kind, body
            left = deadline - time.monotonic()
            if left <= 0:
                message = "reading it took longer than its time limit (time_limit=)"
                raise ReadError(message, code="timeout", retryable=True)
            for key, _ in self._selector.select(left):
                self._move(key.fd)

    def _move(self, descriptor: int) -> None:
        try:
            if descriptor == self._input:
                self._write()
                return
            piece = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        except (BrokenPipeError, ConnectionResetError):
            piece = b""
        if not piece:
            self._process.kill()
            raise _Died(_reason(self._process.wait()))
        self._received += piece

    def _write(self) -> None:
        written = os.write(self._input, self._outgoing[0][:_CHUNK])
        self._outgoing[0] = self._outgoing[0][written:]
        if not self._outgoing[0]:
            del self._outgoing[0]
        if not self._outgoing:
            self._selector.unregister(self._input)


def default_pool() -> WorkerPool:
    """The pool that loads share unless they are given one."""
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = WorkerPool()
    return _pool


_pool: WorkerPool | None = None
_pool_lock = threading.Lock()


def _frame(kind: bytes, body: bytes) -> bytes:
    return FRAME.pack(kind, len(body)) + body


def _reason(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit status {status}"
