"""Tokenizers with a vocabulary: byte-pair encodings with installed ranks, and Hugging Face files.

A byte-pair text is encoded once and then only integers are compared. Two facts make that exact for the encodings here.
Any run of a valid encoding's tokens is the valid encoding of the bytes they spell (a sequence of byte pairs is valid
when each two neighbours are), so inside one pre-token a cut between tokens changes no count. And the pre-tokenizer's
pattern never looks back, so it is enough to know, from the two characters beside a cut, that it finds a border there
whatever stands on the other side (:meth:`BytePairs.joins`). Where that is not known, a piece is counted for itself.
"""

from __future__ import annotations

import os
import re
import tempfile
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from florilege.model.errors import ConfigError
from florilege.model.hashing import hexdigest

# Punctuation that starts a new pre-token after a letter or a digit in every encoding here (an apostrophe may not).
_PUNCTUATION = frozenset('!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~、。，．・：；？！（）「」『』【】《》…—')
_PROBE = "A <|endoftext|> probe:\n\n  naïve café 12345, don't — 日本語のテスト。 👩‍👩‍👧 ...\r\n\tend"
_LATIN = "\u024f"
_SURROGATE = re.compile("[\ud800-\udfff]")
_PATTERNS = {"cl100k_base": "gpt4", "o200k_base": "o200k"}


class BytePairs:
    """A byte-pair encoding, from an object with tiktoken's methods.

    ``additive`` promises that the encoding's pattern is one of those :meth:`joins` was written for. ``bulk`` may be a
    faster function from a text to the same ids.
    """

    def __init__(
        self,
        encoding: Any,
        name: str,
        *,
        additive: bool,
        normalizes: bool = False,
        bulk: Callable[[str], Any] | None = None,
    ) -> None:
        self.name: str | None = name
        self.concurrent = bulk is None
        self._encoding = encoding
        self._additive = additive
        self._normalizes = normalizes
        self._ids = bulk or _encoder(encoding)
        self._counts: Callable[[str], int] = getattr(encoding, "count", None) or (
            lambda text: len(encoding.encode_ordinary(text))
        )
        self._short = bulk is not None
        self._begun, self._inside = _tables(encoding)

    def __reduce__(self) -> tuple[Any, ...]:
        from florilege.text.tokens import ENCODINGS, tokenizer

        return tokenizer, (self.name if self.name in ENCODINGS else self._encoding,)

    def count(self, text: str) -> int:
        """See :class:`florilege.text.tokens.Tokenizer`."""
        try:
            return len(self._ids(text)) if self._short else self._counts(text)
        except (TypeError, UnicodeEncodeError):
            return self.count(_encodable(text))

    def ends(self, text: str) -> Sequence[int] | None:
        """See :class:`florilege.text.tokens.Tokenizer`."""
        import numpy as np

        try:
            ids = self._ids(text)
        except (TypeError, UnicodeEncodeError):
            ids = self._ids(_encodable(text))
        ends: Any = np.cumsum(self._begun.take(ids), dtype=np.int32 if len(text) < 2**30 else np.int64)
        if not text.isascii():
            ends[:-1] -= self._inside.take(ids[1:])
        whole = not len(ends) or ends[-1] == 2 * len(text)
        return memoryview(ends) if whole and (not self._normalizes or _is_normal(text)) else None

    def joins(self, text: str, at: int) -> bool:
        """See :class:`florilege.text.tokens.Tokenizer`."""
        if not self._additive:
            return False
        left, right = text[at - 1], text[at]
        if right in "\r\n":
            return left.isalnum()
        if left in "\r\n":
            return right != "/"
        if _is_space(left):
            return right.isalnum() and at > 1 and not _is_space(text[at - 2])
        if _is_space(right):
            return True
        if left.isalpha() and right.isalpha():  # inside a word: not where case or an apostrophe may cut it elsewhere
            return left > _LATIN and right > _LATIN and not left.isupper()
        return left.isalnum() != right.isalnum() and left != "'" != right

    def parts(self, text: str, at: int) -> bool:
        """See :class:`florilege.text.tokens.Tokenizer`."""
        if not self._additive:
            return False
        left, right = text[at - 1], text[at]
        if right in "\r\n":
            return left.isalnum()
        if left in "\r\n":
            return not _is_space(right) and right != "/"
        if _is_space(right):
            return not _is_space(left)
        return left.isalnum() and right in _PUNCTUATION


class HuggingFace:
    """A ``tokenizer.json``, without its padding, truncation and special tokens."""

    concurrent = True

    def __init__(self, inner: Any, name: str) -> None:
        self.name: str | None = name
        self._inner = inner

    @classmethod
    def from_bytes(cls, data: bytes) -> HuggingFace:
        """From the bytes of the file. ConfigError when they are none."""
        from tokenizers import Tokenizer

        try:
            inner = Tokenizer.from_buffer(data)
        except Exception as error:
            raise ConfigError(
                "tokenizer: these bytes are no Hugging Face tokenizer.json", code="bad_tokenizer"
            ) from error
        inner.no_truncation()
        inner.no_padding()
        inner.encode_special_tokens = True
        return cls(inner, "tokenizer.json:" + hexdigest(inner.to_str()))

    def __reduce__(self) -> tuple[Any, ...]:
        return HuggingFace.from_bytes, (self._inner.to_str().encode("utf-8"),)

    def _encode(self, text: str) -> Any:
        return self._inner.encode(_encodable(text), add_special_tokens=False)

    def count(self, text: str) -> int:
        """See :class:`florilege.text.tokens.Tokenizer`."""
        return len(self._encode(text))

    def ends(self, text: str) -> Sequence[int]:
        """See :class:`florilege.text.tokens.Tokenizer`: here a token ends where the next one starts."""
        starts = [start for start, _ in self._encode(text).offsets]
        return list(accumulate((2 * start for start in (*starts[1:], len(text))), max)) if starts else []

    def joins(self, text: str, at: int) -> bool:
        """See :class:`florilege.text.tokens.Tokenizer`: pre-tokenizers differ, so nothing is promised."""
        return False

    parts = joins


@cache
def byte_pairs(name: str) -> BytePairs:
    """The installed encoding ``name``, loaded once a process."""
    import quicktok

    encoding = quicktok.get_encoding(name)
    return BytePairs(
        encoding, name, additive=name != "llama3", normalizes=name == "qwen3", bulk=_fast_encoder(encoding, name)
    )


def _fast_encoder(encoding: Any, name: str) -> Callable[[str], Any] | None:
    """gigatoken's encoder over the same ranks, where that package is installed and agrees."""
    pattern = _PATTERNS.get(name)
    try:
        from gigatoken.gigatoken_rs import BPETokenizer
    except ImportError:
        return None
    if pattern is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ranks.tiktoken")
        with open(path, "wb") as file:
            file.writelines(b64encode(token) + b" %d\n" % rank for rank, token in enumerate(_vocabulary(encoding)))
        encode: Callable[[str], Any] = BPETokenizer.from_tiktoken(path, pattern, {}).encode
    return encode if list(encode(_PROBE)) == encoding.encode_ordinary(_PROBE) else None


def _encoder(encoding: Any) -> Callable[[str], Any]:
    if hasattr(encoding, "encode_batch") and type(encoding).__module__.startswith("quicktok"):
        return lambda text: encoding.encode_batch([text], 1)[0]
    import numpy as np

    return lambda text: np.asarray(encoding.encode_ordinary(text), dtype=np.uint32)


def _vocabulary(encoding: Any) -> list[bytes]:
    """The bytes of each token by id, special tokens left out; an id without a token is empty."""
    special = set(getattr(encoding, "special_tokens_set", ()))
    tokens = []
    for number in range(encoding.max_token_value + 1):
        try:
            token = bytes(encoding.decode_single_token_bytes(number))
        except (KeyError, ValueError, IndexError):
            token = b""
        tokens.append(b"" if token.decode("utf-8", "replace") in special else token)
    while tokens and not tokens[-1]:
        tokens.pop()
    return tokens


def _tables(encoding: Any) -> tuple[Any, Any]:
    """By token id: twice the number of characters that begin in it, and whether it begins inside one."""
    import numpy as np

    tokens = _vocabulary(encoding)
    data = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    inside = (data & 0xC0) == 0x80
    stops = np.cumsum([len(token) for token in tokens])
    begun = np.concatenate(([0], np.cumsum(~inside)))
    starts = np.concatenate(([0], stops[:-1]))
    begins = np.array([bool(token) and 0x80 <= token[0] < 0xC0 for token in tokens])
    return (2 * (begun[stops] - begun[starts])).astype(np.int32), begins.astype(np.int32)


def _encodable(text: str) -> str:
    """``text`` with lone surrogates replaced, one character for one."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _is_space(character: str) -> bool:
    return character.isspace() and not "\x1c" <= character <= "\x1f"


def _is_normal(text: str) -> bool:
    return unicodedata.is_normalized("NFC", text)
