"""Windows of so many tokens, cut at grapheme boundaries and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from florilege.split.packing import Packer
from florilege.split.splitter import Splitter, TokenChunk, check_sizes, check_text
from florilege.text.ruler import ruler
from florilege.text.tokens import tokenizer


@dataclass(frozen=True, slots=True)
class TokenChunker(Splitter[TokenChunk]):
    """Cuts text every ``chunk_size`` tokens, each piece beginning ``chunk_overlap`` tokens before the last one's end.

    ``tokenizer`` is anything :func:`florilege.text.tokens.tokenizer` takes. A cut falls on the grapheme boundary before
    the token border, so a piece may have a few tokens less. Raises :class:`ConfigError` unless
    ``0 <= chunk_overlap < chunk_size``.
    """

    tokenizer: Any = "gpt-3.5-turbo"
    chunk_size: int = 512
    chunk_overlap: int = 0

    name: ClassVar[str] = "token"

    def __post_init__(self) -> None:
        check_sizes(self.chunk_size, self.chunk_overlap)
        self._set(tokenizer=tokenizer(self.tokenizer))

    def split(self, text: str) -> list[TokenChunk]:
        """The pieces of ``text`` in order; none when it is blank."""
        packer = Packer(check_text(text), ruler(text, self.tokenizer), (), self.chunk_size, overlap=self.chunk_overlap)
        return [TokenChunk(text[start:end], start, end, tokens) for start, end, _, tokens in packer.spans()]
