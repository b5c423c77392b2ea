"""``florilege plugins``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from florilege.discovery import Offer


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "plugins",
        help="show what installed distributions add",
        description="List the providers that are installed, what each can read, its page chunkers and observers, and "
        "why one cannot be used. Exit status 1 when one cannot, 3 when two offer one capability.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print them."""
    from florilege.apps.cli.view import DIM, GREEN, RED, coloured, paint, print_json
    from florilege.plugins import offers, snapshot

    told = [_told(offer) for offer in offers()]
    digest = snapshot().digest
    if args.json:
        print_json({"digest": digest, "providers": told})
        return 1 if any(provider["error"] for provider in told) else 0
    on = coloured()
    for provider in told:
        name = paint(provider["distribution"], RED if provider["error"] else GREEN, on)
        print(f"{name} {provider['version']}  {paint(provider['entry_point'] + ' = ' + provider['target'], DIM, on)}")
        for line in _lines(provider):
            print(f"    {line}")
    print(paint(f"capabilities {digest}", DIM, on))
    return 1 if any(provider["error"] for provider in told) else 0


def _lines(provider: dict[str, Any]) -> Iterator[str]:
    if provider["error"]:
        yield f"cannot be used: {provider['error']}"
    for item in provider["capabilities"]:
        about = f"  ({item['note']})" if item["note"] else ""
        yield f"{item['kind']} {item['id']}/{item['version']}  {', '.join(item['media_types'])}{about}"
    for kind in ("page_chunkers", "observers"):
        for name in provider[kind]:
            yield f"{kind.removesuffix('s').replace('_', ' ')} {name}"


def _told(offer: Offer) -> dict[str, Any]:
    return {
        "distribution": offer.distribution,
        "version": offer.version,
        "entry_point": offer.name,
        "target": offer.target,
        "error": offer.error or None,
        "capabilities": [
            {
                "id": item.id,
                "kind": item.kind,
                "version": item.version,
                "media_types": list(item.media_types),
                "note": item.options.get("note"),
            }
            for item in offer.descriptors
        ],
        "page_chunkers": _names(offer, "chunkers"),
        "observers": _names(offer, "observers"),
    }


def _names(offer: Offer, verb: str) -> list[str]:
    """The classes that a provider's ``verb`` gives; one that fails gives what it raised."""
    give = getattr(offer.provider, verb, None)
    if give is None:
        return []
    try:
        return [f"{type(item).__module__}.{type(item).__qualname__}" for item in give()]
    except Exception as error:  # noqa: BLE001 - a third party's failure is what is told here
        return [f"(cannot be given: {type(error).__name__}: {error})"]
