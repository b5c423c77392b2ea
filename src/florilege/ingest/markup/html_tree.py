"""Walking an HTML tree: enter and leave events, what is hidden, which blocks are nearly all links, how deep it goes."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

_BLOCK_NAMES = """
    address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol p section summary table tbody td tfoot
    th thead tr ul"""
BLOCKS = frozenset(_BLOCK_NAMES.split())
_LINKED = frozenset(["ul", "ol", "dl", "div", "section", "table", "p", "td", "menu", "center"])
_FLAT_NAMES = """
    area base br col embed hr img input link meta param source track wbr p li td th tr dt dd option optgroup thead
    tbody tfoot colgroup rp rt"""
_FLAT = frozenset(_FLAT_NAMES.split())
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_ROLES = frozenset(["navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar", "toolbar"])
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)


def events(root: Any) -> Generator[tuple[bool, Any], bool | None, None]:
    """(True, node) on entering and (False, node) on leaving each element below ``root``, (True, node) for texts.

    Sending True after an entering event skips the element's inside and its leaving event.
    """
    node = root.child
    while node is not None:
        skip = False
        if node.is_text_node:
            yield True, node
        elif node.is_element_node:
            skip = (yield True, node) is True
            if skip:
                yield True, _NOTHING  # the answer to send()
            child = None if skip else node.child
            if child is not None:
                node = child
                continue
            if not skip:
                yield False, node
        while node is not None and node.next is None:
            node = node.parent
            if node is None or node.mem_id == root.mem_id:
                return
            yield False, node
        node = node.next if node is not None else None


class _Nothing:
    tag = "-nothing"


_NOTHING = _Nothing()


def is_hidden(node: Any) -> bool:
    """Whether an element is not shown, or is navigation by its role; a page's header counts unless in an article."""
    attributes = node.attributes
    if attributes:
        if "hidden" in attributes or attributes.get("aria-hidden") == "true":
            return True
        if (attributes.get("role") or "").lower() in _ROLES or _INVISIBLE.search(attributes.get("style") or ""):
            return True
    return node.tag == "header" and not _within_content(node)


def _within_content(node: Any) -> bool:
    if node.css_first("h1") is not None:
        return True
    while (node := node.parent) is not None:
        if node.tag in ("article", "main", "section"):
            return True
    return False


def link_blocks(body: Any) -> set[int]:
    """The ``mem_id`` of each block that is nearly all short links, unless they make up most of the text."""
    blocks: set[int] = set()
    stack: list[list[int]] = [[0, 0, 0]]  # characters, characters in links, links
    dropped = 0
    links = 0
    for entering, node in events(body):
        tag = node.tag
        if tag == "-text":
            length = len((node.text_content or "").strip())
            stack[-1][0] += length
            stack[-1][1] += length if links else 0
        elif entering:
            links += tag == "a"
            stack.append([0, 0, 0])
        else:
            characters, linked, count = stack.pop()
            if tag == "a":
                links -= 1
                count += 1
            if tag in _LINKED and count >= 4 and linked >= 0.8 * characters and characters <= 60 * count:
                blocks.add(node.mem_id)
                dropped += characters
                characters = linked = count = 0
            for index, value in enumerate((characters, linked, count)):
                stack[-1][index] += value
    return blocks if dropped < 0.6 * (dropped + stack[0][0]) else set()


def nesting(text: str) -> int:
    """How deep elements are nested at most, counted over the tags without building a tree.

    Elements whose end tag may be left out are not counted; the inside of scripts is not looked at.
    """
    depth = deepest = position = 0
    script_end = re.compile(r"</script", re.I)
    while (match := _TAG.search(text, position)) is not None:
        position = match.end()
        tag = match[2].lower()
        if tag in _FLAT:
            continue
        if tag == "script" and not match[1]:
            end = script_end.search(text, position)
            if end is None:
                break
            position = end.end()
        elif match[1]:
            depth = max(0, depth - 1)
        else:
            depth += 1
            deepest = max(deepest, depth)
    return deepest
