"""The other end of :mod:`florilege.isolation`: a process that reads one document after another.

It takes length-framed messages on standard input and answers on what was standard output; whatever native libraries
print goes to standard error. It ends when its input does. Nothing heavy is imported before the limits are set.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any, BinaryIO

from florilege.isolation import FRAME


def main() -> None:
    """Serve until the input ends."""
    source = sys.stdin.buffer
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    settings = json.loads(_receive(source) or b"{}")
    sys.path[:] = settings["path"]
    memory = settings["memory"]
    _limit(memory)
    made: dict[str, Any] = {}
    while (message := _receive(source)) is not None:
        job = json.loads(message)
        content = _receive(source)
        if content is None:
            return
        _limit(max(memory, job.get("memory") or 0))
        _serve(job, content, made, answer)


def _serve(job: dict[str, Any], content: bytes, made: dict[str, Any], answer: BinaryIO) -> None:
    import msgspec

    from florilege.model.errors import ReadError

    try:
        result = _CALLS[job["call"]](job, content, made, answer)
        _send(answer, b"R", msgspec.json.encode((_peak_memory(), result)))
    except ReadError as error:
        facts = {"message": error.message, "code": error.code, "retryable": error.retryable}
        _send(answer, b"E", json.dumps(facts).encode())


def _read(job: dict[str, Any], content: bytes, made: dict[str, Any], answer: BinaryIO) -> Any:
    from florilege.ingest.reading import NamedReader, loaded, run_reader

    key = f"{job['reader']['target']} {job['reader']['capability']}"
    if key not in made:
        made[key] = loaded(NamedReader(**job["reader"]))
    count = getattr(made[key], "pages", None)
    if count is not None:
        _send(answer, b"P", json.dumps(count(content)).encode())
    return run_reader(made[key], content, job["media_type"])


def _chunk(job: dict[str, Any], content: bytes, made: dict[str, Any], answer: BinaryIO) -> Any:
    from importlib import import_module

    import msgspec

    from florilege.interfaces.chunking import PageChunks, PageOutput
    from florilege.model.errors import ReadError

    target = job["target"]
    try:
        if target not in made:
            module, name = target.split(":")
            made[target] = getattr(import_module(module), name)().chunkers()
        outputs = msgspec.convert(job["outputs"], tuple[PageOutput, ...])
        claims = tuple(made[target][job["number"]].chunk(content, job["media_type"], outputs))
        for claim in claims:
            if not isinstance(claim, PageChunks):
                raise TypeError(f"answered with a {type(claim).__name__}, not PageChunks")
        return msgspec.convert(msgspec.to_builtins(claims), tuple[PageChunks, ...])
    except Exception as error:
        raise ReadError(f"the page chunker failed ({type(error).__name__}: {error})", code="broken") from error


_CALLS = {"read": _read, "chunk": _chunk}


def _limit(memory: int) -> None:
    import resource

    for kind, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _peak_memory() -> int:
    # On Linux ru_maxrss begins with what the parent held when it started this process; VmHWM is this program's own.
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _receive(source: BinaryIO) -> bytes | None:
    header = source.read(FRAME.size)
    if len(header) < FRAME.size:
        return None
    _, length = FRAME.unpack(header)
    body = source.read(length)
    return body if len(body) == length else None


def _send(answer: BinaryIO, kind: bytes, body: bytes) -> None:
    answer.write(FRAME.pack(kind, len(body)))
    answer.write(body)
    answer.flush()


if __name__ == "__main__":
    main()
