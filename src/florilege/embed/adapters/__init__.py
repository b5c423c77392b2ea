"""Embedders over other people's services and libraries; each needs the extra of its name."""

from florilege.embed.adapters.client import Answer, ClientEmbedder
from florilege.embed.adapters.cohere_api import cohere
from florilege.embed.adapters.local import fastembed, model2vec, sentence_transformers
from florilege.embed.adapters.openai_api import openai

__all__ = ["Answer", "ClientEmbedder", "cohere", "fastembed", "model2vec", "openai", "sentence_transformers"]
