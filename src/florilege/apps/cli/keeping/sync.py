"""``florilege sync``."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from florilege.corpus import Corpus
    from florilege.indexing.sync import SyncPlan
    from florilege.model.ledger import SourceResult, SyncResult, Usage


MOST_WARNINGS = 3
"""How many of a source are printed unasked."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "sync",
        help="bring the corpus in step with files and folders",
        description="Index what is new or changed under the paths given; what is unchanged costs nothing. "
        "Sources that are gone are told as stale, and deleted with --delete.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, globs or addresses")
    parser.add_argument("--reader", action="append", default=[], metavar="NAME", help="ask this optional reader first")
    parser.add_argument("--crawl", action="store_true", help="follow the links of pages, within their site")
    parser.add_argument("--delete", action="store_true", help="delete sources under these paths that are gone")
    parser.add_argument("--allow-mass-delete", action="store_true", help="delete even more than half of the corpus")
    parser.add_argument("--lexical", action="store_true", help="index words only, no vectors")
    parser.add_argument("--verbose", "-v", action="store_true", help="a line for every source")
    parser.add_argument("--json", action="store_true", help="print JSON")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help="tell what would be done and what it costs; do nothing")
    how.add_argument("--plan", metavar="FILE", help="like --dry-run, and save the plan")
    how.add_argument("--apply", metavar="FILE", help="do what a saved plan says, unless the corpus has moved on")
    how.add_argument("--watch", action="store_true", help="go on syncing whenever something changes (extra: watch)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Sync and print what happened. Everything is published for the lexical leg first, then embedded."""
    from florilege.apps.cli.progress import Progress
    from florilege.apps.cli.project import dry_corpus, open_corpus

    missing = [path for path in args.paths if not _may_exist(path)]
    if missing:
        print(f"florilege: there is no {missing[0]}", file=sys.stderr)
        return 2
    with Progress(enabled=not args.json) as progress:
        dense: Any = None if args.lexical else "default"
        opening = dry_corpus if args.dry_run or args.plan else partial(open_corpus, create=True)
        with opening(args, dense=dense, on_event=progress) as corpus:
            if args.watch:
                return _watch(corpus, args)
            result = _synced(corpus, args)
    return _told(result, args)


def _may_exist(path: str) -> bool:
    """Whether a path is there, or is none that can be looked for: a pattern, an address."""
    return os.path.lexists(path) or "://" in path or any(mark in path for mark in "*?[")


def _options(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "source_set": "complete",
        "stale": "delete" if args.delete else "keep",
        "allow_mass_delete": args.allow_mass_delete,
    }


def _synced(corpus: Corpus, args: argparse.Namespace) -> SyncResult | SyncPlan:
    from florilege.indexing.sync import SyncPlan
    from florilege.ingest import load

    documents = load(args.paths, readers=args.reader, crawl=args.crawl)
    if args.plan:
        plan = corpus.plan(documents, **_options(args))
        plan.save(args.plan)
        return plan
    if args.apply:
        return corpus.sync(documents, plan=SyncPlan.load(args.apply), embed="after")
    return corpus.sync(documents, **_options(args), dry_run=args.dry_run, embed="after")


def _watch(corpus: Corpus, args: argparse.Namespace) -> int:
    from florilege.watching import watch

    code = 0
    for result in watch(corpus, args.paths, **_options(args), embed="after"):
        code = _told(result, args)
        sys.stdout.flush()
    return code


def _told(result: SyncResult | SyncPlan, args: argparse.Namespace) -> int:
    from florilege.apps.cli.view import DIM, YELLOW, coloured, jsonable, paint, print_json
    from florilege.indexing.sync import SyncPlan

    if args.json:
        print_json(jsonable(result))
    else:
        on = coloured()
        actions = [source.action for source in result.sources]
        for source in result.sources:
            if args.verbose or source.action in ("failed", "stale"):
                print(_line(source, on), file=sys.stderr if source.action == "failed" else sys.stdout)
            if args.verbose or not source.chunk_count:  # nothing of it can be found: that must not go unsaid
                for message in _warnings(source, args.verbose):
                    print(f"{paint('warning  ', YELLOW, on)} {source.source_id}  {message}", file=sys.stderr)
        order = ("added", "changed", "unchanged", "skipped", "stale", "deleted", "failed")
        counts = [f"{actions.count(action)} {action}" for action in order if action in actions]
        planned = isinstance(result, SyncPlan) or result.dry_run
        print(("would be: " if planned else "") + (", ".join(counts) or "nothing found"))
        print(paint(_costs(result, planned=planned), DIM, on))
    failed = any(source.action == "failed" for source in result.sources)
    return 1 if failed else 0


def _warnings(source: SourceResult | Any, every: bool) -> list[str]:
    messages = [warning.message for warning in getattr(source, "warnings", ())]
    if every or len(messages) <= MOST_WARNINGS:
        return messages
    return [*messages[:MOST_WARNINGS], f"and {len(messages) - MOST_WARNINGS} more warnings (--verbose shows them)"]


def _costs(result: SyncResult | SyncPlan, *, planned: bool) -> str:
    from florilege.apps.cli.view import counted

    facts = [counted(result.chunk_count, "chunk"), f"{result.embedded} {'to embed' if planned else 'embedded'}"]
    if result.reused:
        facts.append(f"{counted(result.reused, 'vector')} reused")
    pending = getattr(result, "pending", 0)
    if pending and not planned:
        facts.append(f"{pending} waiting for a vector")
    facts += _usage(result.usage) if planned else []
    seconds = getattr(result, "duration_seconds", None)
    return ", ".join(facts) + (f" in {seconds:.1f} s" if seconds is not None else "")


def _usage(usage: Usage) -> list[str]:
    from florilege.apps.cli.view import counted

    facts = [counted(usage.tokens, "token")] if usage.tokens else []
    return facts + ([f"{usage.cost:.4f} {usage.currency}"] if usage.cost is not None else [])


def _line(source: SourceResult | Any, on: bool) -> str:
    from florilege.apps.cli.view import GREEN, RED, YELLOW, paint

    style = {"failed": RED, "stale": YELLOW, "skipped": YELLOW}.get(source.action, GREEN)
    why = source.reason or ""
    error = getattr(source, "error", None)
    if error is not None:
        why = f"{error['code']}: {error['message']}" + (" (as before)" if source.reason == "carried_forward" else "")
    return f"{paint(f'{source.action:<9}', style, on)} {source.source_id}" + (f"  {why}" if why else "")
