"""A corpus in a fresh store, with an embedder that counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import florilege
from florilege.corpus import Corpus
from florilege.testing import CountingEmbedder


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder(dimensions=16)


@pytest.fixture
def opened(tmp_path: Path, embedder: CountingEmbedder) -> Iterator[Callable[..., Corpus]]:
    """Open corpora over one store; all are closed at the end."""
    corpora: list[Corpus] = []

    def open_(**options: Any) -> Corpus:
        corpus = florilege.open(tmp_path / "store", **{"dense": embedder, **options})
        corpora.append(corpus)
        return corpus

    yield open_
    for corpus in corpora:
        corpus.close()


@pytest.fixture
def corpus(opened: Callable[..., Corpus]) -> Corpus:
    return opened()
