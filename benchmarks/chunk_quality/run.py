"""How well chunkers serve retrieval: token recall, precision, precision-omega and IoU of the top five, dense.

    python benchmarks/chunk_quality/run.py                     # every chunker
    python benchmarks/chunk_quality/run.py --cache /tmp/v.npz  # keep the vectors between runs
    python benchmarks/chunk_quality/run.py --only sentence     # those whose name contains a word

Five corpora searched together, questions with exact excerpts, the default embedder. The published chunkers are written
anew beside ours and asked the same questions; differences are paired, with bootstrap intervals. Of ``parent_child`` the
children are searched and the five best parents read.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import published
from scores import Scores, Span, interval, score

import florilege
from florilege import chunkers
from florilege.embed import minilm
from florilege.ingest.readers.markdown import MarkdownReader
from florilege.interfaces.chunking import DocumentChunker
from florilege.model.document import Document
from florilege.split import RecursiveChunker, SentenceChunker, TokenChunker
from florilege.split.markdown import MarkdownChunker

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "eval" / "chunking_evaluation"
TOP = 5


class Question(NamedTuple):
    """A question, the document that answers it, and where."""

    text: str
    document: str
    wanted: tuple[Span, ...]


class Cut(NamedTuple):
    """What is searched: the document, the place that is read when it is found, and the text that is embedded."""

    document: str
    span: Span
    text: str


class Vectors:
    """Vectors by content; made in batches, kept in a file when asked to."""

    def __init__(self, file: Path | None) -> None:
        self.embedder = minilm()
        self.file = file
        self.known: dict[str, Any] = {}
        if file is not None and file.exists():
            stored = np.load(file)
            self.known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    def __call__(self, texts: Sequence[str]) -> Any:
        """Unit rows, one a text."""
        keys = [hashlib.blake2b(text.encode(), digest_size=16).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self.known}
        order = sorted(missing, key=lambda key: len(missing[key]))
        for at in range(0, len(order), 512):
            batch = order[at : at + 512]
            made = np.asarray(self.embedder.embed_many([missing[key] for key in batch]).vectors)
            self.known.update(zip(batch, made, strict=True))
            print(f"\r  {len(order) - at - len(batch):6d} texts to embed ", end="", file=sys.stderr, flush=True)
        if missing and self.file is not None:
            np.savez(self.file, keys=np.array(list(self.known)), vectors=np.stack(list(self.known.values())))
        return np.stack([self.known[key] for key in keys])


def questions() -> list[Question]:
    """The evaluation's questions."""
    with (DATA / "questions.csv").open(encoding="utf-8", newline="") as file:
        return [
            Question(
                row["question"],
                row["corpus_id"],
                tuple((ref["start_index"], ref["end_index"]) for ref in json.loads(row["references"])),
            )
            for row in csv.DictReader(file)
        ]


def documents() -> dict[str, Document]:
    """The corpora, read by the Markdown reader."""
    found = {}
    for path in sorted((DATA / "corpora").glob("*.md")):
        read = MarkdownReader().read(path.read_bytes(), "text/markdown")
        with path.open(encoding="utf-8", newline="") as file:
            assert read.content == file.read(), f"{path.name}: the reader changed the text"
        found[path.stem] = Document(source_id=path.stem, content=read.content, parts=read.parts, title=read.title)
    return found


def ours(chunker: DocumentChunker) -> Callable[[Document], list[Cut]]:
    """A chunker of this package, its context embedded with the content."""

    def cut(document: Document) -> list[Cut]:
        return [
            Cut(document.source_id, (spans[0].start, spans[-1].end), chunk.full_text)
            for chunk in chunker.chunk_document(document).chunks
            if (spans := chunk.provenance.source_spans)
        ]

    return cut


def family(chunker: DocumentChunker) -> Callable[[Document], list[Cut]]:
    """Children searched, their parents read."""

    def cut(document: Document) -> list[Cut]:
        chunks, parents = chunker.chunk_document(document)
        places = {parent.parent_id: parent.provenance.source_spans for parent in parents}
        found = []
        for chunk in chunks:
            assert chunk.parent is not None
            spans = places[chunk.parent.parent_id]
            found.append(Cut(document.source_id, (spans[0].start, spans[-1].end), chunk.full_text))
        return found

    return cut


def theirs(cut: Callable[[str], list[Span]]) -> Callable[[Document], list[Cut]]:
    """A published chunker: spans of the bare text."""

    def cuts(document: Document) -> list[Cut]:
        text = document.content
        return [Cut(document.source_id, (start, end), text[start:end]) for start, end in cut(text)]

    return cuts


def contenders(vectors: Vectors) -> dict[str, Callable[[Document], list[Cut]]]:
    """Every chunker compared, by name; the published ones begin with "published"."""
    lift = chunkers.from_splitter
    found: dict[str, Callable[[Document], list[Cut]]] = {}
    for size, overlap in ((250, 125), (250, 0), (200, 0)):
        found[f"published token {size}/{overlap}"] = theirs(lambda text, s=size, o=overlap: published.token(text, s, o))
        found[f"published recursive {size}/{overlap}"] = theirs(
            lambda text, s=size, o=overlap: published.recursive(text, s, o)
        )
        found[f"token {size}/{overlap}"] = ours(lift(TokenChunker(chunk_size=size, chunk_overlap=overlap)))
        found[f"sentence {size}/{overlap}"] = ours(
            lift(SentenceChunker(chunk_size=size, chunk_overlap=overlap, delim="auto"))
        )
        found[f"recursive {size}/{overlap}"] = ours(lift(RecursiveChunker(chunk_size=size, chunk_overlap=overlap)))
    for size in (250, 200):
        found[f"published cluster {size}"] = theirs(lambda text, s=size: published.cluster(text, s, vectors))
    found["text 1100/550 chars"] = ours(chunkers.text(1100, 550))
    found["structured 1100/550 chars"] = ours(chunkers.structured(1100, 550))
    found["structured 800/100 chars"] = ours(chunkers.structured(800, 100))
    found["parent_child 1100, 400 chars"] = family(chunkers.parent_child(1100, 400, 0))
    inner = SentenceChunker(chunk_size=100, delim="auto")
    found["sentence 100 in markdown 250"] = family(lift(inner, parents=MarkdownChunker(chunk_size=250, tables="keep")))
    own = vectors.embedder
    inner = SentenceChunker(own, chunk_size=100, delim="auto")
    outer = MarkdownChunker(tokenizer=own, chunk_size=250, tables="keep")
    found["the same, embedder's 250"] = family(lift(inner, parents=outer))
    found["markdown 250"] = ours(lift(MarkdownChunker(chunk_size=250)))
    found["semantic 800 chars"] = ours(chunkers.semantic(dense=Known(vectors), max_chars=800))
    for counted, name in (("cl100k_base", ""), (own, ", embedder's")):
        found[f"semantic 200{name}"] = ours(chunkers.semantic(dense=Known(vectors), max_tokens=200, tokenizer=counted))
    return found


class Known:
    """The cached vectors as an embedder."""

    max_batch = 1 << 20

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.space = vectors.embedder.space
        self.max_input_tokens = vectors.embedder.max_input_tokens
        self.scripts = vectors.embedder.scripts

    def embed_many(self, texts: Sequence[str], task: str = "document") -> Any:
        return type("Answer", (), {"vectors": self.vectors(texts)})


def evaluate(cuts: list[Cut], asked: list[Question], vectors: Vectors) -> list[Scores]:
    """The scores of every question over one chunking of everything."""
    rows = vectors([cut.text for cut in cuts])
    ranked = np.argsort(-(vectors([question.text for question in asked]) @ rows.T), axis=1, kind="stable")
    places = dict.fromkeys((cut.document, cut.span) for cut in cuts)
    scores = []
    for question, order in zip(asked, ranked, strict=True):
        best = dict.fromkeys((cuts[row].document, cuts[row].span) for row in order[: 20 * TOP])
        retrieved = [(document == question.document, span) for document, span in list(best)[:TOP]]
        scores.append(score(question.wanted, retrieved, [span for name, span in places if name == question.document]))
    return scores


def compare(results: dict[str, list[Scores]], measure: str, label: str) -> None:
    """The best of ours with this limit in tokens against each published one, question by question."""
    index = Scores._fields.index(measure)

    def mean(name: str) -> float:
        return sum(row[index] for row in results[name]) / len(results[name])

    rivals = [name for name in results if name.startswith("published") and label in name]
    limit = label.strip().partition("/")[0]
    own = [name for name in results if not name.startswith("published") and f" {limit}" in name]
    if not rivals or not own:
        return
    best = max(own, key=mean)
    print(f"\n{measure}, published chunkers of {label} against the best of ours, {best} ({100 * mean(best):.1f} %)")
    for rival in rivals:
        gaps = [a[index] - b[index] for a, b in zip(results[best], results[rival], strict=True)]
        low, high = interval(gaps)
        spread = f"[{100 * low:+.1f}, {100 * high:+.1f}]"
        print(f"  {rival:28} {100 * mean(rival):5.1f} %   {100 * np.mean(gaps):+5.1f}  {spread}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, help="a file to keep vectors in")
    parser.add_argument("--only", nargs="*", default=[""], help="chunkers whose name contains one of these")
    args = parser.parse_args()
    vectors, asked, sources = Vectors(args.cache), questions(), documents()
    print(f"florilege {florilege.__version__}, Python {platform.python_version()}, {vectors.embedder.space.identity}")
    print(f"{len(asked)} questions, {len(sources)} corpora, top {TOP}\n")
    columns = ("read", "chars", "tokens", "most", "recall", "prec.", "omega", "IoU")
    print(f"{'chunker':28} " + " ".join(f"{column:>6}" for column in columns))
    results: dict[str, list[Scores]] = {}
    for name, cut in contenders(vectors).items():
        if not any(word in name for word in args.only):
            continue
        started = time.perf_counter()
        cuts = [item for document in sources.values() for item in cut(document)]
        results[name] = evaluate(cuts, asked, vectors)
        means = [100 * sum(column) / len(asked) for column in zip(*results[name], strict=True)]
        texts = {(cut.document, cut.span): sources[cut.document].content[slice(*cut.span)] for cut in cuts}
        counts = [published.COUNT.count(text) for text in texts.values()]
        sizes = f"{sum(map(len, texts.values())) / len(texts):6.0f} {sum(counts) / len(texts):6.0f} {max(counts):6}"
        cells = " ".join(f"{value:6.1f}" for value in means)
        print(f"\r{name:28} {len(texts):6} {sizes} {cells}   {time.perf_counter() - started:.0f} s", flush=True)
    compare(results, "recall", "250/125")
    compare(results, "iou", " 200")


if __name__ == "__main__":
    main()
