"""How records become bytes and come back, the same for every store.

Metadata is canonical JSON with tagged dates (see :mod:`florilege.model.hashing`). Provenance, ledger rows and
documents are JSON of the records themselves. Vectors are unit float16.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec

from florilege.interfaces.embedding import EmbeddingSpace
from florilege.model.altering import altered
from florilege.model.chunk import ParentRef, Provenance
from florilege.model.document import Document, IngestWarning, Part, Span
from florilege.model.errors import EmbeddingError
from florilege.model.hashing import canonical_json, digest, plain, revive
from florilege.model.ledger import SourceRecord

_T = TypeVar("_T")
_UNIT_ERROR = 2.0**-11
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_encoder = msgspec.json.Encoder()
_PLAIN_PROVENANCE = Provenance()


def now() -> int:
    """This moment in microseconds since 1970, UTC."""
    return microseconds(datetime.now(UTC))


def microseconds(moment: datetime) -> int:
    """An aware moment as microseconds since 1970."""
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def instant_of(value: int) -> datetime:
    """The inverse of :func:`microseconds`."""
    return _EPOCH + timedelta(microseconds=value)


def moment(value: int | None) -> datetime | None:
    """The same for what may be missing."""
    return None if value is None else instant_of(value)


# -- metadata ---------------------------------------------------------------------------------------------------


def encode_metadata(user: Mapping[str, Any], system: Mapping[str, Any]) -> str:
    """One metadata record: what the user gave and, apart from it, the system's facts (``title``, ``page``, ...)."""
    return f"[{canonical_json(user)},{canonical_json(system)}]"


def decode_metadata(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The user's and the system's half of a metadata record."""
    user, system = json.loads(text)
    return revive(user), revive(system)


# -- provenance and parents -------------------------------------------------------------------------------------


def encode_provenance(provenance: Provenance) -> bytes | None:
    """JSON without the fields that hold their defaults; None when all do."""
    if provenance == _PLAIN_PROVENANCE:
        return None
    fields = msgspec.to_builtins(provenance)
    if fields["confidence"] == "exact":
        del fields["confidence"]
    return _encoder.encode({key: value for key, value in fields.items() if value is not None and value != []})


_provenance_decoder = msgspec.json.Decoder(Provenance)
_parent_decoder = msgspec.json.Decoder(ParentRef)


def decode_provenance(data: bytes | None) -> Provenance:
    """The inverse of :func:`encode_provenance`."""
    return _PLAIN_PROVENANCE if data is None else _provenance_decoder.decode(data)


def encode_parent(parent: ParentRef | None) -> bytes | None:
    """A chunk's pointer to its parent."""
    return None if parent is None else _encoder.encode(parent)


def decode_parent(data: bytes | None) -> ParentRef | None:
    """The inverse of :func:`encode_parent`."""
    return None if data is None else _parent_decoder.decode(data)


# -- ledger -----------------------------------------------------------------------------------------------------

_ledger_decoder = msgspec.json.Decoder(SourceRecord)


def encode_ledger(record: SourceRecord) -> bytes:
    """A ledger row as JSON."""
    return _encoder.encode(altered(record, metadata=plain(record.metadata, path="metadata")))


def decode_ledger(data: bytes) -> SourceRecord:
    """The inverse of :func:`encode_ledger`."""
    record = _ledger_decoder.decode(data)
    return altered(record, metadata=revive(record.metadata))


# -- documents --------------------------------------------------------------------------------------------------


def encode_document(document: Document) -> tuple[bytes, bytes]:
    """Content and parts, compressed, and the hash they are kept under. A part's text is cut from the content again."""
    parts = []
    for part in document.parts:
        fields = msgspec.to_builtins(part)
        if document.content[part.span.start : part.span.end] == part.text:
            del fields["text"]
        parts.append({key: value for key, value in fields.items() if value is not None and value != []})
    body = _encoder.encode([document.content, parts])
    return digest(body), zlib.compress(body, 1)


def decode_document(data: bytes) -> tuple[str, tuple[Part, ...]]:
    """The inverse of :func:`encode_document`."""
    content, parts = msgspec.json.decode(zlib.decompress(data))
    for fields in parts:
        if "text" not in fields:
            span = msgspec.convert(fields["span"], Span)
            fields["text"] = content[span.start : span.end]
    return content, msgspec.convert(parts, tuple[Part, ...])


def encode_facts(document: Document) -> bytes:
    """What a document says of itself besides content, parts, title and metadata."""
    return _encoder.encode(
        [document.media_type, document.uri, document.revision, document.reader, list(document.warnings)]
    )


def decode_facts(data: bytes | None) -> dict[str, Any]:
    """Keyword arguments for :class:`Document`."""
    if data is None:
        return {}
    media_type, uri, revision, reader, warnings = msgspec.json.decode(data)
    return {
        "media_type": media_type,
        "uri": uri,
        "revision": revision,
        "reader": reader,
        "warnings": msgspec.convert(warnings, tuple[IngestWarning, ...]),
    }


def encode(value: Any) -> str:
    """A plain value (counts, facts) as JSON text."""
    return _encoder.encode(plain(value)).decode()


def decode(text: str) -> Any:
    """The inverse of :func:`encode`."""
    return revive(json.loads(text))


# -- vectors ----------------------------------------------------------------------------------------------------


def encode_vectors(vectors: Any, dimensions: int, count: int) -> list[bytes]:
    """Vectors of shape (count, dimensions) as unit float16, little endian, one blob each.

    A vector of float16 numbers that has unit length, as far as they tell, is kept as it is: what was stored once is
    stored again bit for bit. Raises :class:`EmbeddingError` (code ``bad_vector``) naming the position of one that is
    zero or not finite.
    """
    import numpy as np

    array = np.ascontiguousarray(vectors, dtype=np.float32)
    if array.shape != (count, dimensions):
        raise EmbeddingError(
            f"{count} vectors of {dimensions} dimensions were expected, the array has shape {array.shape}",
            code="bad_vector",
        )
    wide = array.astype(np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    with np.errstate(all="ignore"):
        plain = array.astype("<f2")
        stored = (plain == array).all(axis=1) & (np.abs(norms - 1) < _UNIT_ERROR)
        half = np.where(stored[:, None], plain, (wide / norms[:, None]).astype("<f2"))
    bad = np.flatnonzero(~(np.isfinite(norms) & (norms > 0) & np.isfinite(half).all(axis=1)))
    if len(bad):
        raise EmbeddingError(f"vector {int(bad[0])} of {count} is zero or not finite", code="bad_vector")
    return [row.tobytes() for row in half]


def decode_vectors(blobs: Sequence[bytes], dimensions: int) -> Any:
    """The blobs as one float16 array of shape (n, dimensions)."""
    import numpy as np

    return np.frombuffer(b"".join(blobs), dtype="<f2").reshape(len(blobs), dimensions)


def encode_sparse(vectors: Sequence[Mapping[int, float]], dimensions: int, count: int) -> list[bytes]:
    """Sparse vectors as blobs: ids as little-endian u32, rising, then their weights as float32.

    Raises :class:`EmbeddingError` (code ``bad_vector``) naming the position of one with an id outside ``dimensions`` or
    a weight that float32 does not hold as finite and above 0.
    """
    import numpy as np

    if len(vectors) != count:
        raise EmbeddingError(f"{count} sparse vectors were expected, there are {len(vectors)}", code="bad_vector")
    blobs = []
    for place, vector in enumerate(vectors):
        ids = np.array(sorted(vector), dtype=np.int64)
        with np.errstate(over="ignore"):
            weights = np.array([vector[id] for id in ids.tolist()], dtype=np.float64).astype("<f4")
        if len(ids) and not (
            ids[0] >= 0 and ids[-1] < dimensions and (weights > 0).all() and np.isfinite(weights).all()
        ):
            raise EmbeddingError(
                f"sparse vector {place} of {count} has an id outside the space's {dimensions}, or a weight that is not "
                "above 0 and finite",
                code="bad_vector",
            )
        blobs.append(ids.astype("<u4").tobytes() + weights.tobytes())
    return blobs


def decode_sparse(blobs: Sequence[bytes]) -> tuple[Any, Any, Any]:
    """The blobs' sizes (int64), then all their ids (u32) and weights (float32), one after the other."""
    import numpy as np

    sizes = np.fromiter((len(blob) // 8 for blob in blobs), dtype=np.int64, count=len(blobs))
    ids = np.frombuffer(b"".join(blob[: len(blob) // 2] for blob in blobs), dtype="<u4")
    weights = np.frombuffer(b"".join(blob[len(blob) // 2 :] for blob in blobs), dtype="<f4")
    return sizes, ids, weights


def encode_of(space: EmbeddingSpace, vectors: Any, count: int) -> list[bytes]:
    """Vectors as blobs, by the kind of their space."""
    encode = encode_sparse if space.sparse else encode_vectors
    return encode(vectors, space.dimensions, count)
