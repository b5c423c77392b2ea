"""The laws of splitters as a test class: derive from it, and say how to make the splitter.

::

    class TestMine(SplitterTests):
        def make_splitter(self, size: int, overlap: int) -> Any:
            return MySplitter(chunk_size=size, chunk_overlap=overlap)

Needs pytest and hypothesis. How many examples are tried is hypothesis' profile's to say.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from florilege.model.errors import ConfigError
from florilege.testing.strategies import nasty_texts, prose
from florilege.testing.timing import assert_linear
from florilege.text.graphemes import clusters

_INHERITED = settings(suppress_health_check=list(HealthCheck))
_SIZES = st.one_of(st.integers(1, 12), st.integers(13, 90))
_HOSTILE = {
    "one line": "lorem ipsum dolor ",
    "letters": "a",
    "newlines": "\n",
    "spaces": " ",
    "stops": ". ",
    "pipes": "|",
    "headings": "# h\n",
    "fences": "```\nx\n```\n",
    "abbreviations": "e.g. ",
    "family": "👩\u200d",
    "marks": "e" + "\u0301" * 50,
    "flags": "🇯",
    "ideographs": "日本語",
    "special": "<|endoftext|>",
}


class SplitterTests:
    """Span identity, coverage, hard cap, progress, overlap, determinism and linear time over nasty text.

    ``measure(text)`` is the size of a piece's text on the splitter's scale; by default the piece's own tokenizer is
    asked. ``covers_everything`` False: delimiters may be in no piece. ``supports_overlap`` False: overlap is never
    asked for. ``size_options`` and ``overlap_option`` name the constructor's options that must refuse bad values.
    """

    supports_overlap: ClassVar[bool] = True
    covers_everything: ClassVar[bool] = True
    size_options: ClassVar[tuple[str, ...]] = ("chunk_size",)
    overlap_option: ClassVar[str | None] = "chunk_overlap"

    def make_splitter(self, size: int, overlap: int) -> Any:
        """A splitter for pieces of at most ``size`` that overlap by at most ``overlap``."""
        raise TypeError(f"{type(self).__name__} must define make_splitter(size, overlap)")

    def make_with(self, **options: Any) -> Any:
        """A splitter with these options of its constructor, the others by default."""
        return type(self.make_splitter(64, 0))(**options)

    def measure(self, splitter: Any, text: str) -> int:
        """The size of ``text`` on the splitter's scale."""
        count: int = splitter.tokenizer.count(text)
        return count

    @_INHERITED
    @given(text=nasty_texts(), size=_SIZES, share=st.floats(0, 0.95))
    def test_laws_hold_for_nasty_text(self, text: str, size: int, share: float) -> None:
        overlap = int(size * share) if self.supports_overlap else 0
        self.check(self.make_splitter(size, min(overlap, size - 1)), text, size, overlap)

    @_INHERITED
    @given(text=prose(), size=st.integers(8, 120), share=st.floats(0, 0.6))
    def test_laws_hold_for_prose(self, text: str, size: int, share: float) -> None:
        overlap = int(size * share) if self.supports_overlap else 0
        self.check(self.make_splitter(size, overlap), text, size, overlap)

    def check(self, splitter: Any, text: str, size: int, overlap: int) -> None:
        """Assert every law for one text."""
        pieces = splitter.split(text)
        assert pieces == splitter.split(text)
        if not text.strip():
            assert pieces == []
        borders = list(accumulate(map(len, clusters(text)), initial=0))
        covered = 0
        for number, piece in enumerate(pieces):
            start, end = piece.start_index, piece.end_index
            assert text[start:end] == piece.text, "a piece is the slice its offsets name"
            assert piece.text.strip(), "no piece is blank"
            self.check_size(splitter, piece, size)
            if number:
                before = pieces[number - 1]
                assert before.start_index < start, "starts rise"
                assert before.end_index < end, "ends rise"
                if start < before.end_index:
                    shared = self.measure(splitter, text[start : before.end_index])
                    assert shared <= overlap, "pieces share at most the overlap"
            if self.covers_everything:
                assert not text[covered:start].strip(), "every character that is not blank is in a piece"
            for index in (start, end):
                self._check_border(splitter, text, borders, index, size)
            covered = max(covered, end)
        if self.covers_everything:
            assert not text[covered:].strip(), "nothing is lost at the end"

    def check_size(self, splitter: Any, piece: Any, size: int) -> None:
        """Assert that the piece, with what stands before it, fits, and that it knows its size."""
        whole = getattr(piece, "full_text", piece.text)
        measured = self.measure(splitter, whole)
        if hasattr(piece, "token_count"):
            assert piece.token_count == measured, "the count is the tokenizer's own"
        assert measured <= size or len(piece.text) == 1, "the size is hard"

    def _check_border(self, splitter: Any, text: str, borders: list[int], index: int, size: int) -> None:
        at = bisect_right(borders, index)
        if borders[at - 1] != index:
            cluster = text[borders[at - 1] : borders[at]]
            assert self.measure(splitter, cluster) > size // 2 or len(cluster) > size // 2, (
                "no cut inside a grapheme cluster that fits"
            )

    @pytest.mark.parametrize("unit", _HOSTILE.values(), ids=_HOSTILE.keys())
    def test_time_is_linear(self, unit: str) -> None:
        splitter = self.make_splitter(128, 16 if self.supports_overlap else 0)
        splitter.split(unit * 64)
        assert_linear(lambda size: splitter.split(unit * (size // len(unit))), 8_000, 128_000, slack=6, floor=0.002)

    @pytest.mark.parametrize("value", [0, -1, 2.5, float("nan"), "3", True, None])
    def test_sizes_are_checked(self, value: Any) -> None:
        for option in self.size_options:
            with pytest.raises(ConfigError, match=option):
                self.make_with(**{option: value})

    @pytest.mark.parametrize("value", [-1, 2.5, float("nan"), "3", True, None, 10**9])
    def test_overlap_is_checked(self, value: Any) -> None:
        if not self.supports_overlap or not self.overlap_option:
            pytest.skip("this splitter has no overlap")
        with pytest.raises(ConfigError, match=self.overlap_option):
            self.make_with(**{self.overlap_option: value})
