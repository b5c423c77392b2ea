"""The one policy for characters no store can keep: NUL and lone surrogates become U+FFFD.

Replacing keeps every length, so spans computed before or after cleaning agree. It is applied to content, titles and
metadata (keys and values, at any depth) before anything is hashed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_BAD = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """``text`` with each NUL and lone surrogate replaced by U+FFFD; the same object when there is none."""
    if text.isascii():
        return text.replace("\x00", "\ufffd") if "\x00" in text else text
    return _BAD.sub("\ufffd", text)


def clean_value(value: Any) -> Any:
    """A metadata value with every string in it cleaned, keys included; the same object when nothing changed."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        cleaned = {clean_value(key): clean_value(item) for key, item in value.items()}
        return value if cleaned == value else cleaned
    if isinstance(value, (list, tuple)):
        items = [clean_value(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value
