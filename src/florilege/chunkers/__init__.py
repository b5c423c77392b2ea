"""How is a document cut? Chunkers walk its parts, keep provenance and add context; the cuts come from ``split``."""

from florilege.chunkers.defaults import default
from florilege.chunkers.items import (
    ChunkerOperation,
    ChunkerResponse,
    ItemChunk,
    checked_response,
    default_chunker,
)
from florilege.chunkers.lifting import FunctionChunker, Splitter, SplitterChunker, from_function, from_splitter
from florilege.chunkers.meaning import SegmentContext, SegmentInput, SemanticChunker, semantic
from florilege.chunkers.paged import PageCut, PageFloor, PagesChunker, PdfLineChunker, pages
from florilege.chunkers.parents import ParentChildChunker, parent_child
from florilege.chunkers.plain import TextChunker, text
from florilege.chunkers.segments import Boundary, Segment
from florilege.chunkers.structure import StructuredChunker, structured

__all__ = [
    "Boundary",
    "ChunkerOperation",
    "ChunkerResponse",
    "FunctionChunker",
    "ItemChunk",
    "PageCut",
    "PageFloor",
    "PagesChunker",
    "ParentChildChunker",
    "PdfLineChunker",
    "Segment",
    "SegmentContext",
    "SegmentInput",
    "SemanticChunker",
    "Splitter",
    "SplitterChunker",
    "StructuredChunker",
    "TextChunker",
    "checked_response",
    "default",
    "default_chunker",
    "from_function",
    "from_splitter",
    "pages",
    "parent_child",
    "semantic",
    "structured",
    "text",
]
