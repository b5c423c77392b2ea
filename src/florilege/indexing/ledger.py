"""What the ledger knows of a source, held against what came in: the decision to index, revise or leave it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from florilege.codec import encode
from florilege.interfaces.stores import VectorLeg
from florilege.model.altering import altered
from florilege.model.document import Document, Failed
from florilege.model.errors import FlorilegeError
from florilege.model.hashing import canonical_json, hexdigest, plain
from florilege.model.ledger import SourceRecord

HELD_ALWAYS = "always"
"""The held hash of a source that syncs leave alone whatever its content."""

EMBEDDERS: dict[VectorLeg, str] = {"dense": "embedder", "sparse": "sparse_embedder"}
"""The parts of the indexing fingerprint that name the spaces of vectors, by leg."""

MAX_ERRORS = 10
"""How many past errors a ledger row keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashes:
    """The identity of a document, in the parts a change is told by. The title is content."""

    content: str
    metadata: str

    @property
    def source(self) -> str:
        """Content and metadata together."""
        return hexdigest(self.content, self.metadata)

    @classmethod
    def of(cls, document: Document, volatile: Collection[str] = ()) -> Hashes:
        """Hash ``document``, leaving out the metadata keys named ``volatile``."""
        metadata = {key: value for key, value in document.metadata.items() if key not in volatile}
        parts = encode(document.parts) if document.parts else b""
        title = "" if document.title is None else "t" + document.title
        return cls(
            content=hexdigest(document.content, title, parts),
            metadata=hexdigest(canonical_json(metadata), document.media_type or "", document.uri or ""),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do with a source, and why.

    ``keep_generation``: the text is the same; only metadata or an embedder changed. ``touched``: nothing to index,
    yet the ledger row has new facts.
    """

    action: Literal["added", "changed", "unchanged", "skipped", "failed"]
    reason: str | None = None
    keep_generation: bool = False
    touched: bool = False


def decide(
    row: SourceRecord | None,
    document: Document,
    hashes: Hashes,
    index_hash: Mapping[str, str],
    *,
    corpus_id: str,
    append_only: bool = False,
) -> Decision:
    """Hold ``document`` against its ledger ``row``."""
    if row is None or row.status == "deleted":
        return Decision(action="added", reason="new")
    if row.corpus_id not in (None, corpus_id):
        return Decision(action="failed", reason="conflict")
    if row.version is None:
        return Decision(action="added", reason="new")
    if row.held_hash is not None and row.held_hash in (hashes.content, HELD_ALWAYS):
        return Decision(action="skipped", reason="held")
    changes = _changes(row, hashes, index_hash)
    if not changes:
        facts = (row.status, row.revision, row.reader, row.corpus_id)
        touched = facts != ("indexed", document.revision, document.reader, corpus_id)
        return Decision(action="unchanged", touched=touched)
    if append_only:
        return Decision(action="skipped", reason="append_only")
    same_text = set(changes) <= {"metadata", *(f"index:{name}" for name in EMBEDDERS.values())}
    return Decision(action="changed", reason=", ".join(changes), keep_generation=same_text)


def _changes(row: SourceRecord, hashes: Hashes, index_hash: Mapping[str, str]) -> list[str]:
    changes = []
    if row.content_hash != hashes.content:
        changes.append("content")
    if row.metadata_hash != hashes.metadata:
        changes.append("metadata")
    changes.extend(f"index:{name}" for name in index_changes(row.index_hash, index_hash))
    return changes


def index_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The parts of the indexing fingerprint that differ. An indexer without an embedder leaves its vectors alone."""
    names = [name for name in new if old.get(name) != new[name]]
    names += [name for name in old if name not in new and name not in EMBEDDERS.values()]
    return [name for name in names if name != "order" or names == ["order"]]


def unread(row: SourceRecord | None, revision: str | None, reader: str, index_hash: Mapping[str, str]) -> bool:
    """Whether a source handle with this revision and reader can be skipped without reading it."""
    return (
        row is not None
        and row.status == "indexed"
        and row.held_hash is None
        and revision is not None
        and (row.revision, row.reader) == (revision, reader)
        and not index_changes(row.index_hash, index_hash)
    )


def carried_failure(row: SourceRecord | None, revision: str | None, reader: str) -> Mapping[str, Any] | None:
    """The error of a source whose same bytes failed before in a way that retrying cannot mend, else None."""
    if row is None or row.status != "failed" or row.error is None or row.error.get("retryable", True):
        return None
    return row.error if revision is not None and (row.revision, row.reader) == (revision, reader) else None


def failed_row(
    row: SourceRecord | None, failure: Failed, *, namespace: str, corpus_id: str, run_id: int | None
) -> SourceRecord:
    """The ledger row after a failure: what was indexed before stays indexed, the error is added."""
    now = datetime.now(UTC)
    error = {
        "code": failure.code,
        "message": failure.message,
        "retryable": failure.retryable,
        "at": plain(now)["$date"],
    }
    base = row or SourceRecord(namespace=namespace, source_id=failure.source_id, first_seen_at=now)
    return altered(
        base,
        status="failed",
        corpus_id=corpus_id,
        revision=failure.revision,
        reader=failure.reader,
        failed_at=now,
        deleted_at=None,
        run_id=run_id,
        error=error,
        errors=(*base.errors, error)[-MAX_ERRORS:],
    )


def indexed_row(
    row: SourceRecord | None,
    document: Document,
    hashes: Hashes,
    index_hash: Mapping[str, str],
    *,
    namespace: str,
    corpus_id: str | None,
    run_id: int | None,
) -> SourceRecord:
    """The ledger row as it shall stand once ``document`` is published (or was found to be published already)."""
    now = datetime.now(UTC)
    base = row or SourceRecord(namespace=namespace, source_id=document.source_id, first_seen_at=now)
    return altered(
        base,
        status="indexed",
        corpus_id=corpus_id or base.corpus_id,
        title=document.title,
        metadata=document.metadata,
        media_type=document.media_type,
        uri=document.uri,
        source_hash=hashes.source,
        content_hash=hashes.content,
        metadata_hash=hashes.metadata,
        held_hash=None,
        index_hash=dict(index_hash),
        revision=document.revision,
        reader=document.reader,
        last_seen_at=now,
        indexed_at=now,
        failed_at=None,
        deleted_at=None,
        run_id=run_id,
        error=None,
    )


def failure_of(error: FlorilegeError, document: Document) -> Failed:
    """An indexing error as the failure of its source."""
    return Failed(
        source_id=document.source_id,
        code=error.code,
        message=error.message,
        retryable=True,
        revision=document.revision if isinstance(document.revision, str) else None,
        reader=document.reader if isinstance(document.reader, str) else None,
    )
