"""Questions to hits and answers: retrievers, fusion, recipes, traces, grounding.

Names are imported when they are first used: who only searches does not pay for models and recipes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from florilege.models import judge_reranker
    from florilege.retrieval import rerankers
    from florilege.retrieval.evidence import Citation, CitationReport, GroundedAnswer, Grounding, Policy, grounding
    from florilege.retrieval.forms import Forms
    from florilege.retrieval.functions import FunctionRetriever
    from florilege.retrieval.legs import Fusion, rrf, weighted
    from florilege.retrieval.passages import render
    from florilege.retrieval.recipe import Recipe
    from florilege.retrieval.retriever import Retriever
    from florilege.retrieval.steps import (
        boost,
        compress_to_budget,
        dedupe,
        diversify,
        expand_parents,
        expand_window,
        fanout,
        filter_hits,
        rerank,
        retrieval_step,
        retrieve,
        rewrite_query,
        route,
    )
    from florilege.retrieval.tools import Tool
    from florilege.retrieval.trace import Run, Trace, read_trace

_HOMES = {
    "florilege.models": ("judge_reranker",),
    "florilege.retrieval.forms": ("Forms",),
    "florilege.retrieval.functions": ("FunctionRetriever",),
    "florilege.retrieval.legs": (
        "Fusion",
        "rrf",
        "weighted",
    ),
    "florilege.retrieval.evidence": (
        "Citation",
        "CitationReport",
        "GroundedAnswer",
        "Grounding",
        "Policy",
        "grounding",
    ),
    "florilege.retrieval.passages": ("render",),
    "florilege.retrieval.recipe": ("Recipe",),
    "florilege.retrieval.retriever": ("Retriever",),
    "florilege.retrieval.steps": (
        "boost",
        "compress_to_budget",
        "dedupe",
        "diversify",
        "expand_parents",
        "expand_window",
        "fanout",
        "filter_hits",
        "rerank",
        "retrieval_step",
        "retrieve",
        "rewrite_query",
        "route",
    ),
    "florilege.retrieval.tools": ("Tool",),
    "florilege.retrieval.trace": (
        "Run",
        "Trace",
        "read_trace",
    ),
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Citation",
    "CitationReport",
    "Forms",
    "FunctionRetriever",
    "Fusion",
    "GroundedAnswer",
    "Grounding",
    "Policy",
    "Recipe",
    "Retriever",
    "Run",
    "Tool",
    "Trace",
    "boost",
    "compress_to_budget",
    "dedupe",
    "diversify",
    "expand_parents",
    "expand_window",
    "fanout",
    "filter_hits",
    "grounding",
    "judge_reranker",
    "read_trace",
    "render",
    "rerank",
    "rerankers",
    "retrieval_step",
    "retrieve",
    "rewrite_query",
    "route",
    "rrf",
    "weighted",
]


def __getattr__(name: str) -> Any:
    if name == "rerankers":
        return import_module("florilege.retrieval.rerankers")
    if name not in _NAMES:
        raise AttributeError(f"module 'florilege.retrieval' has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(_NAMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
