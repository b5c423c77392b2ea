"""``florilege read``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from florilege.model.document import Document, Part

_COLOURS = {"line": (31, 119, 180), "row": (214, 39, 40)}
_OTHER = (44, 160, 44)
_SHOWN = 90


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "read",
        help="show what a reader sees in a file",
        description="Read a file (and what lies in it) and print its parts, their places and the warnings. No store is "
        "needed or touched.",
    )
    parser.add_argument("path", metavar="FILE", help="a file or an address")
    parser.add_argument("--reader", action="append", default=[], metavar="NAME", help="ask this optional reader first")
    parser.add_argument(
        "--render", metavar="DIR", help="draw the pages of a PDF with the boxes of their blocks into DIR"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read and print."""
    from florilege.apps.cli.view import print_json
    from florilege.ingest import load
    from florilege.model.document import Failed

    told: list[dict[str, Any]] = []
    failed = 0
    for outcome in load(args.path, readers=args.reader):
        if isinstance(outcome, Failed):
            failed += 1
            told.append({"source_id": outcome.source_id, "error": {"code": outcome.code, "message": outcome.message}})
            print(f"failed    {outcome.source_id}  {outcome.code}: {outcome.message}", file=sys.stderr)
            continue
        document = outcome.document
        images = _rendered(document, Path(args.render)) if args.render else []
        if args.json:
            told.append({**_record(document), **({"images": images} if args.render else {})})
        else:
            _print(document, images)
    if args.json:
        print_json(told)
    return 1 if failed else 0


def _record(document: Document) -> dict[str, Any]:
    from dataclasses import replace

    from florilege.apps.cli.view import jsonable

    record: dict[str, Any] = jsonable(replace(document, opener=None))
    return {key: value for key, value in record.items() if key not in ("opener", "namespace")}


def _rendered(document: Document, folder: Path) -> list[str]:
    """Draw every page that has boxes; the names of the files. ConfigError for what is no PDF."""
    from florilege.ingest.pdf.drawing import Box, drawn_pages
    from florilege.model.errors import ConfigError

    if document.media_type != "application/pdf":
        raise ConfigError(f"--render draws PDF pages; {document.source_id} is {document.media_type}")
    boxes: dict[int, list[Box]] = {part.page: [] for part in document.parts if part.page is not None}
    for part in document.parts:
        for block in part.blocks:
            if part.page is not None and block.bbox is not None:
                boxes[part.page].append(Box(block.bbox, _COLOURS.get(block.kind, _OTHER)))
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for number, image in drawn_pages(document.read_bytes(), boxes):
        path = folder / f"page-{number:04}.png"
        path.write_bytes(image)
        names.append(str(path))
    return names


def _print(document: Document, images: list[str]) -> None:
    from florilege.apps.cli.view import DIM, GREEN, YELLOW, coloured, paint

    on = coloured()
    facts = f"{document.media_type}, read by {document.reader}, {len(document.content)} chars"
    print(f"{paint(document.source_id, GREEN, on)}  {facts}")
    if document.title:
        print(f"    title: {document.title}")
    for key, value in document.metadata.items():
        print(f"    {key}: {value}")
    for warning in document.warnings:
        print(paint(f"    warning {warning.code}: {warning.message}", YELLOW, on))
    for part in document.parts:
        print(f"  {paint(_head(part), DIM, on)}")
        shown = " ".join(part.text[: _SHOWN * 2].split())
        print(f"      {shown[:_SHOWN]}{'…' if len(shown) > _SHOWN or len(part.text) > _SHOWN * 2 else ''}")
    for image in images:
        print(f"    {image}")


def _head(part: Part) -> str:
    """What a part is, and where."""
    places = [
        f"page {part.page}" if part.page is not None else None,
        part.role,
        f"level {part.level}" if part.level is not None else None,
        f"sheet {part.sheet}" if part.sheet else None,
        part.cell_range,
        part.json_path,
        part.language,
        f"{len(part.columns)} columns, {len(part.rows)} rows" if part.kind == "table" else None,
        f"{len(part.blocks)} blocks" if part.blocks else None,
        " > ".join(part.heading_path) or None,
    ]
    return ", ".join([part.part_id, f"{part.span.start}-{part.span.end}", *(place for place in places if place)])
