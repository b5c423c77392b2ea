"""``florilege search``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from florilege.apps.cli.options import add_filter, count, filter_of

if TYPE_CHECKING:
    from florilege.corpus import Corpus
    from florilege.model.filters import Filter

SOURCES = 500
"""How many sources are looked at for the fields there are, when a filter has let nothing through."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("search", help="find the passages that answer a question")
    parser.add_argument("query", nargs="+", metavar="QUERY", help="the question, in plain words")
    parser.add_argument("--limit", type=count, default=10, metavar="N", help="at most N hits (default: 10)")
    parser.add_argument(
        "--mode",
        choices=("auto", "hybrid", "dense", "lexical"),
        default="auto",
        help="by meaning and words (hybrid), meaning (dense) or words (lexical); auto: hybrid once there are vectors",
    )
    add_filter(parser)
    parser.add_argument("--recipe", metavar="NAME", help="answer by this recipe of florilege.toml")
    parser.add_argument("--trace", action="store_true", help="tell what each step did")
    parser.add_argument("--explain", action="store_true", help="tell of each hit how it came to its place")
    parser.add_argument("--full", action="store_true", help="whole passages instead of excerpts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Search and print."""
    from florilege.apps.cli.project import open_corpus, retriever_of
    from florilege.apps.cli.view import coloured, hit_lines, jsonable, print_json, trace_lines

    query = " ".join(args.query)
    narrowed = filter_of(args)
    with open_corpus(args, dense=None if args.mode == "lexical" else "default") as corpus:
        retriever = retriever_of(args, corpus)
        mode = None if args.mode == "auto" else args.mode
        if args.trace or args.explain:
            hits, trace = retriever.retrieve_with_trace(query, limit=args.limit, filter=narrowed, mode=mode)
        else:
            hits, trace = retriever.retrieve(query, limit=args.limit, filter=narrowed, mode=mode), None
        unknown = _unknown_fields(corpus, narrowed) if narrowed is not None and not hits else []
    for field in unknown:
        print(f"warning: {field}", file=sys.stderr)
    explained = {
        hit.key: trace.explain(hit.chunk_id, source_id=hit.source_id) for hit in hits if trace and args.explain
    }
    if args.json:
        told = [{**jsonable(hit), **_told(explained.get(hit.key))} for hit in hits]
        print_json({"query": query, "hits": told, **({"trace": jsonable(trace)} if trace and args.trace else {})})
        return 0
    if trace and args.trace:
        print("\n".join(trace_lines(trace, on=coloured())))
    if not hits:
        print("no hits")
    for number, hit in enumerate(hits, start=1):
        lines = hit_lines(number, hit, query, on=coloured(), full=args.full)
        if hit.key in explained:
            lines += [f"    {step.step_id}: {step.remark}" for step in explained[hit.key].steps]
        print("\n".join(lines))
    return 0


def _unknown_fields(corpus: Corpus, narrowed: Filter) -> Sequence[str]:
    """What to say of fields the filter names and no source has: the likeliest reason for nothing found."""
    import difflib

    from florilege.model.filters import SYSTEM_FIELDS, leaves

    rows, cursor = corpus.list_sources(limit=SOURCES)
    known = SYSTEM_FIELDS.union(*(row.metadata for row in rows))
    asked = dict.fromkeys(leaf.path[0] for leaf in leaves(narrowed))
    whose = "no source" if cursor is None else f"none of the first {SOURCES} sources"
    found = []
    for name in asked:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.6)
            found.append(f"{whose} has the field {name!r}" + (f"; near it: {', '.join(near)}" if near else ""))
    return found


def _told(explanation: Any) -> dict[str, Any]:
    return {} if explanation is None else {"explain": [f"{step.step_id}: {step.remark}" for step in explanation.steps]}
