"""Where grapheme clusters begin, asked only near a cut.

Clusters are the extended ones of Unicode Standard Annex 29. Nothing here walks a whole text: a question about one
index looks back to the nearest place that is a boundary whatever came before, never past ``floor``, and forward to the
index. The work is therefore at most the window between the two, even when one emoji sequence fills it.
"""

from __future__ import annotations

import regex

# Below U+0300 nothing joins its neighbour except a carriage return and its line feed.
_FIRST_COMBINING = "\u0300"

# What may follow the core of a cluster. A conjunct linker takes the next consonant with it, whatever it is linked to:
# laxer than the annex in text no language writes, and never the other way.
_TAIL = (
    r"(?:[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}--\p{InCB=Linker}]"
    r"|\p{InCB=Linker}[\p{InCB=Extend}\p{InCB=Linker}]*+\p{InCB=Consonant}?)*+"
)
_HANGUL = r"\p{GCB=L}*(?:\p{GCB=LV}\p{GCB=V}*+|\p{GCB=LVT}|\p{GCB=V}++)\p{GCB=T}*+|\p{GCB=L}++|\p{GCB=T}++"
_PICTURES = r"\p{ExtPict}(?:\p{GCB=Extend}*+\p{GCB=ZWJ}\p{ExtPict})*+"
_CONTROL = r"\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}"
_CLUSTER = regex.compile(
    rf"\r\n|[{_CONTROL}]"
    rf"|(?!\Z)\p{{GCB=Prepend}}*+(?:{_HANGUL}|\p{{GCB=RI}}{{2}}|{_PICTURES}|(?![{_CONTROL}\p{{InCB=Linker}}]).)?+{_TAIL}",
    regex.V1 | regex.DOTALL,
)

# Flags of which another flag's letter follows, so that nothing can be joined to the last one.
_FLAGS = regex.compile(r"(?:\p{GCB=RI}{2}(?=\p{GCB=RI}))*+")

# Pairs between which there is a boundary whatever surrounds them: the left one never reaches forward, the right one
# never reaches back. Searched backwards, so the match found is the last one.
_CERTAIN = regex.compile(
    r"(?r)[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}\p{GCB=Control}\p{GCB=LF}]"
    r"[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}\p{GCB=L}\p{GCB=RI}\p{GCB=Control}\p{GCB=CR}]"
    r"|[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=RI}\p{GCB=V}\p{GCB=T}--\p{InCB=Linker}]"
    r"[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}\p{GCB=L}\p{GCB=Control}\p{GCB=CR}--\p{InCB=Consonant}]",
    regex.V1,
)


def _before(text: str, index: int, floor: int) -> int:
    """The greatest boundary in [floor, index], where ``floor`` counts as one; 0 <= floor <= index < len(text)."""
    if index == floor:
        return index
    left, right = text[index - 1], text[index]
    if left < _FIRST_COMBINING and right < _FIRST_COMBINING:
        return index if left != "\r" or right != "\n" else max(floor, index - 1)
    certain = _CERTAIN.search(text, floor, index + 1)
    position: int = certain.end() - 1 if certain else floor
    flags = _FLAGS.match(text, position, index + 1)
    position = flags.end() if flags else position
    while position < index:
        cluster = _CLUSTER.match(text, position, index + 1)
        after = cluster.end() if cluster else position + 1
        if after > index:
            break
        position = after
    return position


def boundary_before(text: str, index: int, floor: int) -> int:
    """The greatest cluster boundary at most ``index`` and above ``floor``.

    ``floor`` is taken to be a boundary itself (the start of a piece). When the cluster that begins at ``floor``
    reaches beyond ``index``, one cluster alone fills the window and ``index`` is returned: cutting it is the only
    progress there is. Indices are code points; an index at or past the end of the text gives its length.
    """
    if index >= len(text):
        return len(text)
    found = _before(text, index, floor)
    return found if found > floor else index


def boundary_after(text: str, index: int, floor: int, ceiling: int) -> int:
    """The least cluster boundary at least ``index``, or ``ceiling`` when there is none below it.

    ``floor`` is a boundary at or before ``index`` from which clusters are counted; work is at most the window from
    ``floor`` to ``ceiling``.
    """
    ceiling = min(ceiling, len(text))
    if index >= ceiling:
        return ceiling
    position = _before(text, index, floor)
    while position < index:
        cluster = _CLUSTER.match(text, position, ceiling)
        position = cluster.end() if cluster else position + 1
    return position


def is_boundary(text: str, index: int, floor: int = 0) -> bool:
    """Whether a cluster begins (or the text ends) at ``index``, clusters counted from ``floor``."""
    return index >= len(text) or _before(text, index, floor) == index


def clusters(text: str) -> list[str]:
    """The text cut into its grapheme clusters."""
    pieces: list[str] = _CLUSTER.findall(text)
    return pieces
