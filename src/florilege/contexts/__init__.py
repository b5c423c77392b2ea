"""Items with a declared schema, cut by an operation of your own: contexts over a corpus."""

from florilege.chunkers.items import ChunkerOperation, ChunkerResponse, ItemChunk, default_chunker
from florilege.contexts.context import Context
from florilege.contexts.fields import Field

__all__ = ["ChunkerOperation", "ChunkerResponse", "Context", "Field", "ItemChunk", "default_chunker"]
