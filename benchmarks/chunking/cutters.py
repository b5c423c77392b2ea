"""What is measured: this package's splitters and those of others, all as ``cut(text) -> [(start, end, piece)]``.

Imported in a child process: the names of one library need that library only.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

TOKENS = 512
CHARS, OVERLAP = 1200, 150
Cut = Callable[[str], list[tuple[int, int, str]]]


def _florilege(task: str) -> Cut:
    from florilege.split import MarkdownChunker, RecursiveChunker, SentenceChunker, TextSplitter, TokenChunker

    splitter: Any = {
        "sentence": lambda: SentenceChunker(chunk_size=TOKENS),
        "recursive": lambda: RecursiveChunker(chunk_size=TOKENS),
        "windows": lambda: TokenChunker(chunk_size=TOKENS),
        "markdown": lambda: MarkdownChunker(chunk_size=TOKENS, tables="keep"),
        "markdown-chars": lambda: MarkdownChunker(chunk_size=CHARS, tokenizer="character", tables="keep"),
        "text": lambda: TextSplitter(CHARS, OVERLAP),
    }[task]()
    return lambda text: [(piece.start_index, piece.end_index, piece.text) for piece in splitter.split(text)]


def _chonkie(task: str) -> Cut:
    import tiktoken
    from chonkie import RecursiveChunker, SentenceChunker, TokenChunker

    encoding = tiktoken.get_encoding("cl100k_base")
    chunker = {
        "sentence": lambda: SentenceChunker(encoding, chunk_size=TOKENS),
        "recursive": lambda: RecursiveChunker(encoding, chunk_size=TOKENS),
        "windows": lambda: TokenChunker(encoding, chunk_size=TOKENS),
        "markdown": lambda: RecursiveChunker(encoding, chunk_size=TOKENS, rules=_chonkie_markdown()),
        "markdown-chars": lambda: RecursiveChunker("character", chunk_size=CHARS, rules=_chonkie_markdown()),
        "text": lambda: RecursiveChunker("character", chunk_size=CHARS),
    }[task]()
    return lambda text: [(piece.start_index, piece.end_index, piece.text) for piece in chunker(text)]


def _chonkie_markdown() -> Any:
    from chonkie import RecursiveLevel, RecursiveRules

    headings = [f"\n{'#' * depth} " for depth in range(1, 7)]
    return RecursiveRules(
        levels=[
            RecursiveLevel(delimiters=headings, include_delim="next"),
            RecursiveLevel(delimiters=["\n\n", "\r\n"]),
            RecursiveLevel(delimiters=[". ", "! ", "? ", "\n"]),
            RecursiveLevel(whitespace=True),
            RecursiveLevel(),
        ]
    )


def _langchain(task: str) -> Cut:
    import tiktoken
    from langchain_text_splitters import MarkdownTextSplitter, RecursiveCharacterTextSplitter

    encoding = tiktoken.get_encoding("cl100k_base")
    kind = MarkdownTextSplitter if task.startswith("markdown") else RecursiveCharacterTextSplitter
    if task in ("text", "markdown-chars"):
        overlap = OVERLAP if task == "text" else 0
        splitter = kind(chunk_size=CHARS, chunk_overlap=overlap, add_start_index=True)
    else:
        splitter = kind(
            chunk_size=TOKENS,
            chunk_overlap=0,
            add_start_index=True,
            length_function=lambda text: len(encoding.encode_ordinary(text)),
        )

    def cut(text: str) -> list[tuple[int, int, str]]:
        made = splitter.create_documents([text])
        return [
            (d.metadata["start_index"], d.metadata["start_index"] + len(d.page_content), d.page_content) for d in made
        ]

    return cut


def _semchunk(task: str) -> Cut:
    import semchunk
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    if task == "text":
        chunker = semchunk.chunkerify(len, CHARS)
        more = {"overlap": OVERLAP}
    else:
        chunker = semchunk.chunkerify(lambda text: len(encoding.encode_ordinary(text)), TOKENS)
        more = {}

    def cut(text: str) -> list[tuple[int, int, str]]:
        pieces, offsets = chunker(text, offsets=True, **more)
        return [(start, end, piece) for (start, end), piece in zip(offsets, pieces, strict=True)]

    return cut


def _semantic_text_splitter(task: str) -> Cut:
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    kind = MarkdownSplitter if task.startswith("markdown") else TextSplitter
    if task in ("text", "markdown-chars"):
        splitter = kind(CHARS, overlap=OVERLAP if task == "text" else 0)
    else:
        splitter = kind.from_tiktoken_model("gpt-3.5-turbo", TOKENS)
    return lambda text: [(start, start + len(piece), piece) for start, piece in splitter.chunk_indices(text)]


def _llama_index(task: str) -> Cut:
    import tiktoken
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.schema import TextNode

    encoding = tiktoken.get_encoding("cl100k_base")
    splitter = SentenceSplitter(chunk_size=TOKENS, chunk_overlap=0, tokenizer=encoding.encode_ordinary)

    def cut(text: str) -> list[tuple[int, int, str]]:
        nodes = splitter.get_nodes_from_documents([TextNode(text=text)])
        return [(node.start_char_idx or 0, node.end_char_idx or 0, node.get_content()) for node in nodes]

    return cut


LIBRARIES: dict[str, tuple[str, Callable[[str], Cut], tuple[str, ...]]] = {
    "florilege": (
        "florilege",
        _florilege,
        ("text", "sentence", "recursive", "windows", "markdown", "markdown-chars"),
    ),
    "chonkie": ("chonkie", _chonkie, ("text", "sentence", "recursive", "windows", "markdown", "markdown-chars")),
    "langchain": ("langchain-text-splitters", _langchain, ("text", "recursive", "markdown", "markdown-chars")),
    "semchunk": ("semchunk", _semchunk, ("text", "sentence", "recursive")),
    "semantic-text-splitter": (
        "semantic-text-splitter",
        _semantic_text_splitter,
        ("text", "sentence", "recursive", "markdown", "markdown-chars"),
    ),
    "llama-index": ("llama-index-core", _llama_index, ("sentence",)),
}
"""By short name: the distribution, what makes a cutter of a task, and the tasks there are."""

READS_MARKDOWN = frozenset({"semantic-text-splitter"})
"""Peers that parse Markdown; the others cut before headings by delimiters, inside code fences too."""


def cutter(library: str, task: str) -> Cut:
    """The cutter of ``library`` for ``task``."""
    return LIBRARIES[library][1](task)


def measure(library: str, task: str) -> Callable[[str], int]:
    """What ``task`` limits: characters, or tokens counted with what the library's environment has."""
    if task in ("text", "markdown-chars"):
        return len
    if library == "florilege":
        from florilege.text.tokens import tokenizer

        return tokenizer("cl100k_base").count
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    return lambda text: len(encoding.encode_ordinary(text))


def limit(task: str) -> int:
    """The size that ``task`` asks for."""
    return CHARS if task in ("text", "markdown-chars") else TOKENS


def versions(library: str) -> str:
    """Name and version of the distribution."""
    return f"{LIBRARIES[library][0]} {version(LIBRARIES[library][0])}"
