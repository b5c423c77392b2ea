"""The chunker of a pipeline that names none."""

from __future__ import annotations

from florilege.chunkers.paged.executor import pages
from florilege.chunkers.paged.installed import installed
from florilege.chunkers.structure import structured
from florilege.interfaces.chunking import DocumentChunker


def default() -> DocumentChunker:
    """Structured chunking. Where page chunkers are installed they are asked first, and the pages they claim are theirs;
    fallbacks among them are not, since nothing is left for them."""
    asked = [chunker for chunker in installed() if not getattr(chunker, "fallback", False)]
    return pages(asked, rest=structured(), time_limit=None) if asked else structured()
