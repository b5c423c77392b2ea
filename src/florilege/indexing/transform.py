"""Versioned transforms: functions with an identity.

``@document_transform(version="2")`` on ``def normalize(document): ...`` or
``transform.document(name="normalize", version="2", run=fn, options={...})``. The version and the options enter the
indexing fingerprint, so raising a version re-indexes what the transform touches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from florilege.model.chunk import Chunk
from florilege.model.document import Document
from florilege.model.errors import ConfigError, FlorilegeError, TransformError
from florilege.model.hashing import fingerprint

DocumentFunction = Callable[[Document], Document]
DocumentStream = Callable[[Iterable[Document]], Iterator[Document]]
ChunkFunction = Callable[[Sequence[Chunk]], Sequence[Chunk]]
ChunkStream = Callable[[Iterable[Sequence[Chunk]]], Iterator[Sequence[Chunk]]]
Reads = Literal["content", "metadata"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transform:
    """A named, versioned step of a pipeline.

    ``streaming``: ``run`` takes an iterator over many inputs and yields one output for each, in order, so that it can
    work in batches. ``reads=("content",)`` says that a document transform does not look at metadata, so its cached
    result outlives a metadata change.
    """

    kind: Literal["document", "chunk"]
    name: str
    version: str
    run: Callable[[Any], Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    streaming: bool = False
    reads: tuple[Reads, ...] = ("content", "metadata")

    def __post_init__(self) -> None:
        for option in ("name", "version"):
            value = getattr(self, option)
            if not isinstance(value, str) or not value.strip():
                raise ConfigError(f"{self.kind} transform: {option} must be a non-empty string, not {value!r}")
        if not callable(self.run):
            raise ConfigError(f"{self.kind} transform {self.name!r}: run must be callable, not {self.run!r}")
        if not set(self.reads) <= {"content", "metadata"} or "content" not in self.reads:
            raise ConfigError(f"{self.kind} transform {self.name!r}: reads must hold 'content' and at most 'metadata'")
        self.fingerprint()

    def fingerprint(self) -> str:
        """A hash over kind, name, version and options. ConfigError when an option is not a JSON value."""
        return fingerprint(f"{self.kind}:{self.name}", self.version, self.options)

    def apply(self, inputs: Sequence[Any], source_ids: Sequence[str]) -> list[Any]:
        """One output, or the error that took its place, for each input.

        When a stream fails, what it has not answered is given to it one by one, so only the input at fault fails.
        """
        if not self.streaming:
            return [self._alone(value, source_id) for value, source_id in zip(inputs, source_ids, strict=True)]
        outputs: list[Any] = []
        try:
            stream = iter(self.run(iter(inputs)))
            outputs.extend(next(stream) for _ in inputs)
        except Exception as error:  # noqa: BLE001 it is told once, of the input that fails alone
            if len(inputs) == 1:
                return [self._failure(error, source_ids[0])]
        for value, source_id in list(zip(inputs, source_ids, strict=True))[len(outputs) :]:
            outputs.extend(self.apply([value], [source_id]))
        return outputs

    def _alone(self, value: Any, source_id: str) -> Any:
        try:
            return self.run(value)
        except Exception as error:  # noqa: BLE001 a transform is user code; its source fails, the others go on
            return self._failure(error, source_id)

    def _failure(self, error: Exception, source_id: str) -> FlorilegeError:
        if isinstance(error, FlorilegeError):
            return error
        what = "gave no output" if isinstance(error, (StopIteration, RuntimeError)) and self.streaming else "failed"
        return TransformError(
            f"{self.kind} transform {self.name!r} {what} on {source_id!r}: {type(error).__name__}: {error}",
            source_id=source_id,
            stage=self.name,
        )


def document(
    *,
    name: str,
    version: str,
    run: DocumentFunction | DocumentStream,
    options: Mapping[str, Any] | None = None,
    streaming: bool = False,
    reads: tuple[Reads, ...] = ("content", "metadata"),
) -> Transform:
    """A document transform: ``Document -> Document``. It may not change namespace or source id."""
    return Transform(
        kind="document",
        name=name,
        version=version,
        run=run,
        options=dict(options or {}),
        streaming=streaming,
        reads=reads,
    )


def chunk(
    *,
    name: str,
    version: str,
    run: ChunkFunction | ChunkStream,
    options: Mapping[str, Any] | None = None,
    streaming: bool = False,
) -> Transform:
    """A chunk transform: all chunks of one source -> chunks. It may add, drop and reorder; ordinals are dealt anew."""
    return Transform(
        kind="chunk", name=name, version=version, run=run, options=dict(options or {}), streaming=streaming
    )


def document_transform(
    *,
    version: str,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
    streaming: bool = False,
    reads: tuple[Reads, ...] = ("content", "metadata"),
) -> Callable[[DocumentFunction | DocumentStream], Transform]:
    """Decorate a function as a document transform named after it."""

    def wrap(run: DocumentFunction | DocumentStream) -> Transform:
        return document(
            name=name or run.__name__, version=version, run=run, options=options, streaming=streaming, reads=reads
        )

    return wrap


def chunk_transform(
    *,
    version: str,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
    streaming: bool = False,
) -> Callable[[ChunkFunction | ChunkStream], Transform]:
    """Decorate a function as a chunk transform named after it."""

    def wrap(run: ChunkFunction | ChunkStream) -> Transform:
        return chunk(name=name or run.__name__, version=version, run=run, options=options, streaming=streaming)

    return wrap
