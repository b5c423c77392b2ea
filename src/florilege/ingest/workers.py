"""Readers in processes that can be killed."""

from __future__ import annotations

from dataclasses import asdict

import msgspec

from florilege.ingest.reading import NamedReader
from florilege.interfaces.sources import ReadResult
from florilege.isolation import WorkerPool

_RESULT = msgspec.json.Decoder(tuple[int, ReadResult])


def read(pool: WorkerPool, reader: NamedReader, content: bytes, media_type: str, *, time_limit: float) -> ReadResult:
    """What ``reader`` makes of ``content`` in a worker; errors as of :meth:`WorkerPool.call`."""
    job = {"call": "read", "media_type": media_type, "reader": asdict(reader), "memory": reader.memory}
    result: ReadResult = pool.call(f"reader {reader.id!r}", job, content, _RESULT, time_limit=time_limit)
    return result
