"""Questions to hits: retrievers and fusion."""

from florilege.retrieval.fusion import Fusion, rrf, weighted
from florilege.retrieval.retriever import Retriever

__all__ = ["Fusion", "Retriever", "rrf", "weighted"]
