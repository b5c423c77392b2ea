"""The boundary checks of a pipeline: what goes in is storable, what comes out keeps the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from florilege.model.altering import altered
from florilege.model.chunk import Chunk, Chunking, ParentChunk
from florilege.model.document import Document, IngestWarning, Part, Span
from florilege.model.errors import ChunkingError, ConfigError, TransformError
from florilege.model.hashing import hexdigest, mint_ids, plain
from florilege.text.clean import clean_text, clean_value


def checked_document(
    document: Document, namespace: str, *, before: Document | None = None, stage: str | None = None
) -> Document:
    """``document`` in ``namespace``, cleaned, its parts' spans true.

    ``before`` is the document a transform was given: namespace and source id must not have changed, and when the
    content changed while the parts did not, unchanged parts are found again and the rest becomes derived text parts.
    """
    if before is not None and (document.namespace, document.source_id) != (before.namespace, before.source_id):
        raise TransformError(
            f"document transform {stage!r} changed the namespace or source id of {before.source_id!r}",
            source_id=before.source_id,
            stage=stage,
        )
    if document.namespace not in (None, namespace):
        raise ConfigError(
            f"document {document.source_id!r} names namespace {document.namespace!r}; this corpus is {namespace!r}"
        )
    if not storable_id(document.source_id):
        raise ConfigError(f"source id {document.source_id!r} is no text a store can keep", code="bad_source_id")
    _check_types(document)
    plain(document.metadata, path=f"metadata of {document.source_id!r}")
    document = _cleaned(document, namespace)
    if before is not None and document.parts == before.parts and document.content != before.content:
        return _respanned(document, stage or "transform")
    _check_spans(document, stage)
    return document


def storable_id(source_id: object) -> bool:
    """Whether this can name a source: text that is not empty, without NUL and lone surrogates."""
    return isinstance(source_id, str) and bool(source_id) and clean_text(source_id) == source_id


def _check_types(document: Document) -> None:
    """Refuse fields of the wrong type here, where the source is still known, and not where they are stored."""
    kinds: dict[str, tuple[type, ...]] = {
        "content": (str,),
        "metadata": (Mapping,),
        "parts": (tuple, list),
        **dict.fromkeys(("title", "media_type", "uri", "revision", "reader"), (str, type(None))),
    }
    for name, allowed in kinds.items():
        value = getattr(document, name)
        if not isinstance(value, allowed):
            wanted = {"metadata": "a mapping", "parts": "a tuple of parts"}.get(name, "a string")
            raise ConfigError(
                f"document {document.source_id!r}: {name} must be {wanted}, not a {type(value).__name__}",
                code="bad_value",
                source_id=document.source_id,
            )
    for part in document.parts:
        if not isinstance(part, Part):
            raise ConfigError(
                f"document {document.source_id!r}: parts must hold Part records, not a {type(part).__name__}",
                code="bad_value",
                source_id=document.source_id,
            )


def _cleaned(document: Document, namespace: str) -> Document:
    content = clean_text(document.content)
    title = document.title if document.title is None else clean_text(document.title)
    metadata = clean_value(document.metadata)
    warnings = document.warnings
    if content is not document.content or title != document.title or metadata is not document.metadata:
        warning = IngestWarning(code="replaced_characters", message="NUL or lone surrogates became U+FFFD")
        warnings = (*warnings, warning)
    parts = document.parts
    if content is not document.content:
        parts = tuple(altered(part, text=content[part.span.start : part.span.end]) for part in parts)
    return altered(
        document,
        namespace=namespace,
        content=content,
        title=title,
        metadata=metadata,
        parts=parts,
        warnings=warnings,
    )


def _check_spans(document: Document, stage: str | None) -> None:
    content = document.content
    for part in document.parts:
        if content[part.span.start : part.span.end] != part.text:
            raise TransformError(
                f"part {part.part_id!r} of {document.source_id!r}: its span does not slice back to its text"
                + (f" after transform {stage!r}" if stage else ""),
                source_id=document.source_id,
                stage=stage,
            )


def _respanned(document: Document, stage: str) -> Document:
    parts: list[Part] = []
    cursor = 0
    content = document.content
    for part in document.parts:
        at = content.find(part.text, cursor)
        if at < 0:
            continue
        parts.extend(_derived(content, cursor, at, len(parts)))
        moved = at - part.span.start
        parts.append(
            altered(
                part,
                span=part.span.shifted(moved),
                row_spans=tuple(span.shifted(moved) for span in part.row_spans),
                blocks=tuple(altered(block, span=block.span and block.span.shifted(moved)) for block in part.blocks),
            )
        )
        cursor = at + len(part.text)
    parts.extend(_derived(content, cursor, len(content), len(parts)))
    warning = IngestWarning(
        code="respanned", message=f"transform {stage!r} changed the content and not the parts; spans were found again"
    )
    return altered(document, parts=tuple(parts), warnings=(*document.warnings, warning))


def _derived(content: str, start: int, end: int, number: int) -> list[Part]:
    text = content[start:end]
    if not text.strip():
        return []
    lead = len(text) - len(text.lstrip())
    text = text.strip()
    start += lead
    return [
        Part(
            part_id=f"derived-{number}",
            kind="text",
            text=text,
            span=Span(start, start + len(text)),
            confidence="derived",
        )
    ]


def checked_chunks(
    document: Document, chunking: Chunking, *, stage: str, before: Sequence[Chunk] = ()
) -> tuple[tuple[Chunk, ...], tuple[ParentChunk, ...]]:
    """Chunks and parents that can be stored: ordinals dense, ids unique, parents known, nothing blank.

    ``before``: the chunks a chunk transform was given; an id kept on changed text is dropped, to be minted anew.
    Raises ChunkingError naming the stage and the source.
    """
    parents = _checked_parents(document, chunking.parents, stage)
    keys = {parent.parent_id: parent.key for parent in parents}
    texts = {item.chunk_id: item.full_text for item in before if item.chunk_id is not None}
    seen: set[str | None] = set()
    chunks = []
    for number, chunk in enumerate(chunking.chunks):
        if not isinstance(chunk, Chunk):
            raise _refusal(document, stage, f"item {number} is a {type(chunk).__name__}, not a Chunk")
        chunk = _checked_chunk(document, chunk, number, keys, stage)
        if chunk.chunk_id is not None:
            if texts.get(chunk.chunk_id, chunk.full_text) != chunk.full_text:
                chunk = altered(chunk, chunk_id=None)
            elif chunk.chunk_id in seen:
                raise _refusal(document, stage, f"chunk id {chunk.chunk_id!r} appears twice")
            else:
                seen.add(chunk.chunk_id)
        chunks.append(chunk)
    return tuple(chunks), parents


def _checked_parents(document: Document, parents: Sequence[ParentChunk], stage: str) -> tuple[ParentChunk, ...]:
    checked: dict[str, ParentChunk] = {}
    for number, parent in enumerate(parents):
        if parent.source_id != document.source_id or parent.namespace not in (None, document.namespace):
            raise _refusal(document, stage, f"parent {parent.parent_id!r} belongs to another source or namespace")
        if parent.parent_id in checked:
            raise _refusal(document, stage, f"parent id {parent.parent_id!r} appears twice")
        if not parent.content.strip():
            raise _refusal(document, stage, f"parent {parent.parent_id!r} is blank")
        key = "parent_" + hexdigest(document.namespace or "", document.source_id, parent.parent_id)
        checked[parent.parent_id] = altered(parent, namespace=document.namespace, ordinal=number, key=key)
    return tuple(checked.values())


def _checked_chunk(document: Document, chunk: Chunk, number: int, keys: Mapping[str, str | None], stage: str) -> Chunk:
    if chunk.source_id != document.source_id or chunk.namespace not in (None, document.namespace):
        raise _refusal(document, stage, f"chunk {number} belongs to another source or namespace")
    if not chunk.content.strip():
        raise _refusal(document, stage, f"chunk {number} is blank")
    parent = chunk.parent
    if parent is not None:
        if parent.parent_id not in keys:
            raise _refusal(document, stage, f"chunk {number} names unknown parent {parent.parent_id!r}")
        parent = altered(parent, key=keys[parent.parent_id])
    return altered(
        chunk,
        namespace=document.namespace,
        ordinal=number,
        parent=parent,
        content=clean_text(chunk.content),
        context=clean_text(chunk.context),
        metadata=clean_value(chunk.metadata),
    )


def minted(chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """``chunks`` with an id each: those without one get the hash of their content (see ``mint_ids``)."""
    wanting = [chunk for chunk in chunks if chunk.chunk_id is None]
    ids = iter(mint_ids(wanting[0].source_id, ((c.content, c.context) for c in wanting)) if wanting else ())
    return tuple(altered(chunk, chunk_id=next(ids)) if chunk.chunk_id is None else chunk for chunk in chunks)


def _refusal(document: Document, stage: str, why: str) -> ChunkingError:
    return ChunkingError(f"{stage!r} on {document.source_id!r}: {why}", source_id=document.source_id, stage=stage)
