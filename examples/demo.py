"""Index the example handbook, ask it three questions, filter, and sync again.

Run it with ``make demo``, or with any Python that has Florilege installed. The store goes into a temporary folder. It
uses the public interface only.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path

import florilege
from florilege import F
from florilege.retrieval.excerpt import excerpt

HANDBOOK = Path(__file__).resolve().parent / "handbook"
QUESTIONS = (
    "How many days does a customer have to return a harp for a refund?",
    "What do I do when the extraction gauge in the finishing room shows red?",
    "What is the price of a Heron 47 in maple?",
)
EXCERPT_CHARS = 260


@florilege.document_transform(version="1")
def department(document: florilege.Document) -> florilege.Document:
    """The top folder of a page becomes metadata that can be filtered by."""
    folder = document.source_id.split("/")[0]
    return dataclasses.replace(document, metadata={**document.metadata, "department": folder})


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pipeline = florilege.Pipeline(documents=[department])
        with florilege.open(f"{folder}/handbook.florilege", pipeline=pipeline, fields={"department": str}) as corpus:
            heading(f"sync {HANDBOOK.name}/ into an empty store")
            print("reading, cutting and embedding, some seconds ...", flush=True)
            report(sync(corpus))

            for question in QUESTIONS:
                heading(question)
                for hit in corpus.retrieve(question, limit=3):
                    show(hit, question)

            question = "How long is the notice period?"
            heading(f"{question}  (only department = people)")
            for hit in corpus.retrieve(question, limit=2, filter=F("department") == "people"):
                show(hit, question)

            heading(f"sync {HANDBOOK.name}/ again")
            report(sync(corpus))


def sync(corpus: florilege.Corpus) -> florilege.SyncResult:
    return corpus.sync(florilege.load(HANDBOOK, root=HANDBOOK), source_set="complete")


def report(result: florilege.SyncResult) -> None:
    """What a sync did, in two lines and one for each source that failed."""
    sources = len(result.sources)
    if result.unchanged == sources:
        print(f"{sources} sources: all unchanged, {result.embedded} embedded, in {result.duration_seconds:.2f} s")
        return
    print(f"{sources} sources: {result.added} added, {result.changed} changed, {result.failed} failed")
    print(f"{result.chunk_count} chunks, {result.embedded} embedded, in {result.duration_seconds:.1f} s")
    for source in result.sources:
        if source.error:
            print(f"  {source.source_id}: {source.error['code']}: {source.error['message']}")


def heading(text: str) -> None:
    print(f"\n{strong(text) if sys.stdout.isatty() else f'== {text}'}")


def show(hit: florilege.Hit, question: str) -> None:
    print(f"  {hit.score:.4f}  {hit.source_id}  {place(hit)}")
    print(f"          {marked(hit.content, question)}")


def place(hit: florilege.Hit) -> str:
    """Where in its source a hit stands: page, cells, path, headings, whichever the format has."""
    at = hit.provenance
    facts = []
    if at.pages:
        facts.append(f"page {', '.join(map(str, at.pages))}")
    if at.sheets:
        facts.append(f"sheet {', '.join(at.sheets)}")
    if at.cell_ranges:
        facts.append(f"cells {', '.join(at.cell_ranges)}")
    if at.json_paths:
        facts.append(f"at {at.json_paths[0]}")
    if at.headings:
        facts.append(" › ".join(at.headings))
    return "[" + "; ".join(facts) + "]" if facts else ""


def marked(content: str, question: str) -> str:
    """The stretch of ``content`` that has most of the question's words, those words marked, on one line."""
    found = excerpt(content, question, max_chars=EXCERPT_CHARS)
    pieces, at = [], 0
    for start, end in found.marks:
        pieces += [found.text[at:start], strong(found.text[start:end])]
        at = end
    text = " ".join("".join([*pieces, found.text[at:]]).split())
    return f"{'… ' if found.start else ''}{text}{' …' if found.end < len(content) else ''}"


def strong(text: str) -> str:
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else f"«{text}»"


if __name__ == "__main__":
    main()
