"""Traces: what a retrieval did, told, stored and run again."""

from florilege.retrieval.trace.records import (
    ExplainedStep,
    Explanation,
    HitRef,
    ModelCall,
    Run,
    Search,
    SourceStatus,
    Trace,
    TraceStep,
    read_trace,
    refs,
)

__all__ = [
    "ExplainedStep",
    "Explanation",
    "HitRef",
    "ModelCall",
    "Run",
    "Search",
    "SourceStatus",
    "Trace",
    "TraceStep",
    "read_trace",
    "refs",
]
