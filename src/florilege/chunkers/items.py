"""Items of a context: how one becomes chunks, and how an operation's answer is checked."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from florilege.model.document import IngestWarning
from florilege.model.errors import ChunkingError, ConfigError
from florilege.model.hashing import plain

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChunk:
    """A chunk of an item: ``index`` counts from 0 without a gap, ``metadata`` holds JSON values."""

    content: str
    index: int
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkerResponse:
    """What an operation answers: the item it was given, and its chunks."""

    item: Item
    chunks: tuple[ItemChunk, ...] = ()
    warnings: tuple[IngestWarning, ...] = ()


class ItemStorage(Protocol):
    """Reads the files that items point to."""

    def read(self, key: str) -> bytes:
        """The bytes under ``key``."""
        ...


class ChunkerUtils(Protocol):
    """What an operation may use besides the item."""

    storage: ItemStorage


class ChunkerOperation(Protocol):
    """Cuts one item, sync or async. ``max_chunk_size`` is the embedder's budget in tokens."""

    def __call__(
        self, item: Item, max_chunk_size: int, utils: ChunkerUtils
    ) -> ChunkerResponse | Mapping[str, Any] | Awaitable[ChunkerResponse | Mapping[str, Any]]:
        """The chunks of ``item``."""
        ...


def default_chunker(item: Item, max_chunk_size: int, utils: Any = None) -> ChunkerResponse:
    """Name, blank line, content (description when there is none), cut at sentences to ``max_chunk_size`` tokens.

    An item without any of these has no chunks.
    """
    from florilege.split import SentenceChunker

    body = item.get("content") or item.get("description")
    text = "\n\n".join(str(value) for value in (item.get("name"), body) if value is not None and str(value).strip())
    if not text.strip():
        return ChunkerResponse(item=item)
    pieces = SentenceChunker(chunk_size=max_chunk_size).chunk(text)
    contents = [piece.text.strip() for piece in pieces if piece.text.strip()]
    return ChunkerResponse(
        item=item, chunks=tuple(ItemChunk(content=content, index=index) for index, content in enumerate(contents))
    )


def checked_response(response: Any, item: Item) -> ChunkerResponse:
    """An operation's answer for ``item``, as records. NUL characters are taken out, at any depth, with a warning.

    Raises :class:`ChunkingError` for another item's id, an index out of step, blank content, or metadata that is no
    JSON.
    """
    source_id = str(item.get("id"))
    given = _fields(response, ("item", "chunks"), "the chunker operation", source_id)
    answered = given["item"]
    if not isinstance(answered, Mapping) or answered.get("id") != item.get("id"):
        raise _refusal(source_id, "answered for another item")
    chunks = []
    removed = 0
    for number, entry in enumerate(given["chunks"] or ()):
        values = _fields(entry, ("content", "index"), f"chunk {number}", source_id)
        if values["index"] != number or isinstance(values["index"], bool):
            raise _refusal(source_id, f"chunk {number} has index {values['index']!r}; they count from 0 without a gap")
        if not isinstance(values["content"], str):
            raise _refusal(
                source_id, f"the content of chunk {number} is a {type(values['content']).__name__}, not text"
            )
        content, metadata = _without_nul(values["content"]), _without_nul(values.get("metadata"))
        removed += (content, metadata) != (values["content"], values.get("metadata"))
        if not content.strip():
            raise _refusal(source_id, f"chunk {number} is blank")
        chunks.append(ItemChunk(content=content, index=number, metadata=_json(metadata, number, source_id)))
    warning = IngestWarning(code="nul_removed", message=f"NUL characters were taken out of {removed} chunks")
    return ChunkerResponse(item=item, chunks=tuple(chunks), warnings=(warning,) if removed else ())


def _fields(value: Any, needed: tuple[str, ...], what: str, source_id: str) -> Mapping[str, Any]:
    """A record or mapping as a mapping that has ``needed``."""
    names = (*needed, "metadata")
    found: Mapping[str, Any] = (
        value if isinstance(value, Mapping) else {name: getattr(value, name) for name in names if hasattr(value, name)}
    )
    for name in needed:
        if name not in found:
            raise _refusal(source_id, f"{what} has no {name!r}")
    return found


def _json(metadata: Any, number: int, source_id: str) -> Mapping[str, Any] | None:
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise _refusal(source_id, f"the metadata of chunk {number} is a {type(metadata).__name__}, not a mapping")
    try:
        plain(metadata, path=f"metadata of chunk {number}")
    except ConfigError as error:
        raise _refusal(source_id, error.message) from None
    return {str(key): value for key, value in metadata.items()}


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\x00", "")
    if isinstance(value, Mapping):
        return {_without_nul(key): _without_nul(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nul(item) for item in value]
    return value


def _refusal(source_id: str, why: str) -> ChunkingError:
    return ChunkingError(f"item {source_id!r}: {why}", source_id=source_id, stage="chunker")
