"""One peer's first and second run over a folder, in an environment of its own; prints JSON.

PYTHON benchmarks/sync/peer.py llamaindex|langchain|cocoindex FOLDER STORE
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from corpus import vector

os.environ["ANONYMIZED_TELEMETRY"] = "False"
os.environ["COCOINDEX_DISABLE_USAGE_TRACKING"] = "1"


def texts(folder: Path) -> dict[str, str]:
    """Every file by its relative path."""
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))}


def llamaindex(folder: Path, store: Path) -> Callable[[], int]:
    """IngestionPipeline with a docstore that is persisted, upserts, and Chroma on disk."""
    import chromadb
    from llama_index.core import Document
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.storage.docstore import SimpleDocumentStore
    from llama_index.vector_stores.chroma import ChromaVectorStore

    class Free(MockEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return vector(text)

    collection = chromadb.PersistentClient(str(store / "chroma")).get_or_create_collection("docs")

    def run() -> int:
        kept = store / "docstore.json"
        docstore = SimpleDocumentStore.from_persist_path(str(kept)) if kept.exists() else SimpleDocumentStore()
        pipeline = IngestionPipeline(
            transformations=[SentenceSplitter(chunk_size=300, chunk_overlap=30), Free(embed_dim=64)],
            docstore=docstore,
            docstore_strategy=DocstoreStrategy.UPSERTS,
            vector_store=ChromaVectorStore(chroma_collection=collection),
        )
        documents = [Document(text=text, id_=name) for name, text in texts(folder).items()]
        # Chroma refuses more than 5,461 nodes at once, and the pipeline hands on whatever it is given.
        made = [pipeline.run(documents=documents[start : start + 500]) for start in range(0, len(documents), 500)]
        docstore.persist(str(kept))
        return sum(map(len, made))

    return run


def langchain(folder: Path, store: Path) -> Callable[[], int]:
    """index() with an SQLite record manager, incremental clean-up, and Chroma on disk."""
    from langchain_chroma import Chroma
    from langchain_classic.indexes import SQLRecordManager, index
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    class Free(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return vector(text)

    records = SQLRecordManager("bench", db_url=f"sqlite:///{store}/records.db")
    records.create_schema()
    chroma = Chroma("docs", embedding_function=Free(), persist_directory=str(store / "chroma"))
    splitter = RecursiveCharacterTextSplitter(chunk_size=1200, chunk_overlap=150)

    def run() -> int:
        documents = [Document(page_content=text, metadata={"source": name}) for name, text in texts(folder).items()]
        chunks = splitter.split_documents(documents)
        index(chunks, records, chroma, cleanup="incremental", source_id_key="source", key_encoder="sha256")
        return len(chunks)

    return run


def cocoindex(folder: Path, store: Path) -> Callable[[], int]:
    """An app memoised by file, its state beside an SQLite table of rows. It walks and reads the folder itself."""
    import sqlite3
    from array import array
    from dataclasses import dataclass

    import cocoindex as coco
    from cocoindex.connectors import localfs, sqlite
    from cocoindex.ops.text import RecursiveSplitter
    from cocoindex.resources.file import PatternFilePathMatcher

    database = coco.ContextKey("database")
    splitter = RecursiveSplitter()

    @dataclass
    class Row:
        key: str
        source: str
        text: str
        embedding: bytes

    @coco.lifespan
    def _opened(builder: coco.EnvironmentBuilder) -> Iterator[None]:
        builder.settings.db_path = store / "state"
        builder.provide_with(database, sqlite.managed_connection(store / "rows.db"))
        yield

    @coco.fn(memo=True)
    async def indexed(file: localfs.File, table: sqlite.TableTarget) -> None:
        name = str(file.file_path.path)
        cut = splitter.split(await file.read_text(), chunk_size=1200, chunk_overlap=150, language="markdown")
        for number, chunk in enumerate(cut):
            embedding = array("f", vector(chunk.text)).tobytes()
            table.declare_row(row=Row(f"{name}#{number}", name, chunk.text, embedding))

    @coco.fn
    async def everything(folder: Path) -> None:
        columns = await sqlite.TableSchema.from_class(Row, primary_key=["key"])
        table = await sqlite.mount_table_target(database, "rows", columns)
        matcher = PatternFilePathMatcher(included_patterns=["**/*.md"])
        files = localfs.walk_dir(folder, recursive=True, path_matcher=matcher)
        await coco.mount_each(indexed, files.items(), table)

    app = coco.App(coco.AppConfig(name="bench"), everything, folder=folder)

    def run() -> int:
        app.update_blocking()
        with sqlite3.connect(store / "rows.db") as connection:
            return int(connection.execute("SELECT count(*) FROM rows").fetchone()[0])

    return run


def main() -> None:
    """Time two runs."""
    name, folder, store = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    store.mkdir(parents=True, exist_ok=True)
    peer = {"llamaindex": llamaindex, "langchain": langchain, "cocoindex": cocoindex}[name]
    run = peer(folder, store)
    laps = []
    chunks = 0
    for _ in range(2):
        started, cpu = time.perf_counter(), time.process_time()
        chunks = max(chunks, run())
        laps.append({"wall": time.perf_counter() - started, "cpu": time.process_time() - cpu})
    package = {"llamaindex": "llama-index-core", "langchain": "langchain-core"}.get(name, name)
    print(json.dumps({"version": version(package), "chunks": chunks, "laps": laps}))


if __name__ == "__main__":
    main()
