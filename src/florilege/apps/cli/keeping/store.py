"""``florilege store check | backup | migrate | copy``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from florilege.interfaces.stores import Findings
    from florilege.stores.copying import Copied


def add_parser(commands: Any) -> None:
    """Add the commands."""
    parser = commands.add_parser("store", help="check, back up, migrate or copy the store itself")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    check = verbs.add_parser("check", help="say what is missing or damaged (a server: extension, versions, grants)")
    check.set_defaults(run=run_check)
    backup = verbs.add_parser("backup", help="make a consistent copy of a store folder while it is in use")
    backup.add_argument("target", metavar="FOLDER", help="a new folder")
    backup.set_defaults(run=run_backup)
    migrate = verbs.add_parser("migrate", help="bring the store to this version's schema")
    migrate.add_argument("--ann", action="store_true", help="also build approximate vector indexes (servers only)")
    migrate.set_defaults(run=run_migrate)
    copy = verbs.add_parser("copy", help="copy everything into another store, of any kind, embedding nothing again")
    copy.add_argument("target", metavar="STORE", help="a folder or postgresql:// URL; made when it is not there")
    copy.add_argument("--only", metavar="NAME", action="append", help="this namespace alone (may be given again)")
    copy.set_defaults(run=run_copy)
    for verb in (check, backup, migrate, copy):
        verb.add_argument("--json", action="store_true", help="print JSON")


def run_check(args: argparse.Namespace) -> int:
    """Check; 4 when something is wrong."""
    from florilege.apps.cli.view import print_json

    findings = _findings(args)
    if args.json:
        print_json({"ok": not findings.problems, "problems": findings.problems, "notes": findings.notes})
    else:
        for problem in findings.problems:
            print(f"wrong: {problem}")
        for note in findings.notes:
            print(f"note: {note}")
        if not findings.problems:
            print("sound")
    return 4 if findings.problems else 0


def run_backup(args: argparse.Namespace) -> int:
    """Back up."""
    with _opened(args) as store:
        store.backup(args.target)
    _tell(args, {"target": args.target}, f"backed up to {args.target}")
    return 0


def run_migrate(args: argparse.Namespace) -> int:
    """Migrate; opening the store for writing brings its schema up to date."""
    from florilege.model.errors import ConfigError

    with _opened(args) as store:
        if hasattr(store, "apply"):
            store.apply(ann=args.ann)
        elif args.ann:
            raise ConfigError("a store folder has no approximate index to build; --ann is for servers")
    _tell(args, {"ok": True}, "up to date")
    return 0


def run_copy(args: argparse.Namespace) -> int:
    """Copy."""
    from florilege.stores import open_store
    from florilege.stores.copying import copy_store

    with _opened(args, read_only=True) as source, open_store(args.target) as target:
        copied = copy_store(source, target, args.only)
    told = "\n".join(map(_told, copied)) or "nothing to copy"
    _tell(args, {"namespaces": [each._asdict() for each in copied]}, told)
    return 0


def _tell(args: argparse.Namespace, facts: dict[str, Any], text: str) -> None:
    """Print ``facts`` as JSON where that is asked for, else ``text``."""
    from florilege.apps.cli.view import print_json

    if args.json:
        print_json(facts)
    else:
        print(text)


def _told(copied: Copied) -> str:
    from florilege.apps.cli.view import counted

    facts = [counted(copied.sources, "source"), counted(copied.chunks, "chunk"), counted(copied.vectors, "vector")]
    if copied.kept:
        facts.append(f"{copied.kept} there already")
    return f"{copied.namespace}: {', '.join(facts)}"


def _opened(args: argparse.Namespace, *, read_only: bool = False) -> Any:
    from florilege.apps.cli.project import store_path
    from florilege.stores import open_store

    return open_store(store_path(args), create=False, read_only=read_only)


def _findings(args: argparse.Namespace) -> Findings:
    from florilege.apps.cli.project import store_path
    from florilege.model.errors import NotFound
    from florilege.stores.opening import is_server, postgres_store

    try:
        with _opened(args, read_only=True) as store:
            findings: Findings = store.check()
            return findings
    except NotFound:
        path = store_path(args)
        if not is_server(path):
            raise
        postgres_store()
        from florilege.stores.postgres import check_server

        return check_server(path)
