"""Vectors as they are let in: counted and finite; dense ones not zero and of length one, sparse ones not negative."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from florilege.model.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def check_vectors(
    vectors: Sequence[Sequence[float]] | Any, count: int, dimensions: int, name: str = "the embedder"
) -> NDArray[np.float32]:
    """``vectors`` as a C-contiguous float32 array of shape ``(count, dimensions)``, each row scaled to length 1.

    ``name`` says in messages whose vectors they are. Raises :class:`EmbeddingError` (code ``bad_vectors``) for another
    count or dimension, ragged rows, a value that is not a finite number, or a row of zeros, naming the first such row.
    """
    import numpy as np

    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _bad(f"{name} gave something other than {count} equal rows of numbers") from error
    if rows.size == 0 and count == 0:
        return np.empty((0, dimensions), dtype=np.float32)
    if rows.ndim != 2 or rows.shape != (count, dimensions):
        raise _bad(f"{name} gave vectors of shape {rows.shape}; ({count}, {dimensions}) was expected")
    peaks = np.abs(rows).max(axis=1, keepdims=True)
    if (broken := ~np.isfinite(peaks[:, 0])).any():
        raise _bad(f"{name} gave a value that is not finite for text {int(broken.argmax()) + 1} of {count}")
    if (zero := peaks[:, 0] == 0).any():
        raise _bad(f"{name} gave a vector of zeros for text {int(zero.argmax()) + 1} of {count}")
    rows = rows / peaks  # squares of very large and very small values stay in range
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def check_sparse(
    vectors: Sequence[Mapping[int, float]] | Any, count: int, dimensions: int, name: str = "the embedder"
) -> list[dict[int, float]]:
    """``vectors`` as one mapping of id to weight a text; ids with a weight of 0 are left out.

    Raises :class:`EmbeddingError` (code ``bad_vectors``) for another count, an id outside ``dimensions``, or a weight
    that is negative or not finite, naming the first such text.
    """
    rows = list(vectors)
    if len(rows) != count:
        raise _bad(f"{name} gave {len(rows)} sparse vectors; {count} were expected")
    checked = []
    for number, row in enumerate(rows, 1):
        try:
            vector = {int(id): float(weight) for id, weight in row.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise _bad(f"{name} gave something other than a mapping of id to weight for text {number}") from error
        if not all(0 <= id < dimensions and 0 <= weight < math.inf for id, weight in vector.items()):
            raise _bad(f"{name} gave an id outside its space, or a weight below 0 or not finite, for text {number}")
        checked.append({id: weight for id, weight in vector.items() if weight})
    return checked


def _bad(message: str) -> EmbeddingError:
    return EmbeddingError(message, code="bad_vectors", stage="embedding")
