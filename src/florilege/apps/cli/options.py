"""Options that several commands have, and what their values must be."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from florilege.model.filters import Filter


def add_filter(parser: argparse.ArgumentParser) -> None:
    """Add ``--filter``."""
    parser.add_argument(
        "--filter", metavar="EXPR", help="only passages whose metadata match: 'year>=2024 and lang in [en, de]'"
    )


def filter_of(args: argparse.Namespace) -> Filter | None:
    """What ``--filter`` says; raises FilterError when it says nothing that can be understood."""
    from florilege.filters import parse_filter_text

    return parse_filter_text(args.filter) if args.filter else None


def count(text: str) -> int:
    """A whole number of at least 0."""
    return _at_least(int(text), 0)


def positive(text: str) -> int:
    """A whole number of at least 1."""
    return _at_least(int(text), 1)


def seconds(text: str) -> float:
    """A number above 0."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be above 0")
    return value


def _at_least(value: int, least: int) -> int:
    if value < least:
        raise argparse.ArgumentTypeError(f"must be at least {least}")
    return value
