"""Questions to hits: retrievers, fusion, excerpts."""

from florilege.retrieval.excerpt import Excerpt, excerpt
from florilege.retrieval.fusion import Fusion, rrf, weighted
from florilege.retrieval.retriever import Retriever

__all__ = ["Excerpt", "Fusion", "Retriever", "excerpt", "rrf", "weighted"]
