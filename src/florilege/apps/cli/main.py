"""``florilege``: parse, dispatch, and turn errors into exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from florilege._version import __version__
from florilege.model.errors import ConfigError, Conflict, FlorilegeError, NotFound, RecipeError, StoreError

COMMANDS = (
    "keeping.sync",
    "questions.search",
    "questions.ask",
    "keeping.sources",
    "keeping.stats",
    "looking.chunks",
    "looking.read",
    "looking.plugins",
    "keeping.gc",
    "keeping.verify",
    "keeping.repair",
    "keeping.embed",
    "keeping.migrate_embeddings",
    "keeping.store",
)
EXIT_FAILED, EXIT_USAGE, EXIT_CONFIG, EXIT_STORE, EXIT_CONFLICT, EXIT_INTERRUPTED = 1, 2, 3, 4, 5, 130

_EPILOG = (
    """exit codes: 0 done, 1 some sources failed, 2 usage, 3 configuration, 4 store, 5 conflict, 130 interrupted"""
)


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = argparse.ArgumentParser(
        prog="florilege",
        description="Turn source material into a retrieval corpus, and questions into cited passages.",
        epilog=_EPILOG,
    )
    top.add_argument("--version", action="version", version=f"florilege {__version__}")
    top.add_argument(
        "--store",
        metavar="STORE",
        help="the store: a folder or a postgresql:// URL (default: .florilege in the project)",
    )
    top.add_argument("--namespace", metavar="NAME", help="the namespace (default: the configured one, else default)")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f"florilege.apps.cli.{name}").add_parser(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    args = parser().parse_args(argv)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except FlorilegeError as error:
        print(f"florilege: {error.message}", file=sys.stderr)
        return exit_code(error)
    except KeyboardInterrupt:
        print("florilege: interrupted; what was published stays, run the same command to go on", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away; point stdout elsewhere so that the exit does not fail on it too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def exit_code(error: FlorilegeError) -> int:
    """The exit code an error is told by."""
    if isinstance(error, Conflict):
        return EXIT_CONFLICT
    if isinstance(error, (ConfigError, RecipeError)):
        return EXIT_CONFIG
    if isinstance(error, NotFound):
        return EXIT_STORE if error.code == "no_store" else EXIT_FAILED
    if isinstance(error, StoreError):
        return EXIT_STORE
    return EXIT_FAILED
