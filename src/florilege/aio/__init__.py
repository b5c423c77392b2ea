"""Awaitable twins of the public verbs, for programs that live on an event loop.

    async with florilege.aio.open("docs.florilege") as corpus:
        await corpus.sync(florilege.load("docs"), source_set="complete")
        hits = await corpus.retrieve("how do refunds work", limit=5)

Signatures are those of the synchronous classes; each call is one hop into a thread. Asynchronous iterables are pulled
on the caller's loop. What a twin speaks for is its ``inner``.
"""

from florilege.aio.indexing import Corpus, Indexer, open
from florilege.aio.retrieval import FunctionRetriever, Grounding, Recipe, Retriever, Session, Tool, grounding

__all__ = [
    "Corpus",
    "FunctionRetriever",
    "Grounding",
    "Indexer",
    "Recipe",
    "Retriever",
    "Session",
    "Tool",
    "grounding",
    "open",
]
