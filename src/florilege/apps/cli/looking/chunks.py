"""``florilege chunks``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from florilege.interfaces.chunking import DocumentChunker
    from florilege.model.chunk import Chunk
    from florilege.model.document import Failed

_BY_CHARS = ("structured", "text", "parent-child", "semantic", "pages")
_BY_TOKENS = ("sentence", "recursive", "markdown", "token")
_STYLES = ("\x1b[36m", "\x1b[33m")


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "chunks",
        help="show how files would be cut, without indexing them",
        description="Read files, cut them, and print the chunks with where they stand. No store is needed or touched.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders or globs")
    parser.add_argument(
        "--chunker",
        choices=_BY_CHARS + _BY_TOKENS,
        default="structured",
        help=f"who cuts: {', '.join(_BY_CHARS)} by characters, {', '.join(_BY_TOKENS)} by tokens (default: structured)",
    )
    parser.add_argument("--max-chars", type=int, default=1200, metavar="N", help="the hard limit (default: 1200)")
    parser.add_argument(
        "--overlap-chars",
        type=int,
        metavar="N",
        help="how much may be repeated (default: 150, half of the limit at most; 120 in parent-child)",
    )
    parser.add_argument("--max-tokens", type=int, default=512, metavar="N", help="the same in tokens (default: 512)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Cut and print, one document after another."""
    from florilege.apps.cli.view import jsonable, print_json
    from florilege.ingest import load
    from florilege.model.document import Failed

    chunker = chosen(args)
    cut: list[Any] = []
    failed = 0
    for outcome in load(args.paths):
        if isinstance(outcome, Failed):
            failed += 1
            _tell(outcome)
            continue
        chunking = chunker.chunk_document(outcome.document)
        if args.json:
            given: dict[str, Any] = {"source_id": outcome.source_id, "chunks": list(map(jsonable, chunking.chunks))}
            if chunking.parents:
                given["parents"] = list(map(jsonable, chunking.parents))
            cut.append(given)
        else:
            _print(outcome.source_id, chunking.chunks)
    if args.json:
        print_json(cut)
    return 1 if failed else 0


def chosen(args: argparse.Namespace) -> DocumentChunker:
    """The chunker the options ask for; ConfigError for sizes it cannot have."""
    from florilege import chunkers, split
    from florilege.split.markdown import MarkdownChunker

    size = args.max_chars
    overlap = {} if args.overlap_chars is None else {"overlap_chars": args.overlap_chars}
    match args.chunker:
        case "structured":
            return chunkers.structured(size, **overlap)
        case "text":
            return chunkers.text(size, **overlap)
        case "parent-child":
            return chunkers.parent_child(
                max(6000, size), size, **{f"child_{name}": most for name, most in overlap.items()}
            )
        case "semantic":
            from florilege.embed import minilm

            return chunkers.semantic(dense=minilm(), min_chars=min(200, size), max_chars=size)
        case "pages":
            return chunkers.pages(max_chars=size)
    splitters = {
        "sentence": split.SentenceChunker,
        "recursive": split.RecursiveChunker,
        "markdown": MarkdownChunker,
        "token": split.TokenChunker,
    }
    return chunkers.from_splitter(splitters[args.chunker](chunk_size=args.max_tokens), name=args.chunker)


def _tell(failure: Failed) -> None:
    print(f"failed    {failure.source_id}  {failure.code}: {failure.message}", file=sys.stderr)


def _print(source_id: str, chunks: tuple[Chunk, ...]) -> None:
    """The chunks in turning colours, what each repeats of the one before it dim."""
    from florilege.apps.cli.view import DIM, GREEN, coloured, paint, place

    on = coloured()
    print(f"{paint(source_id, GREEN, on)}  {len(chunks)} chunk{'' if len(chunks) == 1 else 's'}")
    reached = 0
    for chunk in chunks:
        spans = chunk.provenance.source_spans
        where = ", ".join(f"{span.start}-{span.end}" for span in spans)
        size = f"{len(chunk.content)}{f'+{len(chunk.context)}' if chunk.context else ''} chars"
        derived = "derived" if chunk.provenance.confidence == "derived" else ""
        reason = str(chunk.metadata.get("semantic_reason") or "")
        facts = [size, f"at {where}" if where else "", derived, reason, place(chunk.provenance)]
        print(f"{chunk.ordinal:>4}. {paint(', '.join(fact for fact in facts if fact), DIM, on)}")
        repeated = max(0, reached - spans[0].start) if len(spans) == 1 and not derived else 0
        style = _STYLES[chunk.ordinal % 2]
        for line, new in _lines(chunk.content, repeated):
            print(f"      {paint(line[:new], DIM, on and new > 0)}{paint(line[new:], style, on)}".rstrip())
        reached = max((span.end for span in spans), default=reached)


def _lines(content: str, repeated: int) -> Iterator[tuple[str, int]]:
    """Each line, and how many of its first characters lie in the first ``repeated`` of ``content``."""
    at = 0
    for line in content.split("\n"):
        yield line, min(len(line), max(0, repeated - at))
        at += len(line) + 1
