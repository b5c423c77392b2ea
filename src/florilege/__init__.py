"""Florilege: turn source material into a retrieval corpus, and questions into cited passages.

    corpus = florilege.open("docs.florilege")
    corpus.sync(florilege.load("docs/**/*"), source_set="complete", stale="delete")
    for hit in corpus.retrieve("how do refunds work", limit=5):
        print(hit.score, hit.source_id, hit.provenance.pages, hit.content)

Names are imported when they are first used, so that ``import florilege`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from florilege._version import __version__

if TYPE_CHECKING:
    from florilege import aio, chunkers, models, retrieval
    from florilege.contexts import Context
    from florilege.corpus import Corpus
    from florilege.indexing import transform
    from florilege.indexing.indexer import Indexer
    from florilege.indexing.pipeline import Pipeline
    from florilege.indexing.transform import chunk_transform, document_transform
    from florilege.ingest import load
    from florilege.model.chunk import Chunk, Chunking, ParentChunk, ParentRef, Provenance
    from florilege.model.document import Block, Document, Failed, IngestWarning, Loaded, Part, Span
    from florilege.model.errors import (
        ChunkingError,
        ConfigError,
        Conflict,
        Corrupt,
        EmbeddingError,
        FlorilegeError,
        GroundingError,
        IndexingError,
        LoadError,
        ModelError,
        NotFound,
        PluginError,
        ReadError,
        RecipeError,
        RetrievalError,
        SourceError,
        SourceFailed,
        StepError,
        StoreError,
        TransformError,
        Unavailable,
    )
    from florilege.model.events import Event
    from florilege.model.filters import F, Filter
    from florilege.model.hit import Hit, Query
    from florilege.model.ledger import IndexResult, SourceRecord, SourceResult, StageRecord, SyncResult, Usage
    from florilege.opening import open
    from florilege.retrieval import rerankers
    from florilege.retrieval.evidence import grounding
    from florilege.retrieval.recipe import Recipe
    from florilege.retrieval.retriever import Retriever

_HOMES = {
    "florilege.contexts": ("Context",),
    "florilege.corpus": ("Corpus",),
    "florilege.indexing.indexer": ("Indexer",),
    "florilege.indexing.pipeline": ("Pipeline",),
    "florilege.indexing.transform": ("chunk_transform", "document_transform"),
    "florilege.ingest": ("load",),
    "florilege.model.chunk": ("Chunk", "Chunking", "ParentChunk", "ParentRef", "Provenance"),
    "florilege.model.document": ("Block", "Document", "Failed", "IngestWarning", "Loaded", "Part", "Span"),
    "florilege.model.errors": (
        "ChunkingError",
        "ConfigError",
        "Conflict",
        "Corrupt",
        "EmbeddingError",
        "FlorilegeError",
        "GroundingError",
        "IndexingError",
        "LoadError",
        "ModelError",
        "NotFound",
        "PluginError",
        "ReadError",
        "RecipeError",
        "RetrievalError",
        "SourceError",
        "SourceFailed",
        "StepError",
        "StoreError",
        "TransformError",
        "Unavailable",
    ),
    "florilege.model.events": ("Event",),
    "florilege.model.filters": ("F", "Filter"),
    "florilege.model.hit": ("Hit", "Query"),
    "florilege.model.ledger": ("IndexResult", "SourceRecord", "SourceResult", "StageRecord", "SyncResult", "Usage"),
    "florilege.opening": ("open",),
    "florilege.retrieval.evidence": ("grounding",),
    "florilege.retrieval.recipe": ("Recipe",),
    "florilege.retrieval.retriever": ("Retriever",),
}
_MODULES = {
    "aio": "florilege.aio",
    "chunkers": "florilege.chunkers",
    "models": "florilege.models",
    "rerankers": "florilege.retrieval.rerankers",
    "retrieval": "florilege.retrieval",
    "transform": "florilege.indexing.transform",
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Block",
    "Chunk",
    "Chunking",
    "ChunkingError",
    "ConfigError",
    "Conflict",
    "Context",
    "Corpus",
    "Corrupt",
    "Document",
    "EmbeddingError",
    "Event",
    "F",
    "Failed",
    "Filter",
    "FlorilegeError",
    "GroundingError",
    "Hit",
    "IndexResult",
    "Indexer",
    "IndexingError",
    "IngestWarning",
    "LoadError",
    "Loaded",
    "ModelError",
    "NotFound",
    "ParentChunk",
    "ParentRef",
    "Part",
    "Pipeline",
    "PluginError",
    "Provenance",
    "Query",
    "ReadError",
    "Recipe",
    "RecipeError",
    "RetrievalError",
    "Retriever",
    "SourceError",
    "SourceFailed",
    "SourceRecord",
    "SourceResult",
    "Span",
    "StageRecord",
    "StepError",
    "StoreError",
    "SyncResult",
    "TransformError",
    "Unavailable",
    "Usage",
    "__version__",
    "aio",
    "chunk_transform",
    "chunkers",
    "document_transform",
    "grounding",
    "load",
    "models",
    "open",
    "rerankers",
    "retrieval",
    "transform",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = import_module(_MODULES[name])
    elif name in _NAMES:
        value = getattr(import_module(_NAMES[name]), name)
    else:
        raise AttributeError(f"module 'florilege' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
