"""Embedders and page chunkers that do what a test needs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from florilege.interfaces.chunking import ChunkPiece, PageChunks, PageOutput
from florilege.interfaces.embedding import Embeddings, EmbeddingSpace, Task
from florilege.model.ledger import Usage


class HashEmbedder:
    """A vector a text, the same everywhere; counts its calls."""

    space = EmbeddingSpace(name="hash", dimensions=8)
    max_input_tokens = None
    scripts = None

    def __init__(self, vector: Callable[[str], Sequence[float]] | None = None, max_batch: int = 1000) -> None:
        self.max_batch = max_batch
        self.calls: list[list[str]] = []
        self._vector = vector or (lambda text: [byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()[:8]])

    def embed_many(self, texts: Sequence[str], task: Task = "document") -> Embeddings:
        self.calls.append(list(texts))
        return Embeddings(np.array([self._vector(text) for text in texts], dtype=np.float32), Usage(texts=len(texts)))


class Answers:
    """A page chunker that answers with what it was given, or raises it."""

    def __init__(self, answer: Any, **attributes: Any) -> None:
        self.answer = answer
        self.asked = 0
        for name, value in attributes.items():
            setattr(self, name, value)

    def chunk(self, content: bytes, media_type: str, outputs: tuple[PageOutput, ...]) -> Any:
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def claim(page: int, *texts: str, **fields: Any) -> PageChunks:
    return PageChunks(page=page, pieces=tuple(ChunkPiece(text=text, **fields) for text in texts))
