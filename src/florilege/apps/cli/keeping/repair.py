"""``florilege repair``."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("repair", help="mend what verify finds; embeds only what is missing")
    parser.add_argument("--lexical", action="store_true", help="mend words only, no vectors")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Repair and say what was done."""
    from florilege.apps.cli.project import open_corpus
    from florilege.apps.cli.view import counted, jsonable, print_json

    with open_corpus(args, dense=None if args.lexical else "default") as corpus:
        done = corpus.repair()
    if args.json:
        print_json(jsonable(done))
        return 0
    for source_id in done.to_sync:
        print(f"{source_id}: its content was not kept; the next sync reads it again")
    print(f"{counted(len(done.mended), 'source')} mended, {counted(done.embedded, 'chunk')} embedded")
    return 0
