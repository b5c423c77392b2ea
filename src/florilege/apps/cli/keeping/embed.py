"""``florilege embed``."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "embed",
        help="give waiting chunks their vectors, without reading a source",
        description="A sync publishes words first and embeds at the end. This goes on where one was stopped.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Embed and say how much; 1 when some chunks could not be."""
    from florilege.apps.cli.progress import Progress
    from florilege.apps.cli.project import open_corpus
    from florilege.apps.cli.view import counted, jsonable, print_json

    with Progress(enabled=not args.json) as progress, open_corpus(args) as corpus:
        done = corpus.embed(on_event=progress)
    if args.json:
        print_json(jsonable(done))
    else:
        print(
            f"{counted(done.embedded, 'chunk')} embedded" + (f", {done.waiting} still waiting" if done.waiting else "")
        )
    return 1 if done.waiting else 0
