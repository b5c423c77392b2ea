"""Versioned transforms: functions with an identity.

``@document_transform(version="2")`` on ``def normalize(document): ...`` or
``transform.document(name="normalize", version="2", run=fn, options={...})``. The version and the options enter the
indexing fingerprint, so raising a version re-indexes what the transform touches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from florilege.model.chunk import Chunk
from florilege.model.document import Document
from florilege.model.errors import ConfigError
from florilege.model.hashing import fingerprint

DocumentFunction = Callable[[Document], Document]
ChunkFunction = Callable[[Sequence[Chunk]], Sequence[Chunk]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """A named, versioned step of a pipeline; call it like the function it wraps."""

    kind: Literal["document", "chunk"]
    name: str
    version: str
    run: Callable[[Any], Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for option in ("name", "version"):
            value = getattr(self, option)
            if not isinstance(value, str) or not value.strip():
                raise ConfigError(f"{self.kind} transform: {option} must be a non-empty string, not {value!r}")
        if not callable(self.run):
            raise ConfigError(f"{self.kind} transform {self.name!r}: run must be callable, not {self.run!r}")
        self.fingerprint()

    def fingerprint(self) -> str:
        """A hash over kind, name, version and options. ConfigError when an option is not a JSON value."""
        return fingerprint(f"{self.kind}:{self.name}", self.version, self.options)

    def __call__(self, value: Any) -> Any:
        return self.run(value)


def document(*, name: str, version: str, run: DocumentFunction, options: Mapping[str, Any] | None = None) -> Transform:
    """A document transform: ``Document -> Document``. It may not change namespace or source id."""
    return Transform(kind="document", name=name, version=version, run=run, options=dict(options or {}))


def chunk(*, name: str, version: str, run: ChunkFunction, options: Mapping[str, Any] | None = None) -> Transform:
    """A chunk transform: all chunks of one source -> chunks. It may add, drop and reorder; ordinals are dealt anew."""
    return Transform(kind="chunk", name=name, version=version, run=run, options=dict(options or {}))


def document_transform(
    *, version: str, name: str | None = None, options: Mapping[str, Any] | None = None
) -> Callable[[DocumentFunction], Transform]:
    """Decorate a function as a document transform named after it."""

    def wrap(run: DocumentFunction) -> Transform:
        return document(name=name or run.__name__, version=version, run=run, options=options)

    return wrap


def chunk_transform(
    *, version: str, name: str | None = None, options: Mapping[str, Any] | None = None
) -> Callable[[ChunkFunction], Transform]:
    """Decorate a function as a chunk transform named after it."""

    def wrap(run: ChunkFunction) -> Transform:
        return chunk(name=name or run.__name__, version=version, run=run, options=options)

    return wrap
