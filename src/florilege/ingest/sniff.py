"""What kind of file this is: by content first, by name second.

Containers are looked into: a zip is told by its ``mimetype`` entry (ODF, EPUB) or by the target of its office
document relationship (never by content-type strings, which embedded files fool), an OLE file by its directory.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import BinaryIO

from florilege.ingest.media import BY_SUFFIX, LANGUAGES_BY_NAME, OFFICE, PLAIN, SHEBANG_LANGUAGES

ENCRYPTED_OFFICE = "application/x-encrypted-office"
UNKNOWN = "application/octet-stream"
HEAD_BYTES = 4096

_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"{\\rtf", "application/rtf"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/x-msvideo"),
    (4, b"ftyp", "video/mp4"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"\x1aE\xdf\xa3", "video/x-matroska"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\x00", "application/x-xz"),
    (0, b"(\xb5/\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf'\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (257, b"ustar", "application/x-tar"),
    (0, b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (0, b"PAR1", "application/vnd.apache.parquet"),
    (0, b"\x7fELF", "application/x-elf"),
    (0, b"\xca\xfe\xba\xbe", "application/java-vm"),
    (0, b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
    (0, b"\x00asm", "application/wasm"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
    (0, b"\x00\x01\x00\x00", "font/ttf"),
    (0, b"OTTO", "font/otf"),
    (0, b"%!PS", "application/postscript"),
)
_OFFICE_TARGET = re.compile(
    rb"<(?:\w+:)?Relationship\b(?=[^>]*\bType\s*=\s*[\"'][^\"']*/relationships/officeDocument[\"'])"
    rb"[^>]*\bTarget\s*=\s*[\"']/?([^\"']+)",
    re.I,
)
_HTML = re.compile(rb"\s*(?:<!--.*?-->\s*|<\?xml[^>]*>\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_CONTROLS = re.compile(rb"[\x01-\x08\x0e-\x1a]")
_MAIL = re.compile(rb"(?:From |(?:[A-Za-z][A-Za-z-]*:[^\n]*\n(?:[ \t][^\n]*\n)*){2})")
_MAIL_FIELDS = re.compile(rb"^(?:Received|Message-ID|MIME-Version|Delivered-To|Return-Path):", re.I | re.M)


def sniff(stream: BinaryIO, name: str | None = None) -> str:
    """The media type of a seekable binary stream, ``name`` deciding where the content leaves it open.

    Never raises for strange content: what is not recognised and has no known name is ``text/plain`` when it may be
    text, :data:`UNKNOWN` when it cannot be.
    """
    stream.seek(0)
    head = stream.read(HEAD_BYTES)
    named = by_name(name)
    if b"%PDF-" in head[:1024]:
        return "application/pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _zip(stream, named)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _ole(stream, head, named)
    if head.startswith(b"BM") and head.startswith(b"\x00\x00\x00\x00", 6):
        return "image/bmp"
    for offset, magic, media_type in _MAGIC:
        if head.startswith(magic, offset):
            return media_type
    return _text(head, name, named)


def sniff_bytes(data: bytes, name: str | None = None) -> str:
    """The same for bytes."""
    return sniff(io.BytesIO(data), name)


def by_name(name: str | None) -> str | None:
    """What the file name alone says, None when it says nothing."""
    if not name:
        return None
    path = PurePosixPath(name.rsplit("/", 1)[-1].lower())
    return LANGUAGES_BY_NAME.get(path.name) or BY_SUFFIX.get(path.suffix)


def _text(head: bytes, name: str | None, named: str | None) -> str:
    if not head:
        return named or PLAIN
    sample = head
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or head.count(b"\x00") * 4 >= len(head):
        bare = head.replace(b"\x00", b"")  # UTF-16 or UTF-32, when what is left is text
        sample = head if _CONTROLS.search(bare) else bare
    if b"\x00" in sample and not (named or "").startswith("text/"):
        return named if named in OFFICE else UNKNOWN
    if named is None or named in (PLAIN, "application/xml", *OFFICE):
        if _HTML.match(sample.removeprefix(b"\xef\xbb\xbf").removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff")):
            return "text/html"
        if sample.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"<?xml"):
            return "application/xml"
    if named is None:
        if head.startswith(b"#!"):
            line = head[2:].split(b"\n", 1)[0].decode("latin-1")
            words = line.replace("/", " ").split()
            for word in reversed(words):
                if language := SHEBANG_LANGUAGES.get(word.rstrip("0123456789.")):
                    return f"text/x-{language}"
        if _MAIL.match(head) and _MAIL_FIELDS.search(head):
            return "message/rfc822"
    if named in OFFICE and not (sample.strip() and _is_text(sample)):
        return named
    return PLAIN if named in OFFICE else named or PLAIN


def _is_text(sample: bytes) -> bool:
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= HEAD_BYTES - 4  # a character cut by the end of the sample
    return True


def _zip(stream: BinaryIO, named: str | None) -> str:
    try:
        with zipfile.ZipFile(stream) as archive:
            names = set(archive.namelist())
            if "mimetype" in names:
                with archive.open("mimetype") as entry:
                    kind = entry.read(200).decode("ascii", "replace").strip()
                if kind.startswith(("application/vnd.oasis.opendocument.", "application/epub+zip")):
                    return kind
            if "_rels/.rels" in names:
                with archive.open("_rels/.rels") as entry:
                    match = _OFFICE_TARGET.search(entry.read(1_000_000))
                if match:
                    return _office(match[1].decode("utf-8", "replace"))
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError, zlib.error):
        return named if named in OFFICE else "application/zip"
    return "application/zip"


def _office(target: str) -> str:
    folder = target.lstrip("/").split("/", 1)[0].lower()
    if target.lower().endswith(".bin"):
        return "application/vnd.ms-excel.sheet.binary.macroenabled.12"
    kinds = {"word": "wordprocessingml.document", "xl": "spreadsheetml.sheet", "ppt": "presentationml.presentation"}
    kind = kinds.get(folder)
    return f"application/vnd.openxmlformats-officedocument.{kind}" if kind else "application/zip"


def _ole(stream: BinaryIO, head: bytes, named: str | None) -> str:
    names = _ole_names(stream, head)
    if "EncryptedPackage" in names:
        return ENCRYPTED_OFFICE
    if "WordDocument" in names:
        return "application/msword"
    if names & {"Workbook", "Book"}:
        return "application/vnd.ms-excel"
    if "PowerPoint Document" in names:
        return "application/vnd.ms-powerpoint"
    if any(name.startswith("__substg1.0_") or name == "__properties_version1.0" for name in names):
        return "application/vnd.ms-outlook"
    return named or "application/x-ole-storage"


def _ole_names(stream: BinaryIO, head: bytes) -> set[str]:
    """The names in an OLE file's directory, following its sector chain at most 2,000 sectors."""
    shift = int.from_bytes(head[30:32], "little")
    if shift not in (9, 12):
        return set()
    size = 1 << shift
    tables = [int.from_bytes(head[76 + 4 * i : 80 + 4 * i], "little") for i in range(109)]
    sector = int.from_bytes(head[48:52], "little")
    names: set[str] = set()
    seen: set[int] = set()
    while sector < 0xFFFFFFFA and sector not in seen and len(seen) < 2000:
        seen.add(sector)
        stream.seek((sector + 1) * size)
        block = stream.read(size)
        for start in range(0, len(block) - 127, 128):
            length = min(64, int.from_bytes(block[start + 64 : start + 66], "little"))
            names.add(block[start : start + max(0, length - 2)].decode("utf-16-le", "replace"))
        table = sector * 4 // size
        if table >= len(tables) or tables[table] >= 0xFFFFFFFA:
            break
        stream.seek((tables[table] + 1) * size + sector * 4 % size)
        sector = int.from_bytes(stream.read(4), "little")
    return names
