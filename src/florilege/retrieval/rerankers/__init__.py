"""Rerankers: by a judge, a native endpoint, a cross-encoder on this machine, or by words alone."""

from florilege.models import cross_encoder, native, onnx
from florilege.models import judge_reranker as judge
from florilege.retrieval.rerankers.lexical import LexicalReranker, Weights, lexical

__all__ = ["LexicalReranker", "Weights", "cross_encoder", "judge", "lexical", "native", "onnx"]
