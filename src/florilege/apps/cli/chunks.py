"""``florilege chunks``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from florilege.model.chunk import Chunk
    from florilege.model.document import Failed


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "chunks",
        help="show how files would be cut, without indexing them",
        description="Read files, cut them, and print the chunks with where they stand. No store is needed or touched.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders or globs")
    parser.add_argument(
        "--chunker", choices=("structured", "text"), default="structured", help="who cuts (default: structured)"
    )
    parser.add_argument("--max-chars", type=int, default=1200, metavar="N", help="the hard limit (default: 1200)")
    parser.add_argument(
        "--overlap-chars", type=int, default=150, metavar="N", help="how much may be repeated (default: 150)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Cut and print, one document after another."""
    from florilege import chunkers
    from florilege.apps.cli.view import jsonable, print_json
    from florilege.ingest import load
    from florilege.model.document import Failed

    make = chunkers.text if args.chunker == "text" else chunkers.structured
    chunker = make(max_chars=args.max_chars, overlap_chars=args.overlap_chars)
    cut: list[Any] = []
    failed = 0
    for outcome in load(args.paths):
        if isinstance(outcome, Failed):
            failed += 1
            _tell(outcome)
            continue
        chunks = chunker.chunk_document(outcome.document).chunks
        if args.json:
            cut.append({"source_id": outcome.source_id, "chunks": [jsonable(chunk) for chunk in chunks]})
        else:
            _print(outcome.source_id, chunks)
    if args.json:
        print_json(cut)
    return 1 if failed else 0


def _tell(failure: Failed) -> None:
    print(f"failed    {failure.source_id}  {failure.code}: {failure.message}", file=sys.stderr)


def _print(source_id: str, chunks: tuple[Chunk, ...]) -> None:
    from florilege.apps.cli.view import DIM, GREEN, coloured, paint, place

    on = coloured()
    print(f"{paint(source_id, GREEN, on)}  {len(chunks)} chunk{'' if len(chunks) == 1 else 's'}")
    for chunk in chunks:
        spans = ", ".join(f"{span.start}-{span.end}" for span in chunk.provenance.source_spans)
        facts = [f"{len(chunk.content)} chars", f"at {spans}" if spans else "derived", place(chunk.provenance)]
        print(f"{chunk.ordinal:>4}. {paint(', '.join(fact for fact in facts if fact), DIM, on)}")
        print("\n".join(f"      {line}".rstrip() for line in chunk.content.splitlines()))
