"""Attachments of mails as sources. They are taken out in a worker process, like everything else in a mail."""

from __future__ import annotations

import base64

from florilege.ingest.containers.children import Collector
from florilege.ingest.reading import NamedReader
from florilege.ingest.source import ByteSource
from florilege.interfaces.sources import Source
from florilege.model.document import Failed

_TAKERS = {
    "message/rfc822": NamedReader(
        "eml_attachments", "1", ("message/rfc822",), "florilege.ingest.mail.eml:EmlAttachments"
    ),
    "application/vnd.ms-outlook": NamedReader(
        "msg_attachments",
        "1",
        ("application/vnd.ms-outlook",),
        "florilege.ingest.mail.msg:MsgAttachments",
        needs="oxmsg",
        extra="msg",
    ),
}


def attached(source: ByteSource) -> list[Source | Failed]:
    """The attachments of a mail, and of those inside it."""
    collector = Collector(source, "attachment")
    taker = _TAKERS[source.media_type]
    found = source.reading.run(taker, source.fetch(), source.media_type).metadata or {}
    for name, data in found["attachments"]:
        collector.entry(name, [base64.b64decode(data)])
    return collector.children
