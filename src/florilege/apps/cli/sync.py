"""``florilege sync``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from florilege.model.ledger import SourceResult, SyncResult


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "sync",
        help="bring the corpus in step with files and folders",
        description="Index what is new or changed under the paths given; what is unchanged costs nothing. "
        "Sources that are gone are told as stale, and deleted with --delete.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders or globs")
    parser.add_argument("--delete", action="store_true", help="delete sources under these paths that are gone")
    parser.add_argument("--allow-mass-delete", action="store_true", help="delete even more than half of the corpus")
    parser.add_argument("--lexical", action="store_true", help="index words only, no vectors")
    parser.add_argument("--dry-run", action="store_true", help="tell what would be done, and do nothing")
    parser.add_argument("--verbose", "-v", action="store_true", help="a line for every source")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Sync and print what happened. Everything is published for the lexical leg first, then embedded."""
    from florilege.apps.cli.progress import Progress
    from florilege.apps.cli.project import open_corpus
    from florilege.apps.cli.view import jsonable, print_json
    from florilege.ingest import load

    with Progress(enabled=not args.json) as progress:
        dense: Any = None if args.lexical else "default"
        with open_corpus(args, dense=dense, create=True, on_event=progress) as corpus:
            result = corpus.sync(
                load(args.paths),
                source_set="complete",
                stale="delete" if args.delete else "keep",
                allow_mass_delete=args.allow_mass_delete,
                dry_run=args.dry_run,
                embed="after",
            )
    if args.json:
        print_json(jsonable(result))
    else:
        _print(result, verbose=args.verbose)
    return 1 if result.failed else 0


def _print(result: SyncResult, *, verbose: bool) -> None:
    from florilege.apps.cli.view import DIM, coloured, paint

    on = coloured()
    for source in result.sources:
        if verbose or source.action in ("failed", "stale"):
            stream = sys.stderr if source.action == "failed" else sys.stdout
            print(_line(source, on), file=stream)
    actions = ("added", "changed", "unchanged", "skipped", "stale", "deleted", "failed")
    counts = [f"{getattr(result, action)} {action}" for action in actions if getattr(result, action)]
    print(("would be: " if result.dry_run else "") + (", ".join(counts) or "nothing found"))
    facts = [f"{result.chunk_count} chunks", f"{result.embedded} embedded"]
    if result.reused:
        facts.append(f"{result.reused} vectors reused")
    if result.pending:
        facts.append(f"{result.pending} waiting for a vector")
    print(paint(f"{', '.join(facts)} in {result.duration_seconds:.1f} s", DIM, on))


def _line(source: SourceResult, on: bool) -> str:
    from florilege.apps.cli.view import GREEN, RED, YELLOW, paint

    style = {"failed": RED, "stale": YELLOW, "skipped": YELLOW}.get(source.action, GREEN)
    why = source.reason or ""
    if source.error is not None:
        code, message = source.error.get("code"), source.error.get("message")
        why = f"{code}: {message}" + (" (as before)" if source.reason == "carried_forward" else "")
    return f"{paint(f'{source.action:<9}', style, on)} {source.source_id}" + (f"  {why}" if why else "")
