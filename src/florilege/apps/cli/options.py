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
    return _whole(text, 0)


def positive(text: str) -> int:
    """A whole number of at least 1."""
    return _whole(text, 1)


def seconds(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return value


def _whole(text: str, least: int) -> int:
    value = int(text) if text.removeprefix("-").isdecimal() else least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
    return value
