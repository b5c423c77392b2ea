"""The mail reader: headers, the best alternative of each body, forwarded messages; other attachments are named."""

from __future__ import annotations

import base64
import mimetypes
import re
from email import message_from_bytes, policy
from email.utils import parsedate_to_datetime
from typing import Any

from florilege.ingest.readers.assembly import Assembly, squeeze
from florilege.ingest.readers.decode import decode
from florilege.interfaces.sources import ReadResult
from florilege.model.errors import ReadError

MAX_PARTS = 1000
MAX_DEPTH = 10
_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_BLANK_LINES = re.compile(r"\n\s*\n")


class EmlReader:
    """Messages as in RFC 5322. Title: the subject; metadata: sender, recipients, date."""

    id = "eml"
    version = "1"
    media_types = ("message/rfc822",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``; raises :class:`ReadError` (``too_deep``) beyond ten messages inside one another."""
        message = _parsed(content)
        walk = _Text()
        walk.message(message, 0)
        if not walk.assembly.parts:
            walk.assembly.warn("empty", "the message has no text")
        fields = {"from": "From", "to": "To"}
        metadata = {key: text for key, name in fields.items() if (text := _header(message, name))}
        if date := _date(message):
            metadata["date"] = date
        return walk.assembly.result(title=_header(message, "Subject") or None, metadata=metadata)


class EmlAttachments:
    """What is attached to messages, as ``metadata["attachments"]``: pairs of a name and the bytes in base64."""

    id = "eml_attachments"
    version = "1"
    media_types = ("message/rfc822",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``; errors as in :class:`EmlReader`."""
        walk = _Attachments()
        walk.message(_parsed(content), 0)
        return ReadResult(content="", metadata={"attachments": walk.found})


class _Walk:
    """Goes through a message and those attached to it; what it makes of each piece is told by the methods below."""

    def __init__(self) -> None:
        self._count = 0

    def header(self, message: Any) -> None:
        """A message begins."""

    def body(self, part: Any) -> None:
        """A text that is shown."""

    def attachment(self, part: Any) -> None:
        """Anything else."""

    def message(self, message: Any, depth: int) -> None:
        """Walk a message."""
        if depth > MAX_DEPTH:
            raise ReadError(f"messages lie more than {MAX_DEPTH} deep in one another", code="too_deep")
        self.header(message)
        body = message.get_body(preferencelist=("html", "plain"))
        if body is not None:
            self.body(body)
        self._attached(message, body, depth)

    def _attached(self, part: Any, body: Any, depth: int) -> None:
        if not part.is_multipart() or part.get_content_type() == "multipart/alternative":
            return
        payload = part.get_payload()
        for child in payload if isinstance(payload, list) else ():
            self._count += 1
            if self._count > MAX_PARTS:
                raise ReadError(f"the message has more than {MAX_PARTS} parts", code="too_large")
            if child is body:
                continue
            kind = child.get_content_type()
            if kind == "message/rfc822":
                inner = child.get_payload()
                for message in inner if isinstance(inner, list) else ():
                    self.message(message, depth + 1)
            elif child.is_multipart():
                self._attached(child, body, depth)
            elif kind in ("text/plain", "text/html") and child.get_content_disposition() != "attachment":
                self.body(child)
            elif not kind.startswith("multipart/"):
                self.attachment(child)


class _Text(_Walk):
    """Puts the text together."""

    def __init__(self) -> None:
        super().__init__()
        self.assembly = Assembly()

    def header(self, message: Any) -> None:
        lines = [f"{name}: {text}" for name in _SHOWN if (text := _header(message, name))]
        if lines:
            self.assembly.add("text", "\n".join(lines), role="header")

    def body(self, part: Any) -> None:
        data = part.get_payload(decode=True)
        if not isinstance(data, bytes):
            return
        text = decode(data, part.get_content_charset()).text
        (add_html if part.get_content_type() == "text/html" else add_text)(self.assembly, text)

    def attachment(self, part: Any) -> None:
        kind = part.get_content_type()
        self.assembly.warn("attachment", f"an attachment of type {kind} is not part of the text")


class _Attachments(_Walk):
    """Takes the attachments out."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def attachment(self, part: Any) -> None:
        data = part.get_payload(decode=True)
        if isinstance(data, bytes):
            self.found.append((_file_name(part), base64.b64encode(data).decode("ascii")))


def add_html(assembly: Assembly, text: str) -> None:
    """Append a body in HTML, unless it is nested beyond reason."""
    from selectolax.lexbor import LexborHTMLParser

    from florilege.ingest.markup.html import MAX_NESTING, read_tree
    from florilege.ingest.markup.html_tree import nesting

    if nesting(text) <= MAX_NESTING:
        read_tree(LexborHTMLParser(text), assembly)


def add_text(assembly: Assembly, text: str) -> None:
    """Append a body in plain text, by paragraphs."""
    for paragraph in _BLANK_LINES.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        assembly.prose(paragraph.strip("\n").rstrip())


def _parsed(content: bytes) -> Any:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        content = decode(content).text.encode("utf-8")
    return message_from_bytes(content.removeprefix(b"\xef\xbb\xbf"), policy=policy.default)


def _file_name(part: Any) -> str:
    """What the mail calls it, else its type with a fitting suffix."""
    try:
        name = squeeze(str(part.get_filename() or ""))
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):  # the standard parser's own bugs
        name = ""
    kind = part.get_content_type()
    return name or kind.replace("/", "-") + (mimetypes.guess_extension(kind) or "")


def _header(message: Any, name: str) -> str:
    try:
        return squeeze(str(message.get(name, "")))
    except (ValueError, IndexError, AttributeError, TypeError, LookupError):  # the standard parser's own bugs
        return ""


def _date(message: Any) -> str:
    try:
        return parsedate_to_datetime(_header(message, "Date")).isoformat()
    except (ValueError, TypeError, IndexError):
        return ""
