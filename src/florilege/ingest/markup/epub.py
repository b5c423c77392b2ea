"""The EPUB reader: the book's HTML files in the order of its spine, as one document."""

from __future__ import annotations

import posixpath
from typing import Any
from urllib.parse import unquote

from florilege.ingest.markup.html import MAX_NESTING, declared_charset, read_tree
from florilege.ingest.markup.html_tree import nesting
from florilege.ingest.office.package import Package
from florilege.ingest.readers.assembly import Assembly, squeeze
from florilege.ingest.readers.decode import decode
from florilege.interfaces.sources import ReadResult
from florilege.model.errors import ReadError

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_CIPHER = ".//{http://www.w3.org/2001/04/xmlenc#}CipherReference"


class EpubReader:
    """EPUB 2 and 3. Title and author come from the book's own record; a chapter that is missing is a warning."""

    id = "epub"
    version = "1"
    media_types = ("application/epub+zip",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``; raises :class:`ReadError` (``encrypted``) when the chapters are."""
        from selectolax.lexbor import LexborHTMLParser

        package = Package(content)
        root_file = package.xml("META-INF/container.xml").find(f".//{_CONTAINER}rootfile")
        book_part = root_file.get("full-path") if root_file is not None else None
        if not book_part:
            raise ReadError("the book names no content", code="damaged")
        book = package.xml(book_part)
        locked = _encrypted(package)
        assembly = Assembly()
        for number, name in enumerate(_spine(book, posixpath.dirname(book_part)), 1):
            if name in locked:
                raise ReadError("the book's chapters are encrypted", code="encrypted")
            if name not in package:
                assembly.warn("missing_chapter", f"chapter file {number} of the spine is not in the book")
                continue
            data = package.read(name)
            text = decode(data, declared_charset(data)).text
            if nesting(text) > MAX_NESTING:
                assembly.warn("too_deep", f"chapter file {number} is nested too deeply and was left out")
                continue
            read_tree(LexborHTMLParser(text), assembly)
        if not assembly.parts:
            assembly.warn("empty", "the book has no text")
        metadata = {key: text for key, text in _record(book).items() if text}
        return assembly.result(title=metadata.pop("title", None), metadata=metadata)


def _spine(book: Any, folder: str) -> list[str]:
    items = {
        item.get("id"): posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))
        for item in book.iter(_OPF + "item")
        if "html" in (item.get("media-type") or "") and "nav" not in (item.get("properties") or "").split()
    }
    return [items[ref.get("idref")] for ref in book.iter(_OPF + "itemref") if ref.get("idref") in items]


def _encrypted(package: Package) -> set[str]:
    name = "META-INF/encryption.xml"
    if name not in package:
        return set()
    return {unquote(node.get("URI") or "") for node in package.xml(name).iterfind(_CIPHER)}


def _record(book: Any) -> dict[str, str]:
    names = {"title": "title", "author": "creator", "published": "date"}
    return {key: squeeze(next((n.text or "" for n in book.iter(_DC + name)), "")) for key, name in names.items()}
