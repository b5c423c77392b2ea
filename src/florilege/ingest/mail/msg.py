"""The reader of Outlook messages, over python-oxmsg."""

from __future__ import annotations

import base64
import io
from typing import Any

from florilege.ingest.mail.eml import add_html, add_text
from florilege.ingest.readers.assembly import Assembly, squeeze
from florilege.ingest.readers.decode import decode
from florilege.interfaces.sources import ReadResult


class MsgReader:
    """Messages as Outlook saves them. Title: the subject; metadata: sender, recipients, date."""

    id = "msg"
    version = "1"
    media_types = ("application/vnd.ms-outlook",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``: the headers, then the body, as HTML where there is one."""
        message = _loaded(content)
        assembly = Assembly()
        subject = squeeze(message.subject or "")
        sender = squeeze(message.sender or "")
        to = ", ".join(squeeze(f"{person.name} <{person.email_address}>") for person in message.recipients)
        date = message.sent_date.isoformat() if message.sent_date else ""
        shown = {"From": sender, "To": to, "Date": date, "Subject": subject}
        lines = [f"{name}: {text}" for name, text in shown.items() if text]
        if lines:
            assembly.add("text", "\n".join(lines), role="header")
        if message.html_body:
            html = message.html_body
            add_html(assembly, html if isinstance(html, str) else decode(html).text)
        elif message.body:
            add_text(assembly, message.body)
        for attachment in message.attachments:
            assembly.warn("attachment", f"an attachment of type {attachment.mime_type} is not part of the text")
        metadata = {key: text for key, text in (("from", sender), ("to", to), ("date", date)) if text}
        return assembly.result(title=subject or None, metadata=metadata)


class MsgAttachments:
    """What is attached, as ``metadata["attachments"]``: pairs of a name and the bytes in base64."""

    id = "msg_attachments"
    version = "1"
    media_types = ("application/vnd.ms-outlook",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``. A message attached as such has no bytes of its own and is left out."""
        found = [
            (squeeze(attachment.file_name or "") or "attachment", base64.b64encode(data).decode("ascii"))
            for attachment in _loaded(content).attachments
            if (data := attachment.file_bytes) is not None
        ]
        return ReadResult(content="", metadata={"attachments": found})


def _loaded(content: bytes) -> Any:
    from oxmsg import Message

    return Message.load(io.BytesIO(content))
