"""Hits as text for a prompt: one format, so that budgets count what is really sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from florilege.model.hit import Hit

SEPARATOR = "\n\n"
TRUST_KEY = "trust"
UNLABELLED = "untrusted"
_IMAGE = re.compile(r"!\[([^\]\n]*)\](?:\([^)\n]*\)|\[[^\]\n]*\])")
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)")
_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
_ADDRESS = re.compile(r"((?:[a-zA-Z][a-zA-Z0-9+.-]*:(?=//))|(?:(?:javascript|vbscript|data|mailto):)|www(?=\.))")


def header(number: int, hit: Hit) -> str:
    """``[2] Title > Heading (source.pdf, page 3)``: what stands above a hit's text. One line."""
    trail = [entry for entry in (hit.title, *hit.provenance.headings) if entry]
    trail = [entry for place, entry in enumerate(trail) if not place or entry != trail[place - 1]]
    name = " > ".join(trail)
    pages = hit.provenance.pages
    where = hit.source_id + (f", page {pages[0]}" if len(pages) == 1 else "")
    if len(pages) > 1:
        where += f", pages {min(pages)}-{max(pages)}"
    line = f"{name} ({where})" if name else where
    return f"[{number}] " + " ".join(line.split())


def block(number: int, hit: Hit) -> str:
    """A hit with its header, as a prompt shows it."""
    return f"{header(number, hit)}\n{hit.text_for('context')}"


def render(hits: Iterable[Hit]) -> str:
    """Hits as numbered blocks, a blank line between. This is the text a token budget is held to."""
    return SEPARATOR.join([block(number, hit) for number, hit in enumerate(hits, 1)])


def trust_of(hit: Hit) -> str:
    """The trust label its source gave it in metadata, ``"untrusted"`` where it gave none."""
    label = hit.metadata.get(TRUST_KEY)
    return " ".join(label.split())[:40] if isinstance(label, str) and label.strip() else UNLABELLED


def trust_counts(hits: Sequence[Hit]) -> dict[str, int]:
    """How many hits carry each label, by label."""
    labels = sorted(map(trust_of, hits))
    return {label: labels.count(label) for label in dict.fromkeys(labels)}


def inert(text: str) -> str:
    """``text`` with nothing in it that a renderer of Markdown or HTML would fetch, follow or run.

    Images and links keep their words and lose their target, tags and bare addresses are shown and not obeyed. For
    showing an answer; prompts and citations stay verbatim.
    """
    text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    return _ADDRESS.sub("\\1\u200b", _TAG.sub("&lt;", text))
