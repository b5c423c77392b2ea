"""Which sources are containers, and who looks inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from florilege.ingest.containers.limits import MAX_DEPTH, PIECES_ABOVE
from florilege.ingest.media import PLAIN
from florilege.interfaces.sources import Source
from florilege.model.document import Failed

if TYPE_CHECKING:
    from florilege.ingest.source import ByteSource


@dataclass(frozen=True, slots=True)
class Inside:
    """How to look inside: ``target`` is a function as ``module:name``, imported when it is first needed.

    ``mark`` is the id and version of this way of looking. ``has_text``: the container is a document too.
    """

    mark: str
    target: str
    has_text: bool = False

    def open(self, source: ByteSource) -> list[Source | Failed]:
        """The children of ``source``; raises LoadError or ReadError when it cannot be looked into."""
        module, name = self.target.split(":")
        look: Callable[[ByteSource], list[Source | Failed]] = getattr(import_module(module), name)
        return look(source)


_PACKED = "florilege.ingest.containers.archives:packed"
_ARCHIVES = {
    "application/zip": Inside("zip/1", "florilege.ingest.containers.archives:zipped"),
    "application/x-tar": Inside("tar/1", "florilege.ingest.containers.archives:tarred"),
    "application/gzip": Inside("gzip/1", _PACKED),
    "application/x-bzip2": Inside("bzip2/1", _PACKED),
    "application/x-xz": Inside("xz/1", _PACKED),
}
_MAILS = {
    "message/rfc822": Inside("eml/1", "florilege.ingest.containers.mail:attached", has_text=True),
    "application/vnd.ms-outlook": Inside("msg/1", "florilege.ingest.containers.mail:attached", has_text=True),
}
_PIECES = "florilege.ingest.containers.pieces:"
_LARGE = {
    "text/csv": Inside("csv/1", _PIECES + "delimited"),
    "text/tab-separated-values": Inside("csv/1", _PIECES + "delimited"),
    "application/x-ndjson": Inside("jsonl/1", _PIECES + "json_lines"),
    PLAIN: Inside("text/1", _PIECES + "plain"),
}


def may_hold(media_type: str, size: int | None) -> bool:
    """Whether something of this type and size in bytes (None: unknown) may be a container."""
    return media_type in _ARCHIVES or media_type in _MAILS or (media_type in _LARGE and (size or 0) > PIECES_ABOVE)


def inside(source: ByteSource) -> Inside | None:
    """How to look inside ``source``, None when it is no container.

    Types that a caller's own reader takes are none. Archives and mails at the depth limit are not looked into.
    """
    media_type = source.media_type
    if not source.reading.is_builtin(media_type):
        return None
    if media_type in _LARGE:
        large = source.reading.max_bytes >= PIECES_ABOVE and source.region().size > PIECES_ABOVE
        return _LARGE[media_type] if large else None
    if media_type in _ARCHIVES:
        return _ARCHIVES[media_type]
    return _MAILS.get(media_type) if source.above < MAX_DEPTH else None
