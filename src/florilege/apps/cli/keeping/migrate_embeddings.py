"""``florilege migrate-embeddings``."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "migrate-embeddings",
        help="move the corpus to another embedder",
        description="Embed every chunk with another embedder beside the old vectors, compare, then switch at once. "
        "Afterwards name it as `dense` under [corpus] in florilege.toml.",
    )
    parser.add_argument("embedder", metavar="NAME", help='a configured embedder ([embedders.NAME]), or "default"')
    parser.add_argument(
        "--query", action="append", default=[], metavar="TEXT", help="a sample question whose hits are compared"
    )
    parser.add_argument("--dry-run", action="store_true", help="embed and compare; do not switch")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Migrate and say what was done."""
    from florilege.apps.cli.progress import Progress
    from florilege.apps.cli.project import configured, open_corpus
    from florilege.apps.cli.view import counted, jsonable, print_json

    embedder = configured(args).embedder(args.embedder)
    with Progress(enabled=not args.json) as progress, open_corpus(args) as corpus:
        done = corpus.migrate_embeddings(embedder, queries=args.query, dry_run=args.dry_run, on_event=progress)
    if args.json:
        print_json(jsonable(done))
        return 0
    print(f"{counted(done.embedded, 'chunk')} embedded in {done.new}")
    if done.overlap is not None:
        print(f"{done.overlap:.0%} of the top hits are the same in both spaces")
    print("switched" if done.switched else f"not switched; {done.old or 'no space'} still answers")
    return 0
