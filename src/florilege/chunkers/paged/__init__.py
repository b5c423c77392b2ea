"""Who cuts a page? Page chunkers asked in order, the shipped ones among them."""

from florilege.chunkers.paged.executor import Claim, PageCut, PageFloor, PagesChunker, Refused, pages
from florilege.chunkers.paged.lines import PdfLineChunker

__all__ = ["Claim", "PageCut", "PageFloor", "PagesChunker", "PdfLineChunker", "Refused", "pages"]
