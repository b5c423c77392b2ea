"""``florilege gc``."""

from __future__ import annotations

import argparse
from typing import Any

from florilege.apps.cli.options import count


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("gc", help="remove old generations and what only they used")
    parser.add_argument(
        "--keep",
        type=count,
        default=1,
        metavar="N",
        help="older generations to keep of each source, besides the active one, pinned ones and those replaced in the "
        "last ten minutes (default: 1)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Collect and say what went."""
    from florilege.apps.cli.project import open_corpus
    from florilege.apps.cli.view import counted, print_json

    with open_corpus(args, dense=None) as corpus:
        counts = corpus.gc(keep_generations=args.keep)
    if args.json:
        print_json(counts)
    else:
        removed = (counted(number, name.removesuffix("s")) for name, number in counts.items() if number)
        print(", ".join(removed) or "nothing to remove")
    return 0
