"""Where sentences end, asked of a window of a text.

A sentence ends after a run of terminators ("?!", "...", the sentence terminals of other scripts) and the quotes,
brackets or emphasis marks that close it, when white space or the end of the text follows; terminators outside ASCII
need nothing after them. A blank line ends a sentence too. A full stop does not when it belongs to a number, a version
or an address (no space follows), to an abbreviation or an initial, or to the number of an item at the start of a line.
The terminals are those of Unicode Standard Annex 29.

An end is the index after the last closing mark, *before* the white space that follows. Whether an index is an end does
not depend on the window asked about, so windows agree with each other; work is at most the window and a few hundred
characters beside it.
"""

from __future__ import annotations

import re

_SPACED = ".!?\u2024\u2026"
_UNSPACED = (
    "\u0589\u061d-\u061f\u06d4\u0700-\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965\u104a\u104b\u1362\u1367\u1368"
    "\u166e\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945\u1aa8-\u1aab\u1b5a\u1b5b\u1b5e\u1b5f\u1c3b\u1c3c\u1c7e"
    "\u1c7f\u203c\u203d\u2047-\u2049\u2cf9-\u2cfb\u2e2e\u2e3c\u2e53\u2e54\u3002\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876"
    "\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d-\uaa5f\uaaf0\uaaf1\uabeb\ufe12\ufe15\ufe16\ufe52\ufe56\ufe57\uff01"
    "\uff0e\uff1f\uff61\U00011047\U00011048\U000110be-\U000110c1\U00011141-\U00011143"
)
_CLOSING = "\"'*_`)\\]}»«›‹”“’‘‛‟〉》」』】〕〗〙〛〞〟﴾﹂﹄﹚﹜﹞）］｝｠｣"
_MARK = re.compile(f"[{_SPACED}{_UNSPACED}{_CLOSING}]")
# Begins with one class of characters, which the regular expression engine skips to by itself.
_END = re.compile(
    f"[{_SPACED}{_UNSPACED}](?:"
    f"(?<=[{_SPACED}])[{_SPACED}]*+"
    f"(?:[{_CLOSING}]*+(?=\\s|\\Z)|[{_UNSPACED}][{_UNSPACED}{_SPACED}]*+[{_CLOSING}]*+)"
    f"|(?<=[{_UNSPACED}])[{_UNSPACED}{_SPACED}]*+(?!\\d)[{_CLOSING}]*+)"
)
_SPACE = re.compile(r"\s*+")
# A line of more than this many spaces is not looked through for the blank line it may be.
_LINE = 99
_BLANK = re.compile(rf"\n[^\S\n]{{0,{_LINE}}}\n\s*+")

# Abbreviations that stand before something, and those that may stand at the end of a sentence: after these it ends when
# the next word is capitalised.
_BEFORE = """
adm approx apr aug ave bd bldg bzw ca capt cf ch cl cmdr col cpl dec dept dr eds eq eqs esp est ex feb fig figs fr gen
gov hr jan jul jun lt maj messrs misc mlle mm mme mon mr mrs ms mt nov num nos oct op p pfc pp pres prof pvt resp rev
sec sep sept sen sgt sra str supt tel univ viz vgl vol vols vs e.g i.e d.h z.b u.a p.ex p.s ph.d b.sc m.sc т.е т.к рис
"""
_EITHER = "al bros co corp ed etc inc jr llc ltd no nr sr st usw т.д т.п стр"
_ABBREVIATIONS = frozenset(_BEFORE.split())
_ENDING_ABBREVIATIONS = frozenset(_EITHER.split())
# How abbreviations of four letters or more end, and what numbers of items are written in. No other word of four letters
# holds a full stop.
_TAIL_LETTERS = 4
_TAILS = frozenset(word[-_TAIL_LETTERS:] for word in _ABBREVIATIONS | _ENDING_ABBREVIATIONS)
_NUMERALS = "ivxlcIVXLC"
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]\Z")
_ITEM_NUMBER = re.compile(r"(?:\d{1,3}|[ivxlcIVXLC]{1,5}|[^\W\d_])\Z")
_OPENING = "([{\"'“‘«‹„¿¡*_`—–-/"
_LOOK = 32
_ITEM = 16
_TAIL = 256


def _holds(text: str, dot: int, after: int) -> bool:
    """Whether the single full stop at ``dot``, with the next word after index ``after``, ends no sentence."""
    if dot == 0 or not text[dot - 1].isalnum():
        return False
    low = dot - _LOOK if dot > _LOOK else 0
    line = text.rfind("\n", low, dot) + 1 or low
    word = text[text.rfind(" ", line, dot) + 1 or line : dot].lstrip(_OPENING)
    if (
        word in _ABBREVIATIONS
        or (folded := word.lower()) in _ABBREVIATIONS
        or (len(word) == 1 and word.isupper() and word != "I")
    ):
        return True
    if dot - line < _ITEM and _ITEM_NUMBER.match(text[line:dot].lstrip(" \t>#*-(")):
        return True
    dotted = _DOTTED.match(word) is not None
    if not dotted and folded not in _ENDING_ABBREVIATIONS:
        return False
    following = text[after : after + _LOOK].lstrip().lstrip(_OPENING)[:1]
    return not following.isupper() or (dotted and word != folded)


def _lone(text: str, at: int) -> bool:
    """Whether a single full stop stands at ``at``, no other terminator of its kind behind it."""
    return text[at] == "." and text[at + 1] not in _SPACED


def full_stop_ends(text: str, dot: int) -> bool:
    """Whether the single full stop at ``dot``, white space behind it, ends a sentence."""
    if dot >= _TAIL_LETTERS:
        tail = text[dot - _TAIL_LETTERS : dot]
        if tail.isalpha() and tail.lower() not in _TAILS and tail.strip(_NUMERALS):
            return True
    return not _holds(text, dot, dot + 1)


def _mark_ends(text: str, start: int, end: int) -> list[int]:
    ends = []
    low = start
    while low > max(0, start - _LOOK) and _MARK.match(text, low - 1):
        low -= 1
    for match in _END.finditer(text, low, min(end + 1, len(text))):
        after = match.end()
        if after > end:
            break
        if after <= start or (after < len(text) and _lone(text, match.start()) and _holds(text, match.start(), after)):
            continue
        ends.append(after)
    return ends


def _blank_line_ends(text: str, start: int, end: int) -> list[int]:
    ends = []
    for match in _BLANK.finditer(text, start, min(end + 2 * _LINE + 2, len(text))):
        after = match.start()
        while after > start and text[after - 1].isspace():
            after -= 1
        if start < after <= end:
            ends.append(after)
    return ends


def sentence_ends(text: str, start: int = 0, end: int | None = None) -> list[int]:
    """The indices in (start, end] at which a sentence ends, rising. ``end`` defaults to the end of the text."""
    end = len(text) if end is None else min(end, len(text))
    ends = _mark_ends(text, start, end)
    blank = _blank_line_ends(text, start, end)
    return sorted({*ends, *blank}) if blank else ends


def last_sentence_end(text: str, start: int, end: int) -> int:
    """The greatest index in (start, end] at which a sentence ends, or ``start`` when there is none.

    Looks at the tail of the window first, so a window whose last sentence is short costs little.
    """
    high = min(end, len(text))
    span = _TAIL
    while high > start:
        low = max(start, high - span)
        ends = sentence_ends(text, low, high)
        if ends:
            return ends[-1]
        high = low
        span *= 2
    return start


def sentence_spans(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """The window [start, end) cut into sentences without a gap: each keeps the white space that follows it."""
    end = len(text) if end is None else min(end, len(text))
    spans = []
    position = start
    for mark in sentence_ends(text, start, end):
        space = _SPACE.match(text, mark, end)
        after = space.end() if space else mark
        spans.append((position, after))
        position = after
    if position < end:
        spans.append((position, end))
    return spans
