"""Pure splitters: text in, spans out."""

from florilege.split.characters import Piece, TextSplitter
from florilege.split.code import CodeChunker
from florilege.split.fixed import TokenChunker
from florilege.split.markdown import MarkdownChunk, MarkdownChunker
from florilege.split.recursive import RecursiveChunk, RecursiveChunker, RecursiveLevel, RecursiveRules
from florilege.split.sentence import Sentence, SentenceChunk, SentenceChunker
from florilege.split.splitter import Splitter, TokenChunk

__all__ = [
    "CodeChunker",
    "MarkdownChunk",
    "MarkdownChunker",
    "Piece",
    "RecursiveChunk",
    "RecursiveChunker",
    "RecursiveLevel",
    "RecursiveRules",
    "Sentence",
    "SentenceChunk",
    "SentenceChunker",
    "Splitter",
    "TextSplitter",
    "TokenChunk",
    "TokenChunker",
]
