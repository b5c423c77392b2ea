"""From a quotation to its place: in the hit's text, in the chunk, in the source, on the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from florilege.model.chunk import PageBox, Provenance
from florilege.model.document import Document, Span
from florilege.model.hit import Hit
from florilege.retrieval.evidence.records import Location
from florilege.retrieval.passages.placing import Piece, inside, pieces, source_spans
from florilege.text.quotes import Match, Quotable

Basis = Literal["chunk", "parent", "window"]
ReadDocument = Callable[[Hit], Document | None]


class Locator:
    """Looks quotations up in one hit: in its chunk first, then in the text it was expanded to.

    ``read`` gives the stored document, or None; it is asked only where boxes or derived text need it, and believed only
    where it says what the chunk says.
    """

    def __init__(self, hit: Hit, read: ReadDocument) -> None:
        self.hit = hit
        self._read = read
        self._texts: list[tuple[Basis, Quotable, Provenance]] = [
            ("chunk", Quotable(hit.text_for("citation")), hit.provenance)
        ]
        if hit.passage is not None:
            self._texts.append((hit.passage.kind, Quotable(hit.passage.text), hit.passage.provenance))

    def find(self, quote: str) -> tuple[Match, Location | None]:
        """The best match of ``quote``: exact anywhere before normalised anywhere."""
        matches = [(text.find(quote), basis, text.text, provenance) for basis, text, provenance in self._texts]
        for verdict in ("exact", "normalised"):
            for match, basis, text, provenance in matches:
                if match.verdict == verdict:
                    return match, self._located(basis, text, provenance, match.start, match.end)
        return matches[0][0], None

    def at(self, start: int, end: int) -> Location | None:
        """The place of a span of the chunk; None when it is no span of it."""
        basis, text, provenance = self._texts[0]
        if not 0 <= start < end <= len(text.text):
            return None
        return self._located(basis, text.text, provenance, start, end)

    def _located(self, basis: Basis, text: str, provenance: Provenance, start: int, end: int) -> Location:
        needed = provenance.bboxes or provenance.confidence == "derived"
        document = self._read(self.hit) if needed else None
        laid = pieces(text, provenance, None if document is None else document.content)
        if not laid and document is not None:  # the store has moved on: what was retrieved still tells where it stood
            document, laid = None, pieces(text, provenance)
        spans = source_spans(laid, start, end)
        pages, boxes = _on_page(document, spans) if document is not None and spans else ((), ())
        return Location(
            text=text[start:end],
            basis=basis,
            start=start,
            end=end,
            chunk=(start, end) if basis == "chunk" else inside(self._chunk_pieces(), spans),
            source=spans,
            pages=pages or provenance.pages,
            boxes=boxes or provenance.bboxes,
        )

    def _chunk_pieces(self) -> list[Piece]:
        return pieces(self._texts[0][1].text, self.hit.provenance)


def _on_page(document: Document, spans: Sequence[Span]) -> tuple[tuple[int, ...], tuple[PageBox, ...]]:
    """The pages of the parts that ``spans`` touch, and the boxes of the blocks there."""
    pages: dict[int, None] = {}
    boxes: list[PageBox] = []
    for part in document.parts:
        for span in spans:
            if part.page is None or part.span.end <= span.start or part.span.start >= span.end:
                continue
            pages[part.page] = None
            cursor = 0
            for block in part.blocks:
                if block.span is not None:
                    start, end = block.span.start, block.span.end
                else:
                    at = part.text.find(block.text, cursor) if block.text else -1
                    if at < 0:
                        continue
                    cursor = at + len(block.text)
                    start, end = part.span.start + at, part.span.start + cursor
                if block.bbox is not None and start < span.end and span.start < end:
                    boxes.append(PageBox(part.page, block.bbox))
    return tuple(sorted(pages)), tuple(dict.fromkeys(boxes))
