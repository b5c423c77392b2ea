"""A pipeline: document transforms, a chunker, chunk transforms, as one value with an identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from florilege.indexing.transform import Transform
from florilege.interfaces.chunking import DocumentChunker
from florilege.model.chunk import Chunk, ParentChunk
from florilege.model.document import Document
from florilege.model.errors import ConfigError
from florilege.model.ledger import StageRecord


def _default() -> DocumentChunker:
    from florilege import chunkers

    return chunkers.default()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A document that has been through the pipeline: chunks with ids, parents with keys, stage records."""

    document: Document
    chunks: tuple[Chunk, ...]
    parents: tuple[ParentChunk, ...]
    stages: tuple[StageRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The processing order from document to chunks, as one frozen value.

    ``documents`` run in order before the ``chunker`` (default: ``chunkers.default()``), ``chunks`` after it.
    """

    documents: Sequence[Transform] = ()
    chunker: DocumentChunker = field(default_factory=_default)
    chunks: Sequence[Transform] = ()

    def __post_init__(self) -> None:
        for kind, option in (("document", "documents"), ("chunk", "chunks")):
            names: set[str] = set()
            for item in getattr(self, option):
                if not isinstance(item, Transform) or item.kind != kind:
                    raise ConfigError(f"pipeline {option}: {item!r} is not a {kind} transform")
                if item.name in names:
                    raise ConfigError(f"pipeline {option}: two transforms are named {item.name!r}")
                names.add(item.name)
        if not isinstance(self.chunker, DocumentChunker):
            raise ConfigError(f"pipeline chunker: {self.chunker!r} has no name, version, fingerprint, chunk_document")

    def with_chunking(self, chunking: Mapping[str, Any] | None) -> Pipeline:
        """This pipeline with other sizes for its chunker; ConfigError for an option the chunker lacks.

        A chunker that only cuts what others leave to its ``rest`` passes them on to that.
        """
        if not chunking:
            return self
        chunker: Any = self.chunker
        if getattr(chunker, "rest", None) is not None:
            rest = replace(self, chunker=chunker.rest).with_chunking(chunking).chunker
            return replace(self, chunker=replace(chunker, rest=rest))
        known = {item.name for item in fields(chunker)} if is_dataclass(chunker) else set()
        for option in chunking:
            if option not in known:
                raise ConfigError(f"chunking: chunker {self.chunker.name!r} has no option {option!r}")
        return replace(self, chunker=replace(chunker, **chunking))

    def hashes(self) -> dict[str, str]:
        """The fingerprint in parts, so that a change can be named: one hash for each transform and the chunker."""
        order = [f"document_transform:{item.name}" for item in self.documents]
        order += ["chunker", *(f"chunk_transform:{item.name}" for item in self.chunks)]
        prints = [item.fingerprint() for item in self.documents]
        prints += [self.chunker.fingerprint(), *(item.fingerprint() for item in self.chunks)]
        hashes = dict(zip(order, prints, strict=True))
        if self.documents or self.chunks:
            hashes["order"] = " ".join(order)
        return hashes
