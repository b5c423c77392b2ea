"""``florilege stats``."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("stats", help="sizes and counts of the corpus")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the figures."""
    from florilege.apps.cli.project import open_corpus
    from florilege.apps.cli.view import print_json

    with open_corpus(args, dense=None) as corpus:
        stats = corpus.stats()
    if args.json:
        print_json(stats)
    else:
        for name, value in stats.items():
            print(f"{name:<20} {value}")
    return 0
