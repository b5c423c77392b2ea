"""Markdown, cut by its structure."""

from florilege.split.markdown.chunker import MarkdownChunk, MarkdownChunker

__all__ = ["MarkdownChunk", "MarkdownChunker"]
