"""Bytes to text: byte order mark, NUL test, declared name, strict UTF-8, then a guess.

Characters no store can keep (NUL, lone surrogates) become U+FFFD here, before any offset or hash is taken, with a
warning that counts them.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from florilege.model.document import IngestWarning
from florilege.model.errors import ReadError
from florilege.text.clean import clean_text

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE = 65_536


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text, the encoding it was read with, and what had to be said about it."""

    text: str
    encoding: str
    warnings: tuple[IngestWarning, ...] = ()


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """The text of ``data``, without byte order mark, line ends kept.

    ``declared`` is an encoding the format or its carrier names; it is believed when it decodes without error.
    Raises :class:`ReadError` (``unsupported_format``) when this is not text.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding, errors="replace")
    if b"\x00" in data[:_SAMPLE]:
        wide = _wide(data)
        if wide is None:
            raise ReadError("the bytes are not text: NUL bytes in no known pattern", code="unsupported_format")
        return _decoded(data, wide, errors="replace")
    for name in ("utf-8", _known(declared)):
        if name:
            try:
                return _decoded(data, name, errors="strict")
            except UnicodeDecodeError:
                continue
    return _decoded(data, "utf-8", errors="replace") if _is_mostly_utf8(data) else _guessed(data)


def _known(declared: str | None) -> str | None:
    try:
        return codecs.lookup(declared.strip()).name if declared else None
    except (LookupError, ValueError):
        return None


def _decoded(data: bytes, encoding: str, *, errors: str) -> Decoded:
    text = data.decode(encoding, errors)
    if text.startswith("\ufeff"):
        text = text[1:]
    broken = text.count("\ufffd") if errors == "replace" else 0
    cleaned = clean_text(text)
    warnings = []
    if broken:
        warnings.append(IngestWarning(code="undecodable", message=f"{broken} undecodable sequences replaced"))
    if cleaned is not text and cleaned != text:
        count = sum(1 for old, new in zip(text, cleaned, strict=True) if old != new)
        warnings.append(
            IngestWarning(code="replaced_characters", message=f"{count} NUL or surrogate characters replaced")
        )
    return Decoded(cleaned, encoding, tuple(warnings))


def _wide(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark, told by where the NULs of common characters fall, or UTF-8 with a few strays."""
    sample = data[: _SAMPLE - _SAMPLE % 4]
    sample = sample[: len(sample) - len(sample) % 4] or data
    zeros = [sample[offset::4].count(0) for offset in range(4)]
    quarter = max(1, len(sample) // 4)
    if zeros[2] > 0.9 * quarter and zeros[3] > 0.9 * quarter and zeros[0] < 0.5 * quarter:
        return "utf-32-le"
    if zeros[0] > 0.9 * quarter and zeros[1] > 0.9 * quarter and zeros[3] < 0.5 * quarter:
        return "utf-32-be"
    even, odd = zeros[0] + zeros[2], zeros[1] + zeros[3]
    for many, few, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if many > 4 * few + 1 and _plausible(sample, encoding):
            return encoding
    strays = sample.count(0) + len(_CONTROLS.findall(sample.decode("latin-1")))
    return "utf-8" if strays <= max(1, 0.02 * len(sample)) and is_utf8(data) else None


def _plausible(sample: bytes, encoding: str) -> bool:
    text = sample.decode(encoding, "replace")
    return len(_CONTROLS.findall(text)) + text.count("\ufffd") <= 0.02 * len(text)


def is_utf8(data: bytes) -> bool:
    """Whether ``data`` is UTF-8 throughout."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_mostly_utf8(data: bytes) -> bool:
    """Whether ten times as many characters beyond ASCII are right in UTF-8 as are broken."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    wide = len(text) - len(text.encode("ascii", "ignore"))
    return wide - broken > 10 * broken


def _guessed(data: bytes) -> Decoded:
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    if best is None or len(_CONTROLS.findall(str(best)[:_SAMPLE])) > 0.02 * len(str(best)[:_SAMPLE]):
        raise ReadError("the bytes are not text in any known encoding", code="unsupported_format")
    found = _decoded(data, best.encoding, errors="replace")
    message = f"no encoding declared; read as {best.encoding}"
    return Decoded(
        found.text, found.encoding, (*found.warnings, IngestWarning(code="guessed_encoding", message=message))
    )
