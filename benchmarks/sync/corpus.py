"""The same texts and the same free embedder for everybody. Standard library only: the peers import it too."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

DIMENSIONS = 64


def write_files(folder: Path, sources: int, paragraphs: int = 12) -> None:
    """Markdown files of ``paragraphs`` paragraphs under four headings each, about 4,000 characters."""
    draw = random.Random(11)
    words = [f"w{rank}" for rank in range(20_000)]
    weights = [1 / (rank + 3) for rank in range(20_000)]
    for number in range(sources):
        pieces = [f"# Document {number}"]
        for index in range(paragraphs):
            if index % 3 == 0:
                pieces.append(f"## Section {index // 3}")
            pieces.append(" ".join(draw.choices(words, weights, k=60)).capitalize() + ".")
        place = folder / f"part{number // 500:03}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"doc{number:05}.md").write_text("\n\n".join(pieces) + "\n", encoding="utf-8")


def vector(text: str) -> list[float]:
    """A unit-ish vector drawn from the text's hash: free, and the same everywhere."""
    data = hashlib.blake2b(text.encode(), digest_size=DIMENSIONS).digest()
    return [byte / 127.5 - 1.0 for byte in data]
