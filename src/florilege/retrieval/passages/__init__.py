"""Hits as text: shown, placed in their sources, compared."""

from florilege.retrieval.passages.rendering import block, header, inert, render, trust_of

__all__ = ["block", "header", "inert", "render", "trust_of"]
