"""Readers that misbehave, to be run in workers by name."""

from __future__ import annotations

import ctypes
import os
import sys
import time

from florilege.interfaces.sources import ReadResult
from florilege.model.document import Part, Span
from florilege.model.errors import ReadError


class Faulty:
    """Does what the content says."""

    id = "faulty"
    version = "1"
    media_types = ("text/x-faulty",)

    def pages(self, content: bytes) -> int:
        return 20 if content == b"slow" else 0

    def read(self, content: bytes, media_type: str) -> ReadResult:
        if content == b"segfault":
            ctypes.string_at(0)
        if content == b"exit":
            os._exit(3)
        if content in (b"hang", b"slow"):
            time.sleep(60 if content == b"hang" else 1.5)
        if content == b"hoard":
            hoard = [bytearray(10_000_000) for _ in range(1000)]
            return ReadResult(content=str(len(hoard)))
        if content == b"encrypted":
            raise ReadError("locked", code="encrypted")
        if content == b"raise":
            raise KeyError("secret words of the document")
        if content == b"lie":
            return ReadResult(content="abc", parts=(Part(part_id="1", kind="text", text="xyz", span=Span(0, 3)),))
        if content == b"print":
            print("noise " * 10_000)
            sys.stdout.flush()
            os.write(1, b"more noise")
        if content == b"environment":
            return ReadResult(content=" ".join(sorted(os.environ)))
        return ReadResult(content=f"{os.getpid()} {len(content)}")
