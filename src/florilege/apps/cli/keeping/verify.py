"""``florilege verify``."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("verify", help="read the whole corpus and say what is wrong with it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Verify; 4 when something is wrong."""
    from florilege.apps.cli.project import open_corpus
    from florilege.apps.cli.view import jsonable, print_json

    with open_corpus(args) as corpus:
        found = corpus.verify()
    if args.json:
        print_json(jsonable(found))
    else:
        for problem in found.problems:
            print(f"wrong: {problem}")
        for note in found.notes:
            print(f"note: {note}")
        print("sound" if found.ok else "run: florilege repair")
    return 0 if found.ok else 4
