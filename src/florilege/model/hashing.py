"""Identity by content: canonical JSON and length-prefixed hashes.

Hashes are SHA-256 cut to 128 bits, over fields each preceded by its length, so no two lists of fields share one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from florilege.model.errors import ConfigError


def digest(*fields: str | bytes) -> bytes:
    """16 bytes that identify this list of fields."""
    pieces: list[bytes] = []
    for item in fields:
        data = item.encode("utf-8", "surrogatepass") if isinstance(item, str) else item
        pieces += (len(data).to_bytes(8, "big"), data)
    return hashlib.sha256(b"".join(pieces)).digest()[:16]


def hexdigest(*fields: str | bytes) -> str:
    """The same as :func:`digest`, as 32 hexadecimal digits."""
    return digest(*fields).hex()


def instant(value: date) -> datetime:
    """A date or datetime as a moment: naive is UTC, a date is midnight UTC, microseconds kept."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return datetime(value.year, value.month, value.day, tzinfo=UTC)


MAX_DEPTH = 100
"""How deep values may nest."""


def plain(value: Any, *, path: str = "$", depth: int = MAX_DEPTH) -> Any:
    """``value`` as pure JSON, dates tagged as ``{"$date": ...}``.

    Raises :class:`ConfigError` naming the path for anything else: a float that is not finite, a key that is not a
    string, an integer beyond 64 bits, an object of some other type, values nested deeper than ``depth``.
    """
    if depth < 0:
        raise ConfigError(f"{path[:60]}…: nested deeper than {MAX_DEPTH} levels", code="bad_value")
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ConfigError(f"{path}: integer outside 64 bits", code="bad_value")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigError(f"{path}: {value!r} is not a finite number", code="bad_value")
        return value
    if isinstance(value, date):
        return {"$date": instant(value).isoformat(timespec="microseconds")}
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ConfigError(f"{path}: key {key!r} is not a string", code="bad_value")
        return {key: plain(item, path=f"{path}.{key}", depth=depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, path=f"{path}[{index}]", depth=depth - 1) for index, item in enumerate(value)]
    raise ConfigError(f"{path}: a {type(value).__name__} is not a JSON value", code="bad_value")


def revive(value: Any) -> Any:
    """The inverse of :func:`plain`: tagged dates become datetimes, lists stay lists."""
    if isinstance(value, dict):
        if len(value) == 1 and "$date" in value:
            return datetime.fromisoformat(value["$date"])
        return {key: revive(item) for key, item in value.items()}
    if isinstance(value, list):
        return [revive(item) for item in value]
    return value


def canonical_json(value: Any) -> str:
    """``value`` as JSON with sorted keys and no spaces: equal values give equal text. Errors as :func:`plain`."""
    return json.dumps(plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def fingerprint(name: str, version: str, options: Mapping[str, Any] | None = None) -> str:
    """The identity of a named, versioned component with these options."""
    return hexdigest(name, version, canonical_json(dict(options or {})))


def mint_ids(source_id: str, contents: Iterable[tuple[str, str]]) -> list[str]:
    """Chunk ids for the ``(content, context)`` pairs of one source, in order.

    An id is a hash of the source id, the content, the context and the running number among equal pairs of that
    source; it holds no position, so inserting a paragraph renames no other chunk.
    """
    seen: dict[tuple[str, str], int] = {}
    ids = []
    for pair in contents:
        number = seen.get(pair, 0)
        seen[pair] = number + 1
        ids.append("chunk_" + hexdigest(source_id, pair[0], pair[1], str(number)))
    return ids
