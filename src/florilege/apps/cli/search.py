"""``florilege search``."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("search", help="find the passages that answer a question")
    parser.add_argument("query", nargs="+", metavar="QUERY", help="the question, in plain words")
    parser.add_argument("--limit", type=_count, default=10, metavar="N", help="at most N hits (default: 10)")
    parser.add_argument(
        "--mode",
        choices=("auto", "hybrid", "dense", "lexical"),
        default="auto",
        help="by meaning and words (hybrid), meaning (dense) or words (lexical); auto: hybrid once there are vectors",
    )
    parser.add_argument(
        "--filter", metavar="EXPR", help="only passages whose metadata match: 'year>=2024 and lang in [en, de]'"
    )
    parser.add_argument("--full", action="store_true", help="whole passages instead of excerpts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Search and print."""
    from florilege.apps.cli.project import open_corpus
    from florilege.apps.cli.view import coloured, hit_lines, jsonable, print_json
    from florilege.filters import parse_filter_text

    query = " ".join(args.query)
    narrowed = parse_filter_text(args.filter) if args.filter else None
    with open_corpus(args, dense=None if args.mode == "lexical" else "default") as corpus:
        hits = corpus.retrieve(query, limit=args.limit, filter=narrowed, mode=args.mode)
    if args.json:
        print_json({"query": query, "hits": [jsonable(hit) for hit in hits]})
        return 0
    if not hits:
        print("no hits")
    for number, hit in enumerate(hits, start=1):
        print("\n".join(hit_lines(number, hit, query, on=coloured(), full=args.full)))
    return 0


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be at least 0")
    return value
