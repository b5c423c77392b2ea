"""Chunkers out of what you have: a splitter of text, or a function of a document."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Protocol, runtime_checkable

from florilege.chunkers.base import Fingerprinted
from florilege.chunkers.parts.passages import ContextLine, Passages
from florilege.chunkers.parts.sections import joined, runs
from florilege.model import hashing
from florilege.model.chunk import Chunk, Chunking, Provenance
from florilege.model.document import Document, Span
from florilege.model.errors import ChunkingError, ConfigError


@runtime_checkable
class Splitter(Protocol):
    """Cuts a text into pieces that have ``text``, ``start_index`` and ``end_index``, and perhaps a ``context``."""

    def split(self, text: str) -> Iterable[Any]:
        """The pieces of ``text``, in order."""
        ...


@dataclass(frozen=True, slots=True)
class SplitterChunker(Fingerprinted):
    """See :func:`from_splitter`."""

    splitter: Splitter
    name: str = field(kw_only=True)
    version: str = field(kw_only=True, default="1")
    by_section: bool = field(kw_only=True, default=False)

    def fingerprint(self) -> str:
        """A hash over the splitter's own fingerprint, or its class and options."""
        return hashing.fingerprint(
            self.name, self.version, {"splitter": _identity(self.splitter), "by_section": self.by_section}
        )

    def chunk_document(self, document: Document) -> Chunking:
        """Cut ``document`` with the splitter; spans, parts and pages of every piece are kept.

        Raises :class:`ChunkingError` for a piece whose span lies outside the text it was given.
        """
        found = runs(document)
        starts = [run.start for run in found]
        whole = joined(found)
        texts = found if self.by_section else [whole]
        chunks: list[Chunk] = []
        for run in texts:
            base = run.start if self.by_section else 0
            end = run.end if self.by_section else len(document.content)
            for piece in self.splitter.split(document.content[base:end]):
                start, past = base + piece.start_index, base + piece.end_index
                if not base <= start <= past <= end:
                    raise ChunkingError(
                        f"splitter {self.name!r}: piece {len(chunks)} of {document.source_id!r} lies outside the text",
                        source_id=document.source_id,
                        stage=self.name,
                    )
                if not piece.text.strip():
                    continue
                trail = found[max(0, bisect_right(starts, start) - 1)].trail
                context = ContextLine(getattr(piece, "context", None) or "", False, 0)
                passages = Passages(document, whole, context, len(chunks), trail)
                derived = piece.text != document.content[start:past]
                chunks.append(passages.made(piece.text, ((start, past),), derived=derived))
        return Chunking(tuple(chunks))


def from_splitter(
    splitter: Splitter, *, name: str | None = None, version: str = "1", by_section: bool = False
) -> SplitterChunker:
    """A document chunker out of a splitter, those of :mod:`florilege.split` among them.

    The splitter is given the document's whole content, or with ``by_section`` each stretch of parts under one heading
    (and page, and table) for itself. A piece's ``context`` becomes the chunk's. ``name`` defaults to the splitter's
    class; raise ``version`` when a splitter without a ``fingerprint()`` of its own cuts differently.
    """
    if not isinstance(splitter, Splitter):
        raise ConfigError(f"splitter: a {type(splitter).__name__} has no split(text)")
    return SplitterChunker(splitter, name=name or type(splitter).__name__, version=version, by_section=by_section)


@dataclass(frozen=True, slots=True)
class FunctionChunker(Fingerprinted):
    """See :func:`from_function`."""

    function: Callable[[Document], Any]
    name: str = field(kw_only=True)
    version: str = field(kw_only=True)
    options: Mapping[str, Any] = field(kw_only=True, default_factory=dict)

    def fingerprint(self) -> str:
        """A hash over name, version and options."""
        return hashing.fingerprint(self.name, self.version, self.options)

    def chunk_document(self, document: Document) -> Chunking:
        """What the function makes of ``document``. Raises :class:`ChunkingError` for anything that is no chunk."""
        answer = self.function(document)
        if isinstance(answer, Chunking):
            return answer
        chunks: list[Chunk] = []
        cursor = 0
        for item in answer:
            chunk, cursor = _as_chunk(self, document, item, len(chunks), cursor)
            chunks.append(chunk)
        return Chunking(tuple(chunks))


def from_function(
    function: Callable[[Document], Any], *, name: str, version: str = "1", options: Mapping[str, Any] | None = None
) -> FunctionChunker:
    """A document chunker out of a function.

    It is given the document and returns a :class:`Chunking`, or an iterable of chunks, of ``(start, end)`` spans of the
    content, or of texts (one that stands in the content behind the text before it is exact, any other ``derived``).
    ``options`` must be JSON values; they and ``version`` tell one behaviour from another.
    """
    chosen = dict(options or {})
    hashing.plain(chosen, path="options")
    return FunctionChunker(function, name=name, version=version, options=chosen)


def _as_chunk(chunker: FunctionChunker, document: Document, item: Any, ordinal: int, cursor: int) -> tuple[Chunk, int]:
    if isinstance(item, Chunk):
        return item, cursor
    if isinstance(item, str):
        at = document.content.find(item, cursor)
        text, span = item, (at, at + len(item)) if at >= 0 else None
    elif isinstance(item, tuple) and len(item) == 2 and 0 <= item[0] < item[1] <= len(document.content):
        text, span = document.content[item[0] : item[1]], (item[0], item[1])
    else:
        raise ChunkingError(
            f"chunker {chunker.name!r}: item {ordinal} for {document.source_id!r} is no chunk, text or span",
            source_id=document.source_id,
            stage=chunker.name,
        )
    provenance = Provenance(source_spans=(Span(*span),)) if span is not None else Provenance(confidence="derived")
    chunk = Chunk(
        source_id=document.source_id,
        namespace=document.namespace,
        content=text,
        ordinal=ordinal,
        metadata=dict(document.metadata),
        provenance=provenance,
    )
    return chunk, span[1] if span is not None else cursor


def _identity(splitter: Any) -> Any:
    """What tells a splitter from another: its fingerprint, else its class and the options it shows."""
    own = getattr(splitter, "fingerprint", None)
    if callable(own):
        return own()
    options = {item.name: getattr(splitter, item.name) for item in fields(splitter)} if is_dataclass(splitter) else {}
    return [type(splitter).__module__, type(splitter).__qualname__, options]
