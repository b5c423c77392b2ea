"""JSON at the edges: typed records in and out.

Frozen dataclasses encode as objects, named tuples as arrays. User metadata goes through
:func:`florilege.model.hashing.plain` first, so that dates survive.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from florilege.model.errors import Corrupt

T = TypeVar("T")
_encoder = msgspec.json.Encoder()
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def encode(value: Any) -> bytes:
    """``value`` (records of ``florilege.model`` and plain JSON values) as UTF-8 JSON."""
    return _encoder.encode(value)


def decode(kind: type[T], data: bytes | str, *, what: str = "stored record") -> T:
    """``data`` as a ``kind``; raises :class:`florilege.model.errors.Corrupt` naming ``what`` and the path at fault."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    try:
        result: T = decoder.decode(data)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise Corrupt(f"{what} cannot be decoded: {error}") from error
    return result
