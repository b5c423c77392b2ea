"""``florilege sources``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from florilege.corpus import Corpus
    from florilege.model.ledger import SourceRecord


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("sources", help="list the sources of the corpus, or show one")
    parser.add_argument(
        "source_id", nargs="?", metavar="SOURCE", help="show this source: its row, chunks and generations"
    )
    parser.add_argument("--status", choices=("indexed", "failed", "deleted"), help="only sources of this status")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List or show."""
    from florilege.apps.cli.project import open_corpus

    with open_corpus(args, dense=None) as corpus:
        return _show(corpus, args) if args.source_id else _list(corpus, args)


def _list(corpus: Corpus, args: argparse.Namespace) -> int:
    from florilege.apps.cli.view import DIM, GREEN, RED, coloured, jsonable, paint, print_json

    rows: list[SourceRecord] = []
    cursor = None
    while True:
        some, cursor = corpus.list_sources(status=args.status, limit=500, cursor=cursor)
        rows += some
        if cursor is None:
            break
    if args.json:
        print_json([jsonable(row) for row in rows])
        return 0
    on = coloured()
    for row in rows:
        style = GREEN if row.status == "indexed" else RED
        why = f"  {row.error.get('code')}" if row.error else ""
        print(
            f"{paint(f'{row.status:<8}', style, on)} {row.chunk_count:>5} chunks  {row.source_id}{why}"
            + (f"  {paint(row.title, DIM, on)}" if row.title else "")
        )
    return 0


def _show(corpus: Corpus, args: argparse.Namespace) -> int:
    from florilege.apps.cli.view import DIM, coloured, jsonable, paint, place, print_json

    row = corpus.get_source(args.source_id)
    history = corpus.history(args.source_id)
    chunks = corpus.chunks(args.source_id)
    if args.json:
        print_json(
            {
                "source": jsonable(row),
                "generations": [jsonable(item) for item in history],
                "chunks": [jsonable(chunk) for chunk in chunks],
            }
        )
        return 0
    on = coloured()
    for name in ("source_id", "status", "title", "media_type", "reader", "indexed_at", "failed_at", "error"):
        value = getattr(row, name)
        if value is not None:
            print(f"{paint(f'{name:<12}', DIM, on)} {value}")
    for item in history:
        label = paint("generation", DIM, on)
        print(f"{label}   {item.generation}.{item.revision} {item.state}, {item.chunk_count} chunks")
    for chunk in chunks:
        where = paint(place(chunk.provenance), DIM, on)
        print(f"{chunk.ordinal:>5}  {len(chunk.content):>5} chars  {chunk.chunk_id}  {where}")
    return 0
