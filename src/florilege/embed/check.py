"""Vectors as they are let in: counted, finite, not zero, of length one."""

from __future__ import annotations

from collections.abc import Sequence
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


def _bad(message: str) -> EmbeddingError:
    return EmbeddingError(message, code="bad_vectors", stage="embedding")
