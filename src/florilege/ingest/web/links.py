"""The links of a page, found in one linear pass: pages are hostile, and this runs in the process itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urljoin

_TAG = re.compile(r"<(?:(!--)|(script|style)\b|(a|area|base|meta)\s([^<>]*)>)", re.I)
_ENDS = {"!--": re.compile("-->"), "script": re.compile("</script", re.I), "style": re.compile("</style", re.I)}
_ATTRIBUTE = re.compile(r"""([a-z-]{1,20})\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.I)


def page_links(text: str, address: str) -> Iterator[str]:
    """The absolute addresses that the page at ``address`` links to, in its order, without fragments.

    None when the page asks not to be followed, nor those links that ask so themselves.
    """
    base = address
    found: list[str] = []
    for tag, attributes in _tags(text):
        target = attributes.get("href")
        if tag == "meta":
            if attributes.get("name", "").lower() == "robots" and _refuses(attributes.get("content", "")):
                return
        elif target is None or len(target) > 2000:
            continue
        elif tag == "base":
            base = _joined(address, target) or address
        elif not _refuses(attributes.get("rel", "")):
            found.append(target)
    for target in found:
        if joined := _joined(base, target):
            yield joined


def _tags(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    position = 0
    while (match := _TAG.search(text, position)) is not None:
        position = match.end()
        if skipped := match[1] or match[2]:
            end = _ENDS[skipped.lower()].search(text, position)
            if end is None:
                return
            position = end.end()
            continue
        attributes: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(match[4]):
            attributes.setdefault(name.lower(), unescape(double or single or bare).strip())
        yield match[3].lower(), attributes


def _refuses(words: str) -> bool:
    return not {"nofollow", "none"}.isdisjoint(re.split(r"[\s,]+", words.lower()))


def _joined(base: str, target: str) -> str | None:
    try:
        return urljoin(base, target).split("#", 1)[0]
    except ValueError:
        return None
