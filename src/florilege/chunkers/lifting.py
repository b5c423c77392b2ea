"""Chunkers out of what you have: a splitter of text, or a function of a document."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from florilege.chunkers.base import Fingerprinted
from florilege.chunkers.parents import chunking
from florilege.chunkers.parts.passages import ContextLine, Passages
from florilege.chunkers.parts.sections import Run, joined, runs
from florilege.chunkers.structure import numbered
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
    parents: Splitter | None = field(kw_only=True, default=None)
    name: str = field(kw_only=True)
    version: str = field(kw_only=True, default="1")
    by_section: bool = field(kw_only=True, default=False)

    def fingerprint(self) -> str:
        """A hash over the splitters' own fingerprints, or their classes and options."""
        options = {"splitter": _identity(self.splitter), "by_section": self.by_section}
        if self.parents is not None:
            options["parents"] = _identity(self.parents)
        return hashing.fingerprint(self.name, self.version, options)

    def chunk_document(self, document: Document) -> Chunking:
        """Cut ``document`` with the splitter; spans, parts and pages of every piece are kept.

        Raises :class:`ChunkingError` for a piece whose span lies outside the text it was given.
        """
        found = runs(document)
        place = _Place(self.name, document, found, Passages(document, joined(found), ContextLine("", False, 0)))
        stretches = [(run.start, run.end) for run in found] if self.by_section else [(0, len(document.content))]
        outer = self.splitter if self.parents is None else self.parents
        passages = [piece for stretch in stretches for piece in place.pieces(outer, *stretch)]
        if self.parents is None:
            return Chunking(numbered(passages))
        families = [(passage, list(place.children(self.splitter, passage))) for passage in passages]
        return chunking(document, [family for family in families if family[1]])


class _Place(NamedTuple):
    """Where pieces stand: the document and its runs."""

    name: str
    document: Document
    found: list[Run]
    passages: Passages

    def pieces(self, splitter: Splitter, start: int, end: int) -> Iterator[Chunk]:
        """What ``splitter`` makes of a stretch of the document."""
        content = self.document.content
        for piece in self._checked(splitter, content[start:end]):
            span = start + piece.start_index, start + piece.end_index
            yield self._made(piece, span, piece.text != content[slice(*span)])

    def children(self, splitter: Splitter, passage: Chunk) -> Iterator[Chunk]:
        """What ``splitter`` makes of a passage; of a derived one all pieces stand where it stands."""
        span = passage.provenance.source_spans[0]
        derived = passage.content != self.document.content[span.start : span.end]
        for piece in self._checked(splitter, passage.content):
            inside = span.start + piece.start_index, span.start + piece.end_index
            yield self._made(
                piece,
                (span.start, span.end) if derived else inside,
                derived or piece.text != passage.content[piece.start_index : piece.end_index],
            )

    def _checked(self, splitter: Splitter, text: str) -> Iterator[Any]:
        for number, piece in enumerate(splitter.split(text)):
            if not 0 <= piece.start_index <= piece.end_index <= len(text):
                raise ChunkingError(
                    f"splitter {self.name!r}: piece {number} of {self.document.source_id!r} lies outside the text",
                    source_id=self.document.source_id,
                    stage=self.name,
                )
            if piece.text.strip():
                yield piece

    def _made(self, piece: Any, span: tuple[int, int], derived: bool) -> Chunk:
        run = self.found[max(0, bisect_right(self.found, span[0], key=lambda run: run.start) - 1)]
        passages = self.passages.under(getattr(piece, "context", None) or "", run.trail)
        return passages.made(piece.text, (span,), derived=derived)


def from_splitter(
    splitter: Splitter,
    *,
    parents: Splitter | None = None,
    name: str | None = None,
    version: str = "1",
    by_section: bool = False,
) -> SplitterChunker:
    """A document chunker out of a splitter, those of :mod:`florilege.split` among them.

    The splitter is given the document's whole content, or with ``by_section`` each stretch of parts under one heading
    (and page, and table) for itself. A piece's ``context`` becomes the chunk's. ``name`` defaults to the splitter's
    class; raise ``version`` when a splitter without a ``fingerprint()`` of its own cuts differently.

    ``parents`` makes small chunks to search and larger passages to read, each within its splitter's limit, in tokens
    too: it cuts the document, and ``splitter`` then cuts every piece of it. Choose one without overlap.
    """
    for option, value in (("splitter", splitter), ("parents", parents)):
        if not isinstance(value, Splitter) and (option == "splitter" or value is not None):
            raise ConfigError(f"{option}: a {type(value).__name__} has no split(text)")
    name = name or type(splitter).__name__
    return SplitterChunker(splitter, parents=parents, name=name, version=version, by_section=by_section)


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
