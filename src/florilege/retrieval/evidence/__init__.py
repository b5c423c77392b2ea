"""Grounding: evidence, citations, verified answers."""

from florilege.retrieval.evidence.asking import Grounding, grounding
from florilege.retrieval.evidence.policy import Policy
from florilege.retrieval.evidence.records import (
    Citation,
    CitationReport,
    CitationVerdict,
    GroundedAnswer,
    Location,
    Problem,
)
from florilege.retrieval.evidence.session import Session

__all__ = [
    "Citation",
    "CitationReport",
    "CitationVerdict",
    "GroundedAnswer",
    "Grounding",
    "Location",
    "Policy",
    "Problem",
    "Session",
    "grounding",
]
