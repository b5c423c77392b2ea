"""The steps of recipes."""

from florilege.retrieval.steps.base import PHASES, Call, Phase, Plan, Source, Step, Work
from florilege.retrieval.steps.compress import compress_to_budget
from florilege.retrieval.steps.custom import CustomStep, retrieval_step
from florilege.retrieval.steps.expand import expand_parents, expand_window
from florilege.retrieval.steps.queries import clean_list, fanout, rewrite_query
from florilege.retrieval.steps.rerank import rerank
from florilege.retrieval.steps.retrieve import Ranking, fused, retrieve
from florilege.retrieval.steps.route import route
from florilege.retrieval.steps.selection import boost, dedupe, diversify, filter_hits

__all__ = [
    "PHASES",
    "Call",
    "CustomStep",
    "Phase",
    "Plan",
    "Ranking",
    "Source",
    "Step",
    "Work",
    "boost",
    "clean_list",
    "compress_to_budget",
    "dedupe",
    "diversify",
    "expand_parents",
    "expand_window",
    "fanout",
    "filter_hits",
    "fused",
    "rerank",
    "retrieval_step",
    "retrieve",
    "rewrite_query",
    "route",
]
