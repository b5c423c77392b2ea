"""Documents to published generations: transforms, pipelines, the indexer, the sync."""

from florilege.indexing.indexer import Indexer
from florilege.indexing.pipeline import Pipeline, Prepared
from florilege.indexing.transform import Transform, chunk_transform, document_transform

__all__ = ["Indexer", "Pipeline", "Prepared", "Transform", "chunk_transform", "document_transform"]
