"""Texts into vectors: the embedder that comes with the package, and how to bring another."""

from florilege.embed.adapters import cohere, fastembed, model2vec, openai, sentence_transformers
from florilege.embed.bm25 import bm25_weights
from florilege.embed.check import check_sparse, check_vectors
from florilege.embed.function import from_function
from florilege.embed.keys import vector_key
from florilege.embed.masked import MaskedSparseEmbedder
from florilege.embed.minilm import minilm
from florilege.embed.onnx import OnnxEmbedder

__all__ = [
    "MaskedSparseEmbedder",
    "OnnxEmbedder",
    "bm25_weights",
    "check_sparse",
    "check_vectors",
    "cohere",
    "fastembed",
    "from_function",
    "minilm",
    "model2vec",
    "openai",
    "sentence_transformers",
    "vector_key",
]
