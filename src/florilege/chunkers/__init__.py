"""How is a document cut? Chunkers walk its parts, keep provenance and add context; the cuts come from ``split``."""

from florilege.chunkers.plain import TextChunker, text
from florilege.chunkers.structure import StructuredChunker, structured

__all__ = ["StructuredChunker", "TextChunker", "structured", "text"]
