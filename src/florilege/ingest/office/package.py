"""Zip packages of XML parts, opened within limits.

Sizes are counted while inflating, because headers lie. XML is parsed without network, DTDs or entities; libxml2
stops at 256 levels.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import unquote

from florilege.ingest.readers.assembly import squeeze
from florilege.model.errors import ReadError

MAX_UNPACKED = 500_000_000
MAX_ENTRIES = 10_000
MAX_RATIO = 100
_RATIO_FLOOR = 1_000_000
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/(\w+)")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)

PACKAGE_RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE_RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_CORE = "http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
_DC = "http://purl.org/dc/elements/1.1/"
_TERMS = "http://purl.org/dc/terms/"


class Relationship(NamedTuple):
    """The last word of a relationship's type, and the part or address it points to."""

    kind: str
    target: str


class Package:
    """A zip file's parts by name. Failures are :class:`ReadError`: ``damaged``, ``encrypted`` or ``too_large``."""

    def __init__(self, content: bytes) -> None:
        self._packed = len(content)
        self._unpacked = 0
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        except _DAMAGE as error:
            raise ReadError("the file is not a whole zip package", code="damaged") from error
        if len(self._archive.filelist) > MAX_ENTRIES:
            raise ReadError(f"the package has more than {MAX_ENTRIES:,} entries", code="too_large")
        self._names = {name.lower(): name for name in self._archive.namelist()}

    def __contains__(self, name: str) -> bool:
        return name.lower().lstrip("/") in self._names

    def read(self, name: str) -> bytes:
        """The bytes of a part; a missing one is ``damaged``."""
        stored = self._names.get(name.lower().lstrip("/"))
        if stored is None:
            raise ReadError(f"the package lacks its part {name}", code="damaged")
        if self._archive.getinfo(stored).flag_bits & 1:
            raise ReadError("the package is encrypted: save it without a password", code="encrypted")
        limit = min(MAX_UNPACKED, max(_RATIO_FLOOR, MAX_RATIO * self._packed)) - self._unpacked
        try:
            with self._archive.open(stored) as stream:
                data = stream.read(limit + 1)
        except _DAMAGE as error:
            raise ReadError(f"part {name} of the package is damaged", code="damaged") from error
        self._unpacked += len(data)
        if len(data) > limit:
            raise ReadError(f"the package unpacks to more than {MAX_RATIO} times its size", code="too_large")
        return data

    def xml(self, name: str) -> Any:
        """The root element of an XML part, strict OOXML namespaces turned into the usual ones."""
        return parse_xml(_STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/\2", self.read(name)), name)

    def relationships(self, part: str) -> dict[str, Relationship]:
        """The relationships of a part by id ("" for the package), targets resolved to part names."""
        folder, name = posixpath.split(part)
        rels = posixpath.join(folder, "_rels", f"{name}.rels")
        if rels not in self:
            return {}
        found = {}
        for item in self.xml(rels).iterfind(f"{{{PACKAGE_RELATIONSHIPS}}}Relationship"):
            target = item.get("Target") or ""
            if item.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
            kind = (item.get("Type") or "").rsplit("/", 1)[-1]
            found[item.get("Id") or ""] = Relationship(kind, target)
        return found

    @cached_property
    def main_part(self) -> str:
        """The part the package is about."""
        for relation in self.relationships("").values():
            if relation.kind == "officeDocument":
                return relation.target
        raise ReadError("the package names no main document", code="damaged")

    def properties(self) -> dict[str, Any]:
        """Title, author, subject, keywords and day of creation, as far as they are given."""
        part = next((r.target for r in self.relationships("").values() if r.kind == "core-properties"), "")
        if not part or part not in self:
            return {}
        try:
            root = self.xml(part)
        except ReadError:
            return {}
        names = {
            "title": f"{{{_DC}}}title",
            "author": f"{{{_DC}}}creator",
            "subject": f"{{{_DC}}}subject",
            "keywords": f"{{{_CORE}}}keywords",
            "created": f"{{{_TERMS}}}created",
        }
        found = {key: squeeze(root.findtext(name) or "") for key, name in names.items()}
        found["created"] = found["created"][:10]
        return {key: value for key, value in found.items() if value}


def parse_xml(data: bytes, name: str) -> Any:
    """The root element of ``data``; raises :class:`ReadError` naming ``name``."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        deep = "depth" in str(error)
        raise ReadError(f"{name} is not well-formed XML", code="too_deep" if deep else "damaged") from error
    if root is None:
        raise ReadError(f"{name} is empty", code="damaged")
    return root
