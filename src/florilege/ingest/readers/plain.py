"""Readers whose content is the decoded file itself: plain text and code."""

from __future__ import annotations

from florilege.ingest.readers.assembly import MAX_CHARS
from florilege.ingest.readers.decode import Decoded, decode
from florilege.interfaces.sources import ReadResult
from florilege.model.document import IngestWarning, Part, Span
from florilege.model.errors import ReadError

EMPTY = IngestWarning(code="empty", message="the file holds no text")


def decoded(content: bytes) -> Decoded:
    """``content`` as text; raises :class:`ReadError` when it is not text or too long."""
    found = decode(content)
    if len(found.text) > MAX_CHARS:
        raise ReadError(f"more than {MAX_CHARS:,} characters of text", code="too_large")
    return found


class TextReader:
    """Plain text: one part from the first visible character to the last."""

    id = "text"
    version = "1"
    media_types: tuple[str, ...] = ("text/plain",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Decode ``content``."""
        return _single(decoded(content), "text")


class CodeReader:
    """Source code and other text for machines: one code part; the language is the media type's last word."""

    id = "code"
    version = "1"
    media_types = ("text/x-",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Decode ``content``; ``media_type`` is ``text/x-<language>``."""
        return _single(decoded(content), media_type.removeprefix("text/x-"))


def _single(found: Decoded, language: str) -> ReadResult:
    text = found.text
    visible = text.strip()
    if not visible:
        return ReadResult(content=text, warnings=(*found.warnings, EMPTY))
    start = len(text) - len(text.lstrip())
    if language != "text":  # indentation of the first line belongs to the code
        start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    span = Span(start, len(text.rstrip()))
    body = text[span.start : span.end]
    if language == "text":
        part = Part(part_id="text:1", kind="text", text=body, span=span, role="body")
    else:
        part = Part(part_id="code:1", kind="code", text=body, span=span, language=language)
    return ReadResult(content=text, parts=(part,), warnings=found.warnings)
