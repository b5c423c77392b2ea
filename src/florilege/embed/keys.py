"""The name a vector is kept under."""

from __future__ import annotations

from florilege.interfaces.embedding import EmbeddingSpace, Task
from florilege.model.hashing import digest


def vector_key(namespace: str | None, space: EmbeddingSpace, task: Task, text: str) -> bytes:
    """16 bytes that identify the vector of exactly ``text``, prepared for ``task`` in ``space``.

    Equal texts of one namespace have one key and so one vector. ``namespace`` None is the cache all namespaces may
    share (whoever can measure its hits learns which texts others hold).
    """
    scope = ("shared", "") if namespace is None else ("namespace", namespace)
    return digest(*scope, space.identity, task, text)
