"""Pages of a PDF as images, with boxes drawn on them: to look at what a reader saw."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from florilege.model.document import BBox
from florilege.model.errors import ReadError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Image = NDArray[np.uint8]

DOTS_PER_INCH = 100
MAX_PIXELS = 40_000_000
_POINTS_PER_INCH = 72
_LINE = 2


class Box(NamedTuple):
    """A rectangle on a page as shown, and the colour it is drawn in (red, green, blue)."""

    bbox: BBox
    colour: tuple[int, int, int]


def drawn_pages(content: bytes, boxes: Mapping[int, Sequence[Box]]) -> Iterator[tuple[int, bytes]]:
    """The pages named in ``boxes`` (1-based) as PNG files, at 100 dots an inch or what fits 40 million pixels.

    Raises :class:`ReadError` (``damaged``) for bytes PDFium cannot open.
    """
    import pypdfium2 as pdfium

    try:
        document = pdfium.PdfDocument(content)
    except pdfium.PdfiumError as error:
        raise ReadError("the PDF cannot be opened", code="damaged") from error
    try:
        for number, found in sorted(boxes.items()):
            page = document[number - 1]
            width, height = page.get_size()
            scale = min(DOTS_PER_INCH / _POINTS_PER_INCH, (MAX_PIXELS / max(1.0, width * height)) ** 0.5)
            image = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False).to_numpy()[:, :, :3].copy()
            for box in found:
                _draw(image, box)
            yield number, png(image)
    finally:
        document.close()


def png(image: Image) -> bytes:
    """An image of shape (height, width, 3) as a PNG file."""
    height, width, _ = image.shape
    rows = b"".join(b"\x00" + image[row].tobytes() for row in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pieces = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_piece(kind, body) for kind, body in pieces)


def _piece(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _draw(image: Image, box: Box) -> None:
    height, width, _ = image.shape
    x0, y0, x1, y1 = box.bbox
    left, right = int(x0 * (width - 1)), int(x1 * (width - 1))
    top, bottom = int(y0 * (height - 1)), int(y1 * (height - 1))
    image[top : top + _LINE, left : right + 1] = box.colour
    image[max(0, bottom + 1 - _LINE) : bottom + 1, left : right + 1] = box.colour
    image[top : bottom + 1, left : left + _LINE] = box.colour
    image[top : bottom + 1, max(0, right + 1 - _LINE) : right + 1] = box.colour
