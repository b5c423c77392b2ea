"""Which reader reads what, and what a reading turns into: a document, or a failure with a code."""

from __future__ import annotations

import importlib
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import BinaryIO

from florilege.ingest.media import PLAIN
from florilege.ingest.readers.offered import observed, observers, offered_readers
from florilege.ingest.sniff import ENCRYPTED_OFFICE, UNKNOWN, sniff
from florilege.interfaces.sources import Reader, ReadResult, SourceObserver
from florilege.isolation import WorkerPool, default_pool
from florilege.model.document import Document, Failed
from florilege.model.errors import ConfigError, FlorilegeError, ReadError
from florilege.model.hashing import hexdigest

MAX_BYTES = 100_000_000
_OOXML = "application/vnd.openxmlformats-officedocument."
_ODF = "application/vnd.oasis.opendocument."


@dataclass(frozen=True, slots=True)
class NamedReader:
    """A reader named without importing it, ``target`` as ``module:class``.

    With a ``capability`` the target is a provider that creates it. ``suffixes`` are of file names that mean its first
    media type when their content says no more than text, or nothing.

    ``in_process`` ones are pure Python over linear scans; the others run in workers. ``extra`` names what has to be
    installed with this package for the module ``needs``. ``memory`` is the address space in bytes that it
    needs when that is more than workers have.
    """

    id: str
    version: str
    media_types: tuple[str, ...]
    target: str
    in_process: bool = False
    needs: str | None = None
    extra: str | None = None
    capability: str | None = None
    suffixes: tuple[str, ...] = ()
    memory: int | None = None

    @property
    def is_installed(self) -> bool:
        """Whether what it needs is there."""
        return self.needs is None or find_spec(self.needs) is not None

    def load(self) -> Reader:
        """Import and create it."""
        module, name = self.target.split(":")
        made = getattr(importlib.import_module(module), name)()
        reader: Reader = made if self.capability is None else made.create(self.capability)
        return reader


BUILTIN_READERS: tuple[NamedReader, ...] = (
    NamedReader("text", "1", ("text/plain",), "florilege.ingest.readers.plain:TextReader", in_process=True),
    NamedReader(
        "markdown", "1", ("text/markdown",), "florilege.ingest.readers.markdown:MarkdownReader", in_process=True
    ),
    NamedReader("toml", "1", ("text/x-toml",), "florilege.ingest.values.json_values:TomlReader", in_process=True),
    NamedReader("yaml", "1", ("text/x-yaml",), "florilege.ingest.values.yaml_values:YamlReader"),
    NamedReader("code", "1", ("text/x-",), "florilege.ingest.readers.plain:CodeReader", in_process=True),
    NamedReader(
        "csv",
        "1",
        ("text/csv", "text/tab-separated-values"),
        "florilege.ingest.readers.delimited:DelimitedReader",
        in_process=True,
    ),
    NamedReader(
        "jsonl", "1", ("application/x-ndjson",), "florilege.ingest.values.json_values:JsonLinesReader", in_process=True
    ),
    NamedReader("json", "1", ("application/json",), "florilege.ingest.values.json_values:JsonReader"),
    NamedReader("html", "1", ("text/html",), "florilege.ingest.markup.html:HtmlReader"),
    NamedReader("docx", "1", (_OOXML + "wordprocessingml.document",), "florilege.ingest.office.docx:DocxReader"),
    NamedReader(
        "sheet",
        "2",
        (
            _OOXML + "spreadsheetml.sheet",
            "application/vnd.ms-excel.sheet.binary.macroenabled.12",
            "application/vnd.ms-excel",
            _ODF + "spreadsheet",
        ),
        "florilege.ingest.office.sheets:SheetReader",
    ),
    NamedReader("pptx", "1", (_OOXML + "presentationml.presentation",), "florilege.ingest.office.pptx:PptxReader"),
    NamedReader("odf", "1", (_ODF + "text", _ODF + "presentation"), "florilege.ingest.office.odf:OdfReader"),
    NamedReader("epub", "1", ("application/epub+zip",), "florilege.ingest.markup.epub:EpubReader"),
    NamedReader("xml", "1", ("application/xml", "image/svg+xml"), "florilege.ingest.markup.xml:XmlReader"),
    NamedReader("eml", "1", ("message/rfc822",), "florilege.ingest.mail.eml:EmlReader"),
    NamedReader(
        "msg",
        "1",
        ("application/vnd.ms-outlook",),
        "florilege.ingest.mail.msg:MsgReader",
        needs="oxmsg",
        extra="msg",
    ),
    NamedReader(
        "rtf", "1", ("application/rtf",), "florilege.ingest.readers.rtf:RtfReader", needs="striprtf", extra="rtf"
    ),
    NamedReader("pdf", "1", ("application/pdf",), "florilege.ingest.pdf.reader:PdfReader"),
)

OPTIONAL_READERS: tuple[NamedReader, ...] = (
    NamedReader(
        "article",
        "1",
        ("text/html",),
        "florilege.ingest.markup.article:ArticleReader",
        needs="trafilatura",
        extra="web",
    ),
    NamedReader(
        "ocr",
        "1",
        ("image/png", "image/jpeg", "image/tiff", "image/webp", "image/gif", "image/bmp", "application/pdf"),
        "florilege.ingest.images.ocr:OcrReader",
        needs="rapidocr",
        extra="ocr",
        memory=4_000_000_000,
    ),
)
"""Readers of extras that read what others also read, or at a cost: they read only where they are asked for by name."""


def optional_reader(name: str) -> NamedReader:
    """The optional reader of that name. Raises :class:`ConfigError` for an unknown one, or one not installed."""
    found = next((reader for reader in OPTIONAL_READERS if reader.id == name), None)
    if found is None:
        known = ", ".join(reader.id for reader in OPTIONAL_READERS)
        raise ConfigError(f"there is no optional reader {name!r}: {known}", code="bad_option")
    if not found.is_installed:
        raise ConfigError(
            f"reader {name!r} needs the extra: pip install 'florilege[{found.extra}]'", code="missing_extra"
        )
    return found


def asked_readers(readers: str | Sequence[Reader | str]) -> tuple[Reader | NamedReader, ...]:
    """Readers as a caller gives them, a lone name among them, names replaced by the optional readers they name."""
    given = (readers,) if isinstance(readers, str) else readers
    return tuple(optional_reader(reader) if isinstance(reader, str) else reader for reader in given)


def builtin_reader(media_type: str) -> NamedReader | None:
    """The shipped reader of a media type; a declared type that ends in ``-`` stands for all it begins."""
    for reader in BUILTIN_READERS:
        for declared in reader.media_types:
            if media_type == declared or (declared.endswith("-") and media_type.startswith(declared)):
                return reader
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How sources are read: extra readers (asked first; a caller's own objects run in-process), those that others have
    installed (asked next, run in workers), limits, and whether workers isolate. ``observers`` see what is read go by.

    ``time_limit`` is in seconds, for one file without its pages; ``namespace`` is given to every document;
    ``media_type`` None: each source's own, sniffed; ``pool`` None: the shared one.
    """

    namespace: str | None = None
    readers: tuple[Reader | NamedReader, ...] = ()
    offered: tuple[NamedReader, ...] = ()
    observers: tuple[SourceObserver, ...] = ()
    max_bytes: int = MAX_BYTES
    time_limit: float = 30.0
    isolate: bool = True
    media_type: str | None = None
    pool: WorkerPool | None = None

    def kind(self, stream: BinaryIO, name: str | None) -> str:
        """The media type of what ``stream`` holds."""
        found = self.media_type or sniff(stream, name)
        if found in (PLAIN, UNKNOWN) and name is not None:
            for reader in self.offered:
                if reader.suffixes and name.lower().endswith(reader.suffixes):
                    return reader.media_types[0]
        return found

    def mark(self, media_type: str) -> str:
        """The id and version of what would read this type, as in ``pdf/1``; ``none/1`` when nothing would."""
        return _mark(self._find(media_type))

    @property
    def digest(self) -> str:
        """A hash over every reader there is: while it stays the same, the same bytes are read alike."""
        return hexdigest(*map(_mark, self.readers), "", *map(_mark, (*self.offered, *BUILTIN_READERS)))[:8]

    def is_builtin(self, media_type: str) -> bool:
        """Whether no reader but a shipped one takes this type."""
        found = self._find(media_type)
        return found is None or found in BUILTIN_READERS

    def document(
        self,
        data: bytes,
        *,
        source_id: str,
        name: str | None = None,
        hint: str | None = None,
        uri: str | None = None,
        revision: str | None = None,
        opener: Callable[[], bytes] | None = None,
        reader: Reader | None = None,
    ) -> Document:
        """Read ``data``; raises :class:`ReadError` with a code, ``source_id`` and the reader's mark in ``stage``.

        ``hint`` is the media type its carrier declares, taken when the content and the name say no more than text.
        ``reader`` settles who reads; it is then run in this process.
        """
        media_type = self.kind(io.BytesIO(data), name)
        if hint is not None and media_type == PLAIN:
            media_type = hint
        chosen = reader or self._find(media_type)
        mark = _mark(chosen)
        started = time.perf_counter()
        try:
            result = self._read(chosen, data, media_type)
        except ReadError as error:
            raise ReadError(
                error.message, code=error.code, source_id=source_id, stage=mark, retryable=error.retryable
            ) from error
        document = Document(
            source_id=source_id,
            namespace=self.namespace,
            content=result.content,
            parts=result.parts,
            title=result.title,
            metadata=result.metadata or {},
            warnings=result.warnings,
            media_type=result.media_type or media_type,
            uri=uri,
            revision=revision,
            reader=mark,
            opener=opener,
        )
        return observed(document, data, self.observers, time.perf_counter() - started) if self.observers else document

    def _find(self, media_type: str) -> Reader | NamedReader | None:
        given: tuple[Reader | NamedReader, ...] = (*self.readers, *self.offered)
        found = next((reader for reader in given if media_type in reader.media_types), None)
        return found or builtin_reader(media_type)

    def _read(self, reader: Reader | NamedReader | None, data: bytes, media_type: str) -> ReadResult:
        if len(data) > self.max_bytes:
            raise ReadError(
                f"{len(data):,} bytes exceed the limit of {self.max_bytes:,} (max_bytes=)", code="too_large"
            )
        if media_type == ENCRYPTED_OFFICE:
            raise ReadError("the document is encrypted: save it without a password", code="encrypted")
        if reader is None:
            raise ReadError(f"the file is {_unread(media_type)}", code="unsupported_format")
        if not data and isinstance(reader, NamedReader) and not media_type.startswith("text/"):
            raise ReadError("the file has 0 bytes", code="empty")
        return self.run(reader, data, media_type)

    def run(self, reader: Reader | NamedReader, data: bytes, media_type: str) -> ReadResult:
        """What ``reader`` makes of ``data``, in a worker unless it may run in this process."""
        if not isinstance(reader, NamedReader):
            return checked(run_reader(reader, data, media_type))
        if not reader.is_installed:
            message = f"reading {media_type} needs the extra: pip install 'florilege[{reader.extra}]'"
            raise ReadError(message, code="unsupported_format")
        if reader.in_process or not self.isolate:
            return checked(run_reader(loaded(reader), data, media_type))
        from florilege.ingest.workers import read

        return checked(read(self.pool or default_pool(), reader, data, media_type, time_limit=self.time_limit))


def loaded(reader: NamedReader) -> Reader:
    """Import and create a reader; one that cannot be is a :class:`ReadError`."""
    try:
        return reader.load()
    except Exception as error:  # a third party's module may raise anything
        message = f"reader {reader.id!r} cannot be imported ({type(error).__name__}: {error})"
        # Retryable: what is installed may be mended, which changes neither the file nor the reader's version.
        raise ReadError(message, code="broken_plugin", retryable=True) from error


def run_reader(reader: Reader, data: bytes, media_type: str) -> ReadResult:
    """Call a reader; whatever it raises becomes a :class:`ReadError` that quotes no document text."""
    try:
        return reader.read(data, media_type)
    except FlorilegeError:
        raise
    except MemoryError:
        raise ReadError("reading it needs more memory than a reader may use", code="too_large") from None
    except RecursionError:
        raise ReadError("it is nested too deeply", code="too_deep") from None
    except Exception as error:  # any reader may meet any input
        message = f"reader {reader.id!r} failed on it ({type(error).__name__})"
        raise ReadError(message, code="damaged") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # how a panic of a Rust library arrives
            raise
        raise ReadError(f"reader {reader.id!r} crashed on it", code="crashed") from None


def checked(result: ReadResult) -> ReadResult:
    """``result``, once its spans slice back; raises :class:`ReadError` (``bad_reader``) when they do not."""
    seen: set[str] = set()
    for part in result.parts:
        if part.part_id in seen or result.content[part.span.start : part.span.end] != part.text:
            raise ReadError(f"the reader gave part {part.part_id!r} twice or with a false span", code="bad_reader")
        seen.add(part.part_id)
    return result


def failed(source_id: str, error: FlorilegeError, *, revision: str | None = None, reader: str | None = None) -> Failed:
    """A failure record for ``error``."""
    return Failed(
        source_id=source_id,
        code=error.code,
        message=error.message,
        retryable=error.retryable,
        revision=revision,
        reader=reader or error.stage,
    )


def read_bytes(
    data: bytes,
    name: str | None = None,
    media_type: str | None = None,
    *,
    source_id: str | None = None,
    readers: str | Sequence[Reader | str] = (),
) -> Document:
    """Read one document from bytes.

    ``name`` (a file name) helps to tell its kind, ``media_type`` settles it. The source id is ``source_id``, else the
    name, else ``bytes:`` and a hash of the content. Raises :class:`florilege.ReadError` with a stable ``code``.
    """
    identity = source_id or name or bytes_id(data)
    return with_plugins(Reading(readers=asked_readers(readers), media_type=media_type)).document(
        data, source_id=identity, name=name, opener=lambda: data
    )


def with_plugins(reading: Reading) -> Reading:
    """``reading`` with the readers and observers that others have installed."""
    offered = tuple(
        NamedReader(
            str(item.id),
            item.version,
            item.media_types,
            offer.target,
            capability=str(item.id),
            suffixes=tuple(item.options.get("suffixes", ())),
        )
        for offer, item in offered_readers()
    )
    return replace(reading, offered=offered, observers=observers())


def bytes_id(data: bytes) -> str:
    """The source id of bytes without a name."""
    return f"bytes:{hexdigest(data)}"


def _unread(media_type: str) -> str:
    if media_type == UNKNOWN:
        return "of no recognised kind"
    able = [reader.id for reader in OPTIONAL_READERS if media_type in reader.media_types]
    return f"{media_type}, which {f'reader {able[0]!r} reads when it is named' if able else 'has no reader here'}"


def _mark(reader: Reader | NamedReader | None) -> str:
    """A reader that is not installed marks nothing, so that what it would have read is tried again once it is."""
    if reader is None or (isinstance(reader, NamedReader) and not reader.is_installed):
        return "none/1"
    return f"{reader.id}/{reader.version}"
