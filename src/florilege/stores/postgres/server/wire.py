"""How values travel: ids that may hold any character, float16 vectors, and rows by the thousand."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from psycopg import Connection
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

_HEAD = 4
_INT8, _INT8_ARRAY = 20, 1016
_FEW_ROWS = 1000


class Half(NamedTuple):
    """A float16 vector as the store keeps it: little endian bytes."""

    data: bytes


class _HalfDumper(Dumper):
    """pgvector's binary form: dimensions, an unused word, then float16 numbers, all big endian."""

    format = Format.BINARY

    def dump(self, half: Half) -> bytes:
        return encode_half(half.data)


class Numbers(NamedTuple):
    """An array of 64-bit numbers, ready to be bound; see :func:`numbers`."""

    data: bytes


class _NumbersDumper(Dumper):
    format = Format.BINARY
    oid = _INT8_ARRAY

    def dump(self, numbers: Numbers) -> bytes:
        return numbers.data


def numbers(values: Any) -> Numbers:
    """Numbers, from a numpy array or a sequence, as one parameter: thousands cost no more than their bytes."""
    import numpy as np

    values = np.asarray(values, dtype=np.int64)
    items = np.empty(len(values), dtype=[("size", ">i4"), ("value", ">i8")])
    items["size"], items["value"] = 8, values
    return Numbers(struct.pack(">iiiii", 1, 0, _INT8, len(values), 1) + items.tobytes())


def encode_half(data: bytes) -> bytes:
    """pgvector's binary form of little endian float16 numbers."""
    swapped = bytearray(len(data))
    swapped[0::2], swapped[1::2] = data[1::2], data[0::2]
    return (len(data) // 2).to_bytes(2, "big") + b"\0\0" + bytes(swapped)


def decode_halves(blobs: Sequence[bytes], dimensions: int) -> Any:
    """What ``halfvec_send`` gave, as one float16 array of shape (n, dimensions)."""
    import numpy as np

    words = np.frombuffer(b"".join(blobs), dtype=">f2").reshape(len(blobs), dimensions + _HEAD // 2)
    return words[:, _HEAD // 2 :].astype("<f2")


def register(connection: Connection[Any]) -> None:
    """Teach a connection the types of vectors and of arrays made ready."""
    connection.adapters.register_dumper(Numbers, _NumbersDumper)
    info = TypeInfo.fetch(connection, "halfvec")
    if info is not None:
        info.register(connection)
        dumper = type("HalfDumper", (_HalfDumper,), {"oid": info.oid})
        connection.adapters.register_dumper(Half, dumper)


def escape(text: str) -> str:
    """``text`` without the one character PostgreSQL cannot hold; order, equality and prefixes stay what they were."""
    return text.replace("\x01", "\x01\x02").replace("\0", "\x01\x01") if "\0" in text or "\x01" in text else text


def unescape(text: str) -> str:
    """The inverse of :func:`escape`."""
    return text.replace("\x01\x01", "\0").replace("\x01\x02", "\x01") if "\x01" in text else text


def copy(connection: Connection[Any], table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
    """Put ``rows`` into a table. ``columns`` are names and types: ``"row int8, content bytea"``.

    Few rows go as arrays in one statement, which takes one exchange with the server; more are streamed.
    """
    names, types = zip(*(column.split() for column in columns.split(", ")), strict=True)
    source = iter(rows)
    first = list(islice(source, _FEW_ROWS))
    if len(first) < _FEW_ROWS:
        if first:
            arrays = ", ".join(f"%b::{kind}[]" for kind in types)
            connection.execute(
                f"INSERT INTO {table} ({', '.join(names)}) SELECT * FROM unnest({arrays})",
                tuple(map(list, zip(*first, strict=True))),
            )
        return
    statement = f"COPY {table} ({', '.join(names)}) FROM STDIN (FORMAT BINARY)"
    with connection.cursor().copy(statement) as stream:
        stream.set_types(types)
        for row in chain(first, source):
            stream.write_row(row)
