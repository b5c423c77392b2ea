"""``florilege sources``: the ledger, and the generations behind it."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING, Any, Literal

from florilege.model.errors import NotFound

if TYPE_CHECKING:
    from florilege.corpus import Corpus
    from florilege.model.ledger import SourceRecord


def add_parser(commands: Any) -> None:
    """Add the command and its verbs."""
    parser = commands.add_parser("sources", help="list, show, compare, restore and delete sources")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run, verb=_list, status=None)
    verbs = parser.add_subparsers(metavar="VERB")
    listing = _verb(verbs, "list", _list, "list the sources (what `sources` alone does)")
    listing.add_argument("--status", choices=("indexed", "failed", "deleted"), help="only sources of this status")
    _verb(verbs, "show", _show, "a source's row and its chunks", "source_id")
    _verb(verbs, "history", _history, "the generations that are kept", "source_id")
    compare = _verb(verbs, "diff", _diff, "what changed between two generations", "source_id")
    compare.add_argument("old", nargs="?", type=int, help="default: the newest but the active one")
    compare.add_argument("new", nargs="?", type=int, help="default: the active one")
    restore = _verb(verbs, "rollback", _rollback, "go back to an earlier generation", "source_id")
    restore.add_argument("generation", type=int)
    pin = _verb(verbs, "pin", _pin, "keep a generation from collection", "source_id")
    pin.add_argument("generation", type=int)
    pin.add_argument("--release", action="store_true", help="let it go again")
    hold = _verb(verbs, "hold", _hold, "keep syncs away from a source", "source_id")
    hold.add_argument("--release", action="store_true", help="let them at it again")
    _verb(verbs, "delete", _delete, "delete a source from the corpus", "source_id")


def run(args: argparse.Namespace) -> int:
    """Open the corpus and do the verb."""
    from florilege.apps.cli.project import open_corpus

    with open_corpus(args, dense="default" if args.verb is _rollback else None) as corpus:
        try:
            code: int = args.verb(corpus, args)
        except NotFound as error:
            if error.source_id is None or (near := _near(corpus, args.source_id)) is None:
                raise
            raise NotFound(f"{error.message}; near it: {near}", code=error.code, source_id=error.source_id) from None
        return code


def _near(corpus: Corpus, source_id: str) -> str | None:
    """A source whose id ends with what was asked for, else one spelled almost so; None when it is there itself."""
    known = [row.source_id for row in _rows(corpus, None)]
    ending = [name for name in known if name.endswith(f"/{source_id}")]
    found = ending or difflib.get_close_matches(source_id, known, n=1, cutoff=0.6)
    return found[0] if found and source_id not in known else None


def _rows(corpus: Corpus, status: Literal["indexed", "failed", "deleted"] | None) -> list[SourceRecord]:
    rows: list[SourceRecord] = []
    cursor = None
    while True:
        some, cursor = corpus.list_sources(status=status, limit=500, cursor=cursor)
        rows += some
        if cursor is None:
            return rows


def _verb(verbs: Any, name: str, verb: Any, text: str, *positional: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=text)
    for argument in positional:
        parser.add_argument(argument, metavar="SOURCE" if argument == "source_id" else None)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(verb=verb)
    return parser


def _chunks(number: int) -> str:
    return f"{number:>5} {'chunk ' if number == 1 else 'chunks'}"


def _list(corpus: Corpus, args: argparse.Namespace) -> int:
    from florilege.apps.cli.view import DIM, GREEN, RED, coloured, jsonable, paint, print_json

    rows = _rows(corpus, args.status)
    if args.json:
        print_json([jsonable(row) for row in rows])
        return 0
    on = coloured()
    for row in rows:
        status = paint(f"{row.status:<8}", GREEN if row.status == "indexed" else RED, on)
        why = f"  {row.error.get('code')}" if row.error else ""
        title = f"  {paint(row.title, DIM, on)}" if row.title else ""
        print(f"{status} {_chunks(row.chunk_count)}  {row.source_id}{why}{title}")
    return 0


def _show(corpus: Corpus, args: argparse.Namespace) -> int:
    from florilege.apps.cli.view import DIM, coloured, jsonable, paint, place, print_json

    row = corpus.get_source(args.source_id)
    history = corpus.history(args.source_id)
    chunks = corpus.chunks(args.source_id)
    if args.json:
        generations = [jsonable(item) for item in history]
        shown = [jsonable(chunk) for chunk in chunks]
        print_json({"source": jsonable(row), "generations": generations, "chunks": shown})
        return 0
    on = coloured()
    for name in ("source_id", "status", "title", "media_type", "reader", "indexed_at", "failed_at", "error"):
        value = getattr(row, name)
        if value is not None:
            print(f"{paint(f'{name:<12}', DIM, on)} {value}")
    for chunk in chunks:
        where = paint(place(chunk.provenance), DIM, on)
        print(f"{chunk.ordinal:>5}  {len(chunk.content):>5} chars  {chunk.chunk_id}  {where}")
    return 0


def _history(corpus: Corpus, args: argparse.Namespace) -> int:
    from florilege.apps.cli.view import jsonable, print_json

    corpus.get_source(args.source_id)
    history = corpus.history(args.source_id)
    if args.json:
        print_json([jsonable(item) for item in history])
        return 0
    for item in history:
        when = item.published_at.strftime("%Y-%m-%d %H:%M:%S")
        pinned = "  pinned" if item.pinned else ""
        number = f"{item.generation}.{item.revision}"
        print(f"{number:<8} {item.state:<8} {_chunks(item.chunk_count)}  {when}{pinned}")
    return 0


def _diff(corpus: Corpus, args: argparse.Namespace) -> int:
    from florilege.apps.cli.view import GREEN, RED, coloured, jsonable, paint, print_json

    found = corpus.diff(args.source_id, args.old, args.new)
    if args.json:
        print_json(jsonable(found))
        return 0
    on = coloured()
    for sign, style, chunks in (("-", RED, found.removed), ("+", GREEN, found.added)):
        for chunk in chunks:
            text = " ".join(chunk.content.split())
            print(paint(f"{sign} {text[:160]}{'…' if len(text) > 160 else ''}", style, on))
    print(
        f"generation {found.old} to {found.new}: {len(found.added)} added, {len(found.removed)} removed, "
        f"{len(found.revised)} with other metadata, {found.kept} kept"
    )
    return 0


def _rollback(corpus: Corpus, args: argparse.Namespace) -> int:
    number = corpus.rollback(args.source_id, args.generation)
    said = f"{args.source_id} is at generation {number}, equal to {args.generation}; the content it replaces is held"
    return _done(args, said, generation=number, equal_to=args.generation)


def _pin(corpus: Corpus, args: argparse.Namespace) -> int:
    corpus.pin(args.source_id, args.generation, pinned=not args.release)
    said = f"generation {args.generation} of {args.source_id} is {'released' if args.release else 'pinned'}"
    return _done(args, said, generation=args.generation, pinned=not args.release)


def _hold(corpus: Corpus, args: argparse.Namespace) -> int:
    corpus.hold(args.source_id, held=not args.release)
    said = f"{args.source_id} is {'released' if args.release else 'held'}"
    return _done(args, said, held=not args.release)


def _delete(corpus: Corpus, args: argparse.Namespace) -> int:
    from florilege.apps.cli.view import counted

    corpus.get_source(args.source_id)
    chunks = corpus.delete_source(args.source_id)
    return _done(args, f"{counted(chunks, 'chunk')} deleted", chunks=chunks)


def _done(args: argparse.Namespace, said: str, **facts: Any) -> int:
    from florilege.apps.cli.view import print_json

    if args.json:
        print_json({"source_id": args.source_id, **facts})
    else:
        print(said)
    return 0
