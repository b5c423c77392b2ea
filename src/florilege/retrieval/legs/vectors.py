"""Query vectors: checked on the way in, written into traces bit for bit."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from florilege.model.errors import ConfigError


def given_vector(vector: Sequence[float], dimensions: int) -> Any:
    """A caller's vector as a (1, d) float32 array; ConfigError for another length or a value that is not finite."""
    import numpy as np

    array = np.ascontiguousarray(vector, dtype=np.float32).reshape(1, -1)
    if array.shape[1] != dimensions:
        raise ConfigError(f"query vector has {array.shape[1]} dimensions; this space has {dimensions}")
    if not np.isfinite(array).all():
        raise ConfigError("query vector holds a value that is not finite")
    return array


def encode_vector(vector: Any) -> str:
    """A (1, d) array as base64 of little-endian float32."""
    import numpy as np

    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode("ascii")


def decode_vector(text: str) -> Any:
    """The way back."""
    import numpy as np

    return np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float32).reshape(1, -1)
