"""The chunkers of the published evaluation, as spans: fixed token windows, recursive separators, clusters.

Written from their description: lengths in cl100k tokens; recursive keeps a separator at the front of what follows it,
merges neighbours while the sum of their lengths fits, and drops from the front until the overlap is small enough;
clusters are runs of 50-token pieces chosen by dynamic programming for likeness above the document's mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from florilege.text.tokens import tokenizer

Span = tuple[int, int]
SEPARATORS = ("\n\n", "\n", ".", "?", "!", " ", "")
COUNT = tokenizer("cl100k_base")


def token(text: str, size: int, overlap: int) -> list[Span]:
    """Windows of ``size`` tokens, each beginning ``size - overlap`` tokens after the one before."""
    ends = [end // 2 for end in COUNT.ends(text)]  # halves: a token may end inside a character
    starts = [0, *ends[:-1]]
    spans = []
    for first in range(0, len(ends), size - overlap):
        last = min(first + size, len(ends))
        spans.append((starts[first], ends[last - 1]))
        if last == len(ends):
            break
    return spans


def recursive(text: str, size: int, overlap: int) -> list[Span]:
    """Recursive separators, coarse first; spans without the white space around them."""
    found: list[Span] = []
    _recurse(text, 0, len(text), SEPARATORS, size, overlap, found)
    return [span for span in (_stripped(text, *piece) for piece in found) if span[0] < span[1]]


def _recurse(
    text: str, start: int, end: int, separators: Sequence[str], size: int, overlap: int, found: list[Span]
) -> None:
    at = next((n for n, mark in enumerate(separators) if not mark or text.find(mark, start, end) >= 0), len(separators))
    mark, finer = (separators[at], separators[at + 1 :]) if at < len(separators) else ("", ())
    good: list[tuple[int, int, int]] = []
    for low, high in _pieces(text, start, end, mark):
        count = COUNT.count(text[low:high])
        if count < size:
            good.append((low, high, count))
            continue
        found += _merged(good, size, overlap)
        good = []
        if finer:
            _recurse(text, low, high, finer, size, overlap, found)
        else:
            found.append((low, high))
    found += _merged(good, size, overlap)


def _pieces(text: str, start: int, end: int, mark: str) -> list[Span]:
    if not mark:
        return [(index, index + 1) for index in range(start, end)]
    cuts = [start]
    at = text.find(mark, start, end)
    while at >= 0:
        if at > cuts[-1]:
            cuts.append(at)
        at = text.find(mark, at + len(mark), end)
    return list(zip(cuts, [*cuts[1:], end], strict=True))


def _merged(pieces: list[tuple[int, int, int]], size: int, overlap: int) -> list[Span]:
    spans: list[Span] = []
    held: list[tuple[int, int, int]] = []
    total = 0
    for piece in pieces:
        if held and total + piece[2] > size:
            spans.append((held[0][0], held[-1][1]))
            while held and (total > overlap or total + piece[2] > size):
                total -= held.pop(0)[2]
        held.append(piece)
        total += piece[2]
    if held:
        spans.append((held[0][0], held[-1][1]))
    return spans


def cluster(text: str, size: int, embed: Callable[[Sequence[str]], Any]) -> list[Span]:
    """Pieces of at most 50 tokens in runs of at most ``size // 50``, chosen for the likeness inside runs."""
    pieces = recursive(text, 50, 0)
    vectors = embed([text[start:end] for start, end in pieces])
    alike = vectors @ vectors.T
    alike = alike - alike[np.triu_indices(len(pieces), k=1)].mean()
    np.fill_diagonal(alike, 0)
    best = np.zeros(len(pieces))
    first = np.zeros(len(pieces), dtype=int)
    for last in range(len(pieces)):
        for length in range(1, min(size // 50, last + 1) + 1):
            begin = last - length + 1
            reward = alike[begin : last + 1, begin : last + 1].sum() + (best[begin - 1] if begin else 0)
            if reward > best[last]:
                best[last], first[last] = reward, begin
    spans = []
    last = len(pieces) - 1
    while last >= 0:
        spans.append((pieces[first[last]][0], pieces[last][1]))
        last = first[last] - 1
    return spans[::-1]


def _stripped(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
