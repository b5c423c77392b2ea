"""The mail reader: headers, the best alternative of each body, forwarded messages; other attachments are named."""

from __future__ import annotations

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
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            content = decode(content).text.encode("utf-8")
        message: Any = message_from_bytes(content.removeprefix(b"\xef\xbb\xbf"), policy=policy.default)
        walk = _Walk()
        walk.message(message, 0)
        if not walk.assembly.parts:
            walk.assembly.warn("empty", "the message has no text")
        fields = {"from": "From", "to": "To"}
        metadata = {key: text for key, name in fields.items() if (text := _header(message, name))}
        if date := _date(message):
            metadata["date"] = date
        return walk.assembly.result(title=_header(message, "Subject") or None, metadata=metadata)


class _Walk:
    """The state of one reading."""

    def __init__(self) -> None:
        self.assembly = Assembly()
        self.count = 0

    def message(self, message: Any, depth: int) -> None:
        """Read a message and those attached to it."""
        if depth > MAX_DEPTH:
            raise ReadError(f"messages lie more than {MAX_DEPTH} deep in one another", code="too_deep")
        lines = [f"{name}: {text}" for name in _SHOWN if (text := _header(message, name))]
        if lines:
            self.assembly.add("text", "\n".join(lines), role="header")
        body = message.get_body(preferencelist=("html", "plain"))
        if body is not None:
            self._body(body)
        self._attached(message, body, depth)

    def _attached(self, part: Any, body: Any, depth: int) -> None:
        if not part.is_multipart() or part.get_content_type() == "multipart/alternative":
            return
        payload = part.get_payload()
        for child in payload if isinstance(payload, list) else ():
            self.count += 1
            if self.count > MAX_PARTS:
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
                self._body(child)
            elif not child.get_content_type().startswith("multipart/"):
                self.assembly.warn("attachment", f"an attachment of type {kind} was not read")

    def _body(self, part: Any) -> None:
        data = part.get_payload(decode=True)
        if not isinstance(data, bytes):
            return
        text = decode(data, part.get_content_charset()).text
        if part.get_content_type() == "text/html":
            from selectolax.lexbor import LexborHTMLParser

            from florilege.ingest.markup.html import MAX_NESTING, read_tree
            from florilege.ingest.markup.html_tree import nesting

            if nesting(text) <= MAX_NESTING:
                read_tree(LexborHTMLParser(text), self.assembly)
            return
        for paragraph in _BLANK_LINES.split(text.replace("\r\n", "\n").replace("\r", "\n")):
            self.assembly.prose(paragraph.strip("\n").rstrip())


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
