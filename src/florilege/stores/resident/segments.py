"""Blocks as files: written once, checked when opened, and mapped into memory.

A file begins with eight bytes that name its format, the length of a JSON header, and the header: whose it is, how many
rows it holds, and where each array lies. Arrays are little endian and begin at multiples of 64. A mapping is private:
what a process writes into its arrays stays in that process.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from florilege.stores.resident.blocks import Block, Codes
from florilege.stores.resident.inverted import Inverted
from florilege.stores.resident.postings import Weights, Words

_MAGIC = b"FLORSEG1"
_ALIGN = 64
_ROW_ARRAYS = ("row", "source", "metadata", "born", "died")
_CODE_ARRAYS = ("since", "codes", "scale", "half")


class Written(NamedTuple):
    """What to compare a file with later."""

    size: int
    checksum: bytes


class Unfit(Exception):
    """A file is not the segment it should be. It is never trusted: its rows are read from the database."""


def write(path: Path, store: str, block: Block) -> Written:
    """Write a block with words into a new file, and see it on the disk. OSError when that cannot be done."""
    arrays = dict(_arrays(block))
    layout: dict[str, tuple[str, tuple[int, ...], int]] = {}
    end = 0
    for name, array in arrays.items():
        start = math.ceil(end / _ALIGN) * _ALIGN
        layout[name] = (array.dtype.newbyteorder("<").str, array.shape, start)
        end = start + array.nbytes
    header = msgspec.json.encode({"store": store, "rows": len(block), "arrays": layout})
    head = _MAGIC + len(header).to_bytes(8, "little") + header
    checksum = hashlib.blake2b(digest_size=16)
    size = 0
    with path.open("xb") as file:
        pieces: list[Any] = [head + bytes(-len(head) % _ALIGN)]
        for array in arrays.values():
            pieces += [np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")), bytes(-array.nbytes % _ALIGN)]
        for piece in pieces:
            data = memoryview(piece).cast("B") if len(piece) else b""  # an empty array has no bytes to cast
            checksum.update(data)
            size += file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return Written(size, checksum.digest())


def sealed(path: Path, store: str, rows: int, size: int) -> Block:
    """The block in a file. Raises :class:`Unfit` for a file that is missing, of another size, or not this store's."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != size:
                raise Unfit(f"{path} is not of its size")
            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
        if mapped[:8] != _MAGIC:
            raise Unfit(f"{path} is not a segment")
        length = int.from_bytes(mapped[8:16], "little")
        header = msgspec.json.decode(mapped[16 : 16 + length])
        if header["store"] != store or header["rows"] != rows:
            raise Unfit(f"{path} is another store's, or not of its number of rows")
        start = math.ceil((16 + length) / _ALIGN) * _ALIGN
        arrays = {
            name: np.ndarray(shape, dtype, mapped, start + offset)
            for name, (dtype, shape, offset) in header["arrays"].items()
        }
        return _block(arrays, rows)
    except (OSError, ValueError, TypeError, KeyError, msgspec.MsgspecError) as error:
        raise Unfit(f"{path}: {error}") from error


def checksum(path: Path) -> bytes | None:
    """The checksum of a whole file; None when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
    except OSError:
        return None


def _arrays(block: Block) -> Iterator[tuple[str, Any]]:
    for name in _ROW_ARRAYS:
        yield name, getattr(block, name)
    assert block.words is not None
    yield "lengths", block.words.lengths
    yield from _lists("words", block.words.inverted())
    for space, codes in block.codes.items():
        for name in _CODE_ARRAYS:
            yield f"codes/{space}/{name}", getattr(codes, name)
    for space, weights in block.weights.items():
        yield f"weights/{space}/since", weights.since
        yield from _lists(f"weights/{space}", weights.inverted())


def _lists(prefix: str, inverted: Inverted) -> Iterator[tuple[str, Any]]:
    for name, array in inverted._asdict().items():
        yield f"{prefix}/{name}", array


def _block(arrays: Mapping[str, Any], rows: int) -> Block:
    def lists(prefix: str) -> Inverted:
        return Inverted(*(arrays[f"{prefix}/{name}"] for name in Inverted._fields))

    row, source, metadata, born, died = (arrays[name] for name in _ROW_ARRAYS)
    block = Block(row, source, metadata, born, died, Words.sealed(arrays["lengths"], lists("words")))
    for space in _spaces(arrays, "codes"):
        block.codes[space] = Codes.of(*(arrays[f"codes/{space}/{name}"] for name in _CODE_ARRAYS))
    for space in _spaces(arrays, "weights"):
        block.weights[space] = Weights.sealed(arrays[f"weights/{space}/since"], lists(f"weights/{space}"))
    if any(len(array) != rows for array in (block.row, block.died, arrays["lengths"])):
        raise Unfit("arrays are not of the number of rows")
    return block


def _spaces(arrays: Mapping[str, Any], kind: str) -> list[int]:
    return [int(name.split("/")[1]) for name in arrays if name.startswith(f"{kind}/") and name.endswith("/since")]
