"""The reader of pictures and scanned pages: RapidOCR, whose models come in its wheel (extra ``ocr``).

Words are the engine's guess, so parts are ``confidence="derived"``; a line is a block with its box.
"""

from __future__ import annotations

import io
from typing import Any

from florilege.ingest.pdf.glyphs import Glyph, Line, PageText
from florilege.ingest.pdf.layout import compose, reading_order
from florilege.ingest.pdf.reader import PdfReader
from florilege.ingest.readers.assembly import Assembly
from florilege.interfaces.sources import ReadResult
from florilege.model.errors import ReadError

MAX_PAGES = 50
MAX_PIXELS = 40_000_000
_DOTS_PER_INCH = 150
_PAGE_COUNTS_AS = 50
_SETTINGS = {"Global.log_level": "critical", "Det.limit_type": "max", "Det.limit_side_len": 2000}
"""Pictures are looked at in their own size; enlarging them until their short side is 736 takes time and memory."""


class OcrReader:
    """Pictures (a page a frame), and PDFs, in which pages that are an image without text are recognised.

    At most 50 pages are recognised, then ``truncated`` is warned of; a picture beyond 40 million pixels is
    ``too_large``. A page takes seconds.
    """

    id = "ocr"
    version = "1"
    media_types = ("image/png", "image/jpeg", "image/tiff", "image/webp", "image/gif", "image/bmp", "application/pdf")

    def __init__(self) -> None:
        self._engine: Any = None
        self._left = MAX_PAGES
        self._pdf = PdfReader(scan_lines=self._scan)

    def pages(self, content: bytes) -> int:
        """How many pages of usual cost there are: each counts as fifty, for the time it may take."""
        return _PAGE_COUNTS_AS * min(MAX_PAGES, self._pdf.pages(content) if content.startswith(b"%PDF") else 1)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``. Raises :class:`ReadError` ``damaged`` or ``too_large``, and what PDFs raise."""
        self._left = MAX_PAGES
        return self._pdf.read(content, media_type) if media_type == "application/pdf" else self._picture(content)

    def _picture(self, content: bytes) -> ReadResult:
        import numpy as np
        from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

        assembly = Assembly()
        try:
            with Image.open(io.BytesIO(content)) as picture:
                for number, frame in enumerate(ImageSequence.Iterator(picture)):
                    if number == MAX_PAGES:
                        assembly.warn("truncated", f"only the first {MAX_PAGES} pages were read")
                        break
                    if frame.width * frame.height > MAX_PIXELS:
                        raise ReadError(f"the picture has more than {MAX_PIXELS:,} pixels", code="too_large")
                    shown = np.asarray(ImageOps.exif_transpose(frame).convert("RGB"))
                    text = PageText(shown.shape[1], shown.shape[0])
                    text.lines = self._lines(shown[:, :, ::-1], 1.0)
                    body, blocks = compose(reading_order(text), text)
                    assembly.add("page", body, blocks=blocks, page=number + 1, confidence="derived")
        except Image.DecompressionBombError as error:  # before a frame is seen
            raise ReadError(f"the picture has more than {MAX_PIXELS:,} pixels", code="too_large") from error
        except UnidentifiedImageError as error:
            raise ReadError("it cannot be opened as a picture", code="damaged") from error
        if not any(part.text for part in assembly.parts):
            assembly.warn("empty", "no text was recognised")
        return assembly.result()

    def _scan(self, page: Any, text: PageText) -> list[Line] | None:
        """The lines of a scanned page of a PDF; None once enough pages were recognised."""
        if self._left == 0:
            return None
        self._left -= 1
        scale = min(_DOTS_PER_INCH / 72, (MAX_PIXELS / (text.width * text.height)) ** 0.5)
        return self._lines(page.render(scale=scale).to_numpy(), scale)

    def _lines(self, picture: Any, scale: float) -> list[Line]:
        """The lines on a picture (rows, columns, blue-green-red), in coordinates divided by ``scale``."""
        if self._engine is None:
            from rapidocr import RapidOCR

            self._engine = RapidOCR(params=_SETTINGS)
        found = self._engine(picture)
        lines = []
        for corners, words in zip(found.boxes if found.txts else (), found.txts or (), strict=True):
            if words.strip():
                (x0, y0), (x1, y1) = corners.min(0) / scale, corners.max(0) / scale
                lines.append(_line(words, float(x0), float(y0), float(x1), float(y1)))
        return lines


def _line(words: str, x0: float, y0: float, x1: float, y1: float) -> Line:
    """A line whose characters share its box evenly: where each stands is not known."""
    step = (x1 - x0) / len(words)
    return Line([Glyph(text, x0 + n * step, y0, x0 + (n + 1) * step, y1) for n, text in enumerate(words)])
